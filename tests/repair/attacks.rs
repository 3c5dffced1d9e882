//! Malicious texts take linear time, no stack and no panic, and may be cut into any pieces. `REPAIR_LONG=1` tests texts that are eighty
//! times as long.

use tests::clock::Clock;
use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::{Limits, Status, repair, repair_with};

use crate::exact_json::parse_json;
use crate::pieces::assert_equal_in_pieces;
use crate::shapes::SHAPES;

const SMALL: usize = 10_000;

/// Returns the longer of the two compared lengths.
fn large() -> usize {
    if long() { 10_000_000 } else { 120_000 }
}

#[test]
fn repairs_every_shape_equally_in_pieces_of_any_size() {
    let mut random = Random::new(43);
    for shape in SHAPES {
        for bytes in 0..80 {
            assert_equal_in_pieces(&shape.text(bytes), || 1);
        }
        let text = shape.text(SMALL);
        for most in [1, 7, 4000] {
            let status = assert_equal_in_pieces(&text, || 1 + random.below(most));
            // Every parser accepts valid and repaired texts.
            let json = matches!(status, Status::Valid | Status::Repaired);
            if json && !shape.name.starts_with("arrays") {
                assert!(parse_json(&repair(&text).text).is_some(), "{}", shape.name);
            }
        }
        // Repeated for stable values; one repetition is enough for the clock.
        let text = shape.text(large() / 10);
        assert_equal_in_pieces(&text, || 1 + random.below(1 << 16));
    }
}

/// A quadratic repair takes at least 12 times as long per byte for the longer text. The factor of four and the additional microsecond
/// tolerate a machine with busy caches.
#[test]
fn repairs_every_shape_in_linear_time() {
    for shape in SHAPES {
        // Repeated until the resolution of the clock is negligible.
        let small = per_byte(&shape.text(SMALL), 10);
        let text = shape.text(large());
        let bound = small * 4.0 + 1000.0;
        let best = (0..4).map(|_| per_byte(&text, 1)).find(|large| *large <= bound);
        assert!(
            best.is_some(),
            "{}: {small:.0} ns a byte at {SMALL} bytes, never below {bound:.0} at {}",
            shape.name,
            text.len()
        );
    }
}

/// Returns the average number of nanoseconds of work per byte.
fn per_byte(text: &str, times: usize) -> f64 {
    let clock = Clock::start();
    for _ in 0..times {
        let _ = std::hint::black_box(repair(std::hint::black_box(text)));
    }
    clock.worked().as_secs_f64() * 1e9 / (times * text.len()) as f64
}

#[test]
fn keeps_text_with_a_million_levels_unchanged() {
    let levels = 1_000_000;
    for (open, inside, close) in [
        ("[", "", "]"),
        ("(", "1", ")"),
        ("{'a':", "1", "}"),
        ("{\"a\":", "1", "}"),
    ] {
        let open = open.repeat(levels);
        let closed = [&open, inside, &close.repeat(levels)].concat();
        for text in [&open, &closed] {
            let repaired = repair(text);
            assert_eq!(repaired.status, Status::Refused);
            assert!(repaired.text == **text);
            assert!(repaired.reason.is_some());
        }
    }
}

/// Nesting costs memory at any depth, but no stack.
#[test]
fn repairs_a_million_levels_without_a_depth_limit() {
    let levels = 1_000_000;
    let limits = Limits {
        depth: levels + 1,
        ..Limits::default()
    };
    for (open, close, status) in [("[", "]", Status::Valid), ("{\"a\":", "}", Status::Valid)] {
        let text = [&*open.repeat(levels), "1", &close.repeat(levels)].concat();
        assert_eq!(repair_with(&text, limits).status, status, "{open}");
        let open = open.repeat(levels);
        assert_eq!(repair_with(&open, limits).status, Status::Truncated);
    }
}
