//! `tool-cli repair`: repairs one text.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use crate::program::{Directory, command, run, start};

#[test]
fn keeps_valid_json_byte_for_byte() {
    for text in [
        "{}",
        "{\"a\": 1}\n",
        "\r\n { \"a\" : 1.50, \"a\":\t123456789012345678901234567890 } \r\n",
        r#"["\ud83d\ude00", "\ud800", "\/", "写"]"#,
        "null",
    ] {
        let ran = run(&["repair"], text);
        assert_eq!((ran.status, ran.text(), ran.stderr.as_str()), (0, text, ""));
    }
}

#[test]
fn a_python_dict_becomes_json() {
    let ran = run(
        &["repair"],
        "{'todos': [{'content': '写代码', 'done': False, 'note': None}]}\n",
    );
    let json = "{\"todos\": [{\"content\": \"写代码\", \"done\": false, \"note\": null}]}\n";
    assert_eq!((ran.status, ran.text(), ran.stderr.as_str()), (0, json, ""));
}

#[test]
fn line_breaks_at_the_end_are_preserved() {
    for end in ["", "\n", "\n\n", "\r\n", " "] {
        let ran = run(&["repair", "-"], format!("{{'a': 1}}{end}"));
        assert_eq!(
            (ran.status, ran.text()),
            (0, format!("{{\"a\": 1}}{end}").as_str())
        );
    }
}

#[test]
fn reads_a_file_without_changing_it() {
    let directory = Directory::new();
    let file = directory.file("answer.txt", "{'a': 1}");
    let ran = run(&["repair", &file], "not read");
    assert_eq!((ran.status, ran.text()), (0, "{\"a\": 1}"));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{'a': 1}");
}

