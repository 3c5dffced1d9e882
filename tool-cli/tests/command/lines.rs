//! `tool-cli repair --jsonl`: repairs many texts, one in each line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Directory, run, start};

fn repair(lines: impl AsRef<[u8]>) -> (i32, Vec<Value>) {
    let ran = run(&["repair", "--jsonl"], lines);
    assert_eq!(ran.stderr, "");
    (ran.status, ran.records())
}

#[test]
fn every_status_has_its_record() {
    let (status, records) = repair(
        r#"{"id": 1, "text": "{\"a\": 1}"}
           {"id": 2, "text": "{'a': True}"}
           {"id": 3, "text": "{'a': "}
           {"id": 4, "text": "{\"a\": @}"}"#,
    );
    assert_eq!(status, 0, "findings are not failures");
    assert_eq!(
        records[0],
        json!({ "id": 1, "status": "valid", "text": "{\"a\": 1}", "fixes": [] })
    );
    assert_eq!(
        (&records[1]["status"], &records[1]["text"]),
        (&json!("repaired"), &json!("{\"a\": true}"))
    );
    let fixes = records[1]["fixes"].as_array().unwrap();
    let places: Vec<_> = fixes.iter().map(|fix| (&fix["code"], &fix["offset"])).collect();
    assert_eq!(
        places,
        [
            (&json!("single_quotes"), &json!(1)),
            (&json!("python_literal"), &json!(6))
        ]
    );
    assert!(
        fixes
            .iter()
            .all(|fix| fix["message"].is_string() && fix.as_object().unwrap().len() == 3)
    );
    assert!(records[1].get("reason").is_none() && records[1].get("fix_counts").is_none());
    for (record, status, text, offset) in [(2, "truncated", "{'a': ", 6), (3, "refused", "{\"a\": @}", 6)] {
        let record = &records[record];
        assert_eq!(
            (&record["status"], &record["text"]),
            (&json!(status), &json!(text))
        );
        assert_eq!(
            (&record["fixes"], &record["reason"]["offset"]),
            (&json!([]), &json!(offset))
        );
        assert!(record["reason"]["message"].is_string());
    }
}

