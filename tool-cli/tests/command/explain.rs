//! `tool-cli repair --explain`: the explanations for users.
//!
//! The expected texts are in `explained/`; `UPDATE_GOLDEN=1` updates them.

use std::fs;
use std::path::Path;

use crate::program::{Directory, command, run};

/// Compares the explanation of a text with a file.
fn explained(name: &str, arguments: &[&str], text: &str) {
    let ran = run(&[&["repair"], arguments].concat(), text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/command/explained/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &ran.stderr).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(
        expected,
        ran.stderr,
        "{} (left) differs from the output (right)",
        path.display()
    );
    // `--explain` does not change the result.
    assert_eq!(ran.stdout, run(&["repair"], text).stdout);
}

#[test]
fn carets_align_under_chinese_and_tabs() {
    let text = "{\n\t'任务': [\n\t\t{'内容': '创建项目结构', 'done': False, 'n': 1_000,},\n\t],\n}\n";
    explained("chinese", &["--explain"], text);
}

#[test]
fn long_lines_are_shown_in_pieces() {
    let item = "{\"content\": \"a task that takes quite a few words to tell\", 'done': True}";
    explained(
        "long_line",
        &["--explain"],
        &format!("[{}]", [item; 6].join(", ")),
    );
}

#[test]
fn counts_the_fixes_that_are_not_shown() {
    let lines: String = (0..40).map(|it| format!("  'key{it}': None,\n")).collect();
    explained("many", &["--explain"], &format!("{{\n{lines}}}"));
}

#[test]
fn control_characters_are_escaped() {
    explained(
        "control",
        &["--explain"],
        "{'a\u{202e}b': '\u{1b}[31m red', \"c\": \"\u{1b}[0m\"}",
    );
}

#[test]
fn color_always_writes_escape_codes() {
    explained("colored", &["--explain", "--color", "always"], "{'a': 1}");
    explained("colored_reason", &["--color", "always"], "{\"a\": @}");
}

#[test]
fn valid_text_has_nothing_to_explain() {
    let ran = run(&["repair", "--explain"], "{}");
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (0, "stdin: valid, nothing was changed\n")
    );
}

#[test]
fn reasons_are_printed_without_explain() {
    for text in ["{\"a\": @}", "{\"a\": "] {
        assert_eq!(
            run(&["repair"], text).stderr,
            run(&["repair", "--explain"], text).stderr
        );
    }
}

#[test]
fn messages_name_the_file() {
    let directory = Directory::new();
    directory.file("answer.txt", "{'a': 1}");
    let output = command(&["repair", "--explain", "answer.txt"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(output.stderr.starts_with(b"answer.txt: repaired, 1 fix\n"));
}

#[test]
fn output_without_a_terminal_has_no_colours() {
    for when in [&[][..], &["--color", "auto"], &["--color", "never"]] {
        let ran = run(&[&["repair", "--explain"], when].concat(), "{'a': 1}");
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    }
}

#[test]
fn a_huge_line_is_shown_in_short_pieces_at_once() {
    let item = format!("'{}', True, ", "写x".repeat(4_000));
    let line = format!("[{}1]", item.repeat(70));
    assert!(line.len() > 1_000_000);
    let hidden = format!("['{}\u{9b}31m\u{1b}\u{e0041}']", "\u{202e}".repeat(400_000));
    for text in [line, hidden] {
        let began = std::time::Instant::now();
        let ran = run(&["repair", "--explain"], &text);
        assert!(
            began.elapsed() < std::time::Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(ran.status, 0);
        assert!(ran.stderr.len() < 64 * 1_000, "{} bytes", ran.stderr.len());
        for shown in ran.stderr.lines() {
            assert!(shown.chars().count() < 110, "{shown}");
            assert!(
                shown
                    .chars()
                    .all(|letter| !letter.is_control() && letter != '\u{202e}'),
                "{shown:?}"
            );
        }
    }
    let refused = format!("{{\"a\": \"{}\", \"b\": }}", "x".repeat(1_000_000));
    let ran = run(&["repair"], &refused);
    assert_eq!((ran.status, ran.stderr.lines().count()), (1, 6));
    assert!(
        ran.stderr.starts_with("stdin:1:1000016: refused: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.len() < 400 && ran.stderr.contains("\n1 | …xxx"),
        "{}",
        ran.stderr
    );
}

#[test]
fn line_ends_of_windows_are_not_shown() {
    let ran = run(&["repair", "--explain"], "{\r\n\t'写': 1\r\n}\r\n");
    let expected = "stdin: repaired, 1 fix\n  |\n2 |     '写': 1\n  |     ^\n  |\n  = 2:2 single_quotes: single quotes became double quotes\n\n  1 single_quotes\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (0, expected));
}
