//! Calls in random texts of fragments, and in malicious texts, which take linear time.

use serde_json::json;
use tests::clock::Clock;
use tests::long::long;
use tests::random::Random;
use tool_runtime::DeclaredTools;
use tool_runtime::repair::calls::{CallScanner, Formats, recover};

use crate::corpus::text_calls;

/// Parts of calls, and of texts that only look like calls.
const FRAGMENTS: [&str; 56] = [
    "<tool_call>",
    "</tool_call>",
    "<function=f>",
    "</function>",
    "<parameter=city>",
    "</parameter>",
    "<invoke name=\"f\">",
    "<parameter name=\"city\">",
    "</invoke>",
    "<|tool_call|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|python_tag|>",
    "functools[",
    "<｜tool▁sep｜>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "call:f{",
    "<|\"|>",
    "<|im_end|>",
    "<|channel|>commentary to=functions.f",
    "<|message|>",
    "<think>",
    "</think>",
    "```",
    "```json\n",
    "`",
    "~~~\n",
    "\n",
    "\n\n",
    " ",
    "f",
    "f(",
    ")",
    "city='a'",
    ", ",
    "a.b(x=1)",
    "[f()]",
    "{\"name\": \"f\", \"arguments\": {}}",
    "{\"name\": \"f\", ",
    "\"arguments\": {\"city\": \"",
    "\"}}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    ";",
    "the tool",
    "é",
    "<",
    "not",
];

/// Calls at the end of a text.
const ENDS: [&str; 5] = [
    "\n<tool_call>{\"name\": \"f\", \"arguments\": {\"city\": \"a\"}}</tool_call>",
    "\n<function=f><parameter=city>\na\n</parameter></function>",
    "</think>[f(), a.b(x=1)]",
    " <tool_call>f(city='a')",
    "[TOOL_CALLS]f[ARGS]{}",
];

#[test]
fn keeps_its_properties_for_random_texts() {
    let mut random = Random::new(61);
    let count = if long() { 400_000 } else { 12_000 };
    let mut with_calls = 0;
    for _ in 0..count {
        let choice = [0, 0, 0, 1, 6, 8][random.below(6)];
        let mut input = vec![choice, 2, 1 + random.below(9) as u8, random.below(30) as u8];
        for _ in 0..1 + random.below(14) {
            input.extend(random.pick(&FRAGMENTS).as_bytes());
        }
        if random.one_in(2) {
            input.extend(random.pick(&ENDS).as_bytes());
        }
        with_calls += usize::from(text_calls::calls(&input) > 0);
    }
    assert!(
        with_calls > count / 20,
        "only {with_calls} of {count} texts have calls"
    );
}

fn tools() -> DeclaredTools {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    [("f", schema)].into_iter().collect()
}

/// Beginnings and repeated parts of texts that cost most.
const SHAPES: [(&str, &str); 30] = [
    ("", "<tool_call>"),
    ("", "<tool_call> a "),
    ("", "<"),
    ("", "<tool_cal"),
    ("", "<function=f>"),
    ("", "<function=f>\n<parameter=city>"),
    ("<function=f>\n<parameter=city>", "</parameter>"),
    ("<function=f>\n<parameter=city>", "</function>"),
    ("<function=f>", "<parameter=k>\n1\n</parameter>\n"),
    ("<tool_call>f\n<arg_key>", "</tool_call>"),
    ("", "```\n"),
    ("", "`"),
    ("", "` "),
    ("", "~~~\n"),
    ("<tool_call>", "["),
    ("<tool_call>", "{"),
    ("<tool_call>", "{\"a\":"),
    ("", "{\"name\": \"f\", \"arguments\": {"),
    ("", "{\"function\": "),
    ("<tool_call>", "{\"name\": \"f\", \"arguments\": {}}</tool_call>"),
    (
        "<tool_call>",
        "{\"name\": \"f\", \"arguments\": {\"a\": [{\"b\": 1]}}</tool_call>",
    ),
    (
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"city\": \"",
        "'</tool_call>\"",
    ),
    ("", "f(city='a'), "),
    ("f(", "a"),
    ("f(city=", "["),
    ("[", "f(), "),
    ("", "</think>"),
    ("<think>", "</think"),
    ("", "\n \t"),
    ("[TOOL_CALLS]", "f[ARGS]"),
];

/// The text takes no more time per byte than a text of an eighth of its length, also in pieces. The factor of three and the additional
/// 200 nanoseconds tolerate a machine with busy caches; a quadratic scan takes eight times as long per byte.
#[test]
fn scans_every_shape_in_linear_time() {
    for (start, part) in SHAPES {
        for piece in [1 << 20, 16] {
            let text = |bytes: usize| [start, &part.repeat(bytes / part.len())].concat();
            let (small, large) = (text(8 << 10), text(64 << 10));
            let bound = per_byte(&small, piece, 4) * 3.0 + 200.0;
            let best = (0..4)
                .map(|_| per_byte(&large, piece, 1))
                .find(|worked| *worked <= bound);
            assert!(
                best.is_some(),
                "{start:?}, {part:?} in pieces of {piece} bytes: never below {bound:.0} ns a byte"
            );
        }
    }
}

/// Returns the average number of nanoseconds of work per byte.
fn per_byte(text: &str, piece: usize, times: usize) -> f64 {
    let clock = Clock::start();
    for _ in 0..times {
        if piece > text.len() {
            std::hint::black_box(recover(text, tools(), Formats::ALL));
            continue;
        }
        let mut scanner = CallScanner::new(tools(), Formats::ALL);
        let mut rest = text;
        while !rest.is_empty() {
            let (next, after) = rest.split_at_checked(piece).unwrap_or((rest, ""));
            std::hint::black_box(scanner.push(next));
            rest = after;
        }
        std::hint::black_box(scanner.finish());
    }
    clock.worked().as_secs_f64() * 1e9 / (times * text.len()) as f64
}

/// Run with `cargo test --release -p tests --test repair calls_random -- --ignored --nocapture`, which prints the time of each shape.
#[test]
#[ignore = "needs an optimized build"]
fn scans_every_shape_in_60_nanoseconds_a_byte() {
    for (start, part) in SHAPES {
        let text = [start, &part.repeat((64 << 10) / part.len())].concat();
        let best = (0..4)
            .map(|_| per_byte(&text, 1 << 20, 20))
            .fold(f64::INFINITY, f64::min);
        println!("{best:6.1} ns a byte: {start:?}, {part:?}");
        assert!(best <= 60.0, "{best:.1} ns a byte: {start:?}, {part:?}");
    }
}
