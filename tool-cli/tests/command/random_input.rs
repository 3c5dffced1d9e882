//! Random input: the program never panics, and answers every line that is not blank.

use crate::program::run;

/// Returns random lines of parts of records, equal in every run.
fn lines(count: usize) -> Vec<u8> {
    let parts: [&[u8]; 28] = [
        b"{", b"}", b"[", b"]", b":", b",", b"\"", b"\\", b" ", b"\r", b"\t", b"\xff", b"\0", b"null", b"1e999",
        b"\"id\": 1, ", b"\"text\": ", b"\"raw\": ", b"\"arguments\": ", b"\"schema\": {\"type\": \"object\"}, ",
        b"\"{'a': True}\"", b"\"{\\\"a\\\": \"", b"\"\\ud800\"", b"\"\\u0000\\u202e\"", b"{\"a\": [1, {}]}",
        "写".as_bytes(), b"{\"id\": 1, \"text\": \"{'a': 1}\"}",
        b"{\"id\": 1, \"schema\": {\"type\": \"object\", \"properties\": {\"a\": {}}}, \"raw\": \"{'a': 1}\"}",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut lines = Vec::new();
    for _ in 0..count {
        for _ in 0..next(9) {
            lines.extend_from_slice(parts[next(parts.len())]);
        }
        lines.push(b'\n');
    }
    lines
}

#[test]
fn random_lines_have_one_answer_each() {
    let input = lines(20_000);
    let blank = |line: &&[u8]| line.trim_ascii().is_empty();
    let asked = input
        .split(|byte| *byte == b'\n')
        .filter(|line| !blank(line))
        .count();
    for arguments in [&["repair", "--jsonl"][..], &["check", "--jsonl"]] {
        let ran = run(arguments, &input);
        let answers = ran.records();
        assert_eq!((ran.status, answers.len()), (1, asked), "{arguments:?}");
        let sound = answers
            .iter()
            .filter(|answer| answer.get("error").is_none())
            .count();
        assert!(
            sound > 100 && sound < asked,
            "{arguments:?}: {sound} of {asked} were records"
        );
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[test]
fn repair_of_random_text_terminates() {
    let input = lines(300);
    for text in input.split(|byte| *byte == b'\n') {
        let ran = run(&["repair", "--explain"], text);
        let is_text = std::str::from_utf8(text).is_ok();
        assert_eq!(ran.status == 2, !is_text, "{text:?}: {}", ran.stderr);
        assert!(ran.status == 0 || ran.stdout == text, "{text:?}");
        assert!(
            !ran.stderr.is_empty() && !ran.stderr.contains(['\u{1b}', '\0', '\u{202e}']),
            "{text:?}"
        );
    }
}

#[test]
fn streams_without_events_pass_unchanged() {
    let input = lines(20_000);
    for dialect in ["chat", "responses", "anthropic"] {
        let ran = run(&["repair", "--sse", dialect, "--target-tools", "*"], &input);
        assert_eq!((ran.status, ran.stderr.lines().count()), (0, 1), "{dialect}");
        assert!(
            ran.stderr.starts_with("the stream has no tool calls; "),
            "{}",
            ran.stderr
        );
        assert!(ran.stdout == input, "{dialect}");
    }
}