#[test]
fn truncated_text_is_not_completed() {
    for (text, place) in [
        ("", "stdin:1:1: truncated: "),
        ("{\"a\": ", "stdin:1:7: truncated: "),
        ("{\"a\": [1,\n", "stdin:2:1: truncated: "),
        ("{'a': '写", "stdin:1:9: truncated: "),
    ] {
        let ran = run(&["repair"], text);
        assert_eq!((ran.status, ran.text()), (1, text));
        assert!(ran.stderr.starts_with(place), "{text:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("a truncated call must not be executed"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn ambiguous_text_is_rejected_with_its_position() {
    let text = "{\"a\": 1,\n \"写\": @}\n";
    let ran = run(&["repair"], text);
    assert_eq!((ran.status, ran.text()), (1, text));
    let (first, rest) = ran.stderr.split_once('\n').unwrap();
    assert!(first.starts_with("stdin:2:7: refused: "), "{first}");
    assert!(first.ends_with("(byte 17)"), "{first}");
    assert_eq!(
        rest,
        "  |\n2 |  \"写\": @}\n  |        ^\n  |\n  = any repair would be a guess; the text is unchanged\n"
    );
}

#[test]
fn suggests_the_option_for_other_input_formats() {
    let stream = "this looks like a stream: --sse chat, responses or anthropic\n";
    let lines = "this looks like JSON lines: --jsonl\n";
    for (text, wanted) in [
        ("data: [DONE]\n\n", Some(stream)),
        ("event: ping\ndata: @\n\n", Some(stream)),
        ("\u{feff}\ndata: {\"a\": @}\n\n", Some(stream)),
        (
            "{\"id\": 1, \"text\": \"{'a': 1}\"}\n{\"id\": 2, \"text\": \"{}\"}\n",
            Some(lines),
        ),
        ("{\"text\": 1}\n@", Some(lines)),
        ("{\"id\": 1}\n{\"id\": 2}\n", None),
        ("the data: [DONE]\n", None),
        ("{\"text\": \n@}", None),
    ] {
        let ran = run(&["repair"], text);
        assert_eq!((ran.status, ran.text()), (1, text));
        match wanted {
            Some(wanted) => assert!(ran.stderr.ends_with(wanted), "{}", ran.stderr),
            None => assert!(!ran.stderr.contains("this looks"), "{}", ran.stderr),
        }
    }
    let valid = run(&["repair"], "{\"text\": \"{'a': 1}\"}\n");
    assert_eq!((valid.status, valid.stderr.as_str()), (0, ""));
}

#[test]
fn input_that_is_not_utf8_is_unchanged_and_reported() {
    for (bytes, wanted) in [
        (
            &b"{'a': '\xff'}"[..],
            "stdin: byte 7 (0xFF) is not UTF-8; convert the file",
        ),
        (b"\xff\xfe{\0}\0", "this looks like UTF-16"),
        (
            b"\x7fELF\x02\x00\xff",
            "byte 6 (0xFF) is not UTF-8; this looks like a binary file",
        ),
        (b"{\"a\": \"\xe5\x86", "byte 7 (0xE5) is not UTF-8"),
    ] {
        let ran = run(&["repair"], bytes);
        assert_eq!((ran.status, ran.stdout.as_slice()), (2, bytes));
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(wanted),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn input_that_cannot_be_read_is_an_error() {
    let directory = Directory::new();
    let missing = directory.path().join("missing.txt");
    for path in [missing.as_path(), directory.path()] {
        let ran = run(&["repair", path.to_str().unwrap()], "");
        assert_eq!((ran.status, ran.text()), (2, ""));
        let wanted = format!("error: {} cannot be read: ", path.display());
        assert!(ran.stderr.starts_with(&wanted), "{}", ran.stderr);
        assert!(
            ran.stderr
                .ends_with("; expected a readable file, or `-` for standard input\n")
        );
    }
}

#[test]
fn closed_output_ends_the_program_quietly() {
    let text = format!("[{}1]", "1, ".repeat(1 << 20));
    let mut child = start(&["repair"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(child.stdout.take());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command(&["repair"])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(
        stderr.starts_with("error: the output cannot be written: "),
        "{stderr}"
    );
}

#[test]
fn exceeded_limits_are_named() {
    let string = "x".repeat((1 << 20) + 1);
    let note = |text: &str, wanted: &str| {
        let ran = run(&["repair"], text);
        let name = &text[..text.len().min(20)];
        assert!(ran.status == 1 && ran.text() == text, "{name}: {}", ran.status);
        let last = ran.stderr.lines().last().unwrap_or_default();
        assert_eq!(last, format!("  = {wanted}; the text is unchanged"), "{name}");
    };
    let deep = "the limit is 1024 levels of nesting";
    note(&("[".repeat(1100) + &"]".repeat(1100)), deep);
    note(&("(".repeat(1100) + &")".repeat(1100)), deep);
    note(
        &format!("[1{}_0]", "0".repeat(70)),
        "the limit is 64 bytes of a number",
    );
    note(
        &format!("[1,{}]", " ".repeat(1100)),
        "the limit is 1024 bytes of white space",
    );
    let sent = "the limit is 1048576 bytes before the first one that is not JSON";
    note(&format!("{{\"a\": \"{string}\\d\"}}"), sent);
    note("[1, @]", "any repair would be a guess");
}

#[test]
fn memory_limit_is_named() {
    let text = format!("['{}']", "x".repeat(64 << 20));
    let ran = run(&["repair"], &text);
    assert!(ran.status == 1 && ran.text() == text);
    assert!(
        ran.stderr.ends_with(
            "= the limit is 67108864 bytes from the first one that is not JSON; the text is unchanged\n"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn limits_are_in_the_help_and_in_the_reference() {
    let help = run(&["repair", "--help"], "");
    let reference = include_str!("../../README.md");
    for limit in [
        "1,024 levels",
        "64 MiB",
        "1 MiB",
        "1,024 bytes of white space",
        "64 bytes of a number",
    ] {
        assert!(help.text().contains(limit), "--help: {limit}");
        assert!(reference.contains(limit), "README: {limit}");
    }
}