#[test]
fn keys_of_records_are_in_order() {
    let ran = run(&["repair", "--jsonl"], r#"{"text": "{}", "id": 1}"#);
    assert_eq!(
        ran.text(),
        "{\"id\":1,\"status\":\"valid\",\"text\":\"{}\",\"fixes\":[]}\n"
    );
}

#[test]
fn ids_are_returned_as_written() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let ids = [
        "1.50",
        "123456789012345678901234567890",
        "-0",
        "1E+2",
        r#""\u0061\/""#,
        r#""\ud800""#,
        "null",
        "true",
        r#"{"b":  1, "a": [ ], "b": 2}"#,
        &deep,
    ];
    for id in ids {
        let ran = run(&["repair", "--jsonl"], format!(r#"{{"id": {id} , "text": ""}}"#));
        assert!(
            ran.text()
                .starts_with(&format!(r#"{{"id":{id},"status":"truncated""#)),
            "{}",
            ran.text()
        );
    }
    assert!(
        run(&["repair", "--jsonl"], r#"{"text": "{}"}"#)
            .text()
            .starts_with(r#"{"id":null,"#)
    );
}

#[test]
fn counts_the_fixes_that_are_not_listed() {
    let text = format!("[{}None]", "True, ".repeat(99));
    let (_, records) = repair(json!({ "id": 1, "text": text }).to_string());
    assert_eq!(records[0]["fixes"].as_array().unwrap().len(), 64);
    assert_eq!(records[0]["fix_counts"], json!({ "python_literal": 100 }));
}

#[test]
fn names_the_tool_of_the_packaging() {
    let text = r#"[TOOL_CALLS]web_search[ARGS]{"query": "x"}"#;
    let (_, records) = repair(json!({ "id": 1, "text": text }).to_string());
    let (text, tool) = (&records[0]["text"], &records[0]["tool_name"]);
    assert_eq!((text, tool), (&json!(r#"{"query": "x"}"#), &json!("web_search")));
    let (_, records) = repair(r#"{"id": 2, "text": "{'a': 1}"}"#);
    assert!(records[0].get("tool_name").is_none());
}

/// Invalid lines with the id and the error of their answers.
const NO_RECORDS: [(&[u8], Option<u32>, &str); 14] = [
    (
        b"nonsense",
        None,
        "the line is not JSON: expected ident at column 2; expected {\"id\": …, \"text\"",
    ),
    (
        b"broken {",
        None,
        "the line is not JSON: expected value at column 1; expected {",
    ),
    (
        b"[1, }",
        None,
        "the line is not JSON: expected value at column 5; expected {",
    ),
    (
        b"\x7fELF\x00\xff",
        None,
        "byte 5 (0xFF) is not UTF-8; this looks like a binary file",
    ),
    (
        b"{\"id\": 1, \"text\"",
        None,
        "the line is not JSON: EOF while parsing",
    ),
    (b"[1, \"{}\"]", None, "expected {"),
    (
        b"{\"id\": 1, \"text\": \"a\", \"text\": \"b\"}",
        None,
        "duplicate field `text`",
    ),
    (b"{\"id\": 1} {}", None, "trailing characters"),
    (b"{\"id\": 1}", Some(1), "missing `text`; expected {\"id\""),
    (
        b"{\"id\": 1, \"text\": null}",
        Some(1),
        "`text`: expected a JSON string",
    ),
    (
        b"{\"id\": 1, \"text\": {\"a\": 1}}",
        Some(1),
        "`text`: expected a JSON string",
    ),
    (
        b"{\"id\": 1, \"text\": \"\\ud800\"}",
        Some(1),
        "`text`: unpaired surrogate at column",
    ),
    (
        b"{\"id\": 1, \"text\": \"\\udc00 x\"}",
        Some(1),
        "`text`: unpaired surrogate at column",
    ),
    (
        b"{\"id\": 1, \"text\": \"\xff\"}",
        None,
        "byte 19 (0xFF) is not UTF-8",
    ),
];

#[test]
fn truncated_lines_have_the_column_of_their_end() {
    for (line, wanted) in [
        (
            r#"{"id": 2, "text": "x""#,
            "EOF while parsing an object at column 21; ",
        ),
        (
            r#"{"id": 2, "text": "x"#,
            "EOF while parsing a string at column 20; ",
        ),
        (r#"[1, "x"#, "EOF while parsing a string at column 6; "),
    ] {
        for end in ["\n", "\r\n", "\n{}\n", ""] {
            for command in ["repair", "check"] {
                let ran = run(&[command, "--jsonl"], format!("{line}{end}"));
                let records = ran.records();
                let error = records[0]["error"].as_str().unwrap();
                assert!(error.contains(wanted), "{command} {line:?} {end:?}: {error}");
            }
        }
    }
}

#[test]
fn invalid_records_are_answered_in_order() {
    let mut input = Vec::new();
    for (line, ..) in &NO_RECORDS {
        input.extend_from_slice(line);
        input.extend_from_slice(b"\n{\"id\": \"next\", \"text\": \"{}\"}\n");
    }
    let (status, records) = repair(input);
    assert_eq!((status, records.len()), (1, 2 * NO_RECORDS.len()));
    for (place, (line, id, wanted)) in NO_RECORDS.iter().enumerate() {
        let (record, next) = (&records[2 * place], &records[2 * place + 1]);
        let line = String::from_utf8_lossy(line);
        assert_eq!(
            (&record["id"], &record["line"]),
            (&json!(id), &json!(2 * place + 1)),
            "{line}"
        );
        let error = record["error"].as_str().unwrap();
        assert!(error.contains(wanted), "{line}: {error}");
        assert!(!error.contains("line 1"), "{error}");
        assert_eq!(next["status"], "valid");
    }
}

#[test]
fn accepts_blank_lines_byte_order_marks_and_all_line_ends() {
    let (status, records) = repair("\u{feff}\n\n  \r\n{\"text\": \"1\"}\r\n\t\n{\"text\": \"2\"}");
    assert_eq!((status, records.len()), (0, 2));
    let (_, records) = repair("\u{feff}{\"text\": \"1\"}\n\nnonsense");
    assert_eq!(
        (&records[0]["text"], &records[1]["line"]),
        (&json!("1"), &json!(3))
    );
    assert_eq!(repair(""), (0, Vec::new()));
}

#[test]
fn reads_a_file() {
    let directory = Directory::new();
    let file = directory.file("answers.jsonl", r#"{"id": 1, "text": "{}"}"#);
    assert_eq!(run(&["repair", "--jsonl", &file], "").records().len(), 1);
}

#[test]
fn each_line_is_answered_before_the_next_is_sent() {
    let mut child = start(&["repair", "--jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for id in 0..20 {
        // The first part of a line is awaited, after all earlier answers were flushed.
        write!(stdin, "{{\"id\": {id}, \"text\": \"{{").unwrap();
        stdin.flush().unwrap();
        writeln!(stdin, "}}\"}}").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("{{\"id\":{id},")), "{answer}");
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn accepts_lines_of_megabytes() {
    let text = format!("['{}']", "写".repeat(2 << 20));
    let (_, records) = repair(json!({ "id": 1, "text": text }).to_string());
    assert_eq!(records[0]["status"], "repaired");
    assert_eq!(records[0]["text"].as_str().unwrap().len(), text.len());
}

#[test]
fn closed_output_ends_the_program_quietly() {
    let mut child = start(&["repair", "--jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let line = "{\"id\": 1, \"text\": \"{}\"}\n".repeat(100_000);
    let _ = stdin.write_all(line.as_bytes()); // the program may exit before the end of the input
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn a_hundred_thousand_lines_take_seconds() {
    let line = r#"{"id": "call_01", "text": "{'todos': [{'content': '写代码', 'status': 'in_progress'}]}"}"#;
    let began = Instant::now();
    let ran = run(&["repair", "--jsonl"], format!("{line}\n").repeat(100_000));
    let took = began.elapsed();
    assert_eq!((ran.status, ran.text().lines().count()), (0, 100_000));
    // Quadratic time would be hours. The bound allows unoptimized code on a busy machine.
    assert!(took < Duration::from_secs(300), "{took:?}");
}
