//! `tool-cli check`: checks recorded calls against their schemas.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{run, start};

const SCHEMA: &str = r#"{"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "maximum": 9}}, "required": ["path"]}"#;

fn line(id: &str, rest: &str) -> String {
    format!("{{\"id\": {id}, \"schema\": {SCHEMA}, {rest}}}\n")
}

/// Returns the codes of a record's issues, with their paths.
fn codes(issues: &Value) -> Vec<String> {
    let issues = issues.as_array().unwrap().iter();
    issues
        .map(|issue| {
            format!(
                "{} at {}",
                issue["code"].as_str().unwrap(),
                issue["path"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn check_agrees_with_the_registry() {
    let ran = run(
        &["check", "--jsonl"],
        [
            line("1", r#""arguments": {"path": "a", "limit": 3}"#),
            line("2", r#""arguments": {"path": 1.50, "limit": "3", "x": [1]}"#),
            line("3", r#""arguments": {"limit": 10}"#),
        ]
        .concat(),
    );
    assert_eq!(ran.status, 0, "findings are not failures");
    let records = ran.records();
    assert_eq!(
        records[0],
        json!({ "id": 1, "arguments": { "path": "a", "limit": 3 }, "warnings": [], "errors": [] })
    );
    assert_eq!(
        records[1]["arguments"],
        json!({ "path": "1.50", "limit": 3, "x": [1] })
    );
    assert_eq!(
        codes(&records[1]["warnings"]),
        [
            "number_coerced_to_string at /path",
            "string_literal_converted_to_integer at /limit",
            "unknown_parameter at /x"
        ]
    );
    let issue = records[1]["warnings"][0].as_object().unwrap();
    assert_eq!(
        issue.keys().collect::<Vec<_>>(),
        ["path", "code", "message", "severity"]
    );
    assert_eq!(
        codes(&records[2]["errors"]),
        ["missing_required at /path", "constraint_violated at /limit"]
    );
    assert_eq!(
        ran.stderr,
        "3 calls: 1 clean, 1 with warnings, 1 refused\n\
         errors\n  1 missing_required\n  1 constraint_violated\n\
         warnings\n  1 unknown_parameter\n  1 string_literal_converted_to_integer\n  1 number_coerced_to_string\n"
    );
}

#[test]
fn json_arguments_are_checked_as_sent() {
    let ran = run(
        &["check", "--jsonl"],
        [
            line(
                "1",
                r#""arguments": {"path": 123456789012345678901234567890, "path": 1.500}"#,
            ),
            line("2", r#""arguments": "{\"path\": \"a\"}""#),
            line("3", r#""arguments": null"#),
            line("4", r#""arguments": [1]"#),
            line("5", r#""arguments": {"path": 123456789012345678901234567890}"#),
            line(
                "6",
                r#""arguments": {"path": "a", "more": [123456789012345678901234567890, 1.50]}"#,
            ),
        ]
        .concat(),
    );
    let records = ran.records();
    assert_eq!(records[0]["arguments"], json!({ "path": "1.500" }));
    assert_eq!(
        codes(&records[0]["warnings"]),
        ["duplicate_key at /path", "number_coerced_to_string at /path"]
    );
    assert_eq!(codes(&records[1]["warnings"]), ["json_string_decoded at "]);
    assert_eq!(codes(&records[2]["warnings"]), ["empty_arguments at "]);
    assert_eq!(codes(&records[3]["errors"]), ["arguments_not_object at "]);
    assert_eq!(records[4]["arguments"]["path"], "123456789012345678901234567890");
    let sixth = ran.text().lines().nth(5).unwrap();
    assert!(
        sixth.contains(r#""arguments":{"path":"a","more":[123456789012345678901234567890,1.50]}"#),
        "{sixth}"
    );
}

#[test]
fn raw_text_is_repaired_unless_the_policy_is_strict() {
    let calls = line("1", r#""raw": "{'path': 'a', 'limit': 3}""#) + &line("2", r#""raw": """#);
    let ran = run(&["check", "--jsonl"], &calls);
    let records = ran.records();
    assert_eq!(records[0]["arguments"], json!({ "path": "a", "limit": 3 }));
    assert_eq!(codes(&records[0]["warnings"]), ["json_repaired at "]);
    assert_eq!(codes(&records[1]["warnings"]), ["empty_arguments at "]);
    let ran = run(&["check", "--jsonl", "--policy", "strict"], &calls);
    assert_eq!(codes(&ran.records()[0]["errors"]), ["json_parse_error at "]);
}

#[test]
fn policies_differ() {
    let calls = line("1", r#""arguments": {"path": "a", "limit": 3.5}"#)
        + &line("2", r#""arguments": {"path": "a", "limit": "3"}"#);
    for (policy, refused) in [
        ("lenient", [false, false]),
        ("lossless", [true, false]),
        ("strict", [true, true]),
    ] {
        let ran = run(&["check", "--jsonl", "--policy", policy], &calls);
        let found: Vec<bool> = ran.records().iter().map(|it| it["errors"] != json!([])).collect();
        assert_eq!(found, refused, "{policy}");
    }
}

/// Returns invalid lines, with the id and the error of their answers.
fn no_calls() -> Vec<(String, Value, &'static str)> {
    vec![
        (
            line("1", r#""arguments": {}, "raw": "{}""#),
            json!(1),
            "found both `arguments` and `raw`; expected",
        ),
        (
            line("2", r#""x": 1"#),
            json!(2),
            "missing `arguments` or `raw`; expected the arguments as JSON in `arguments`",
        ),
        (
            r#"{"id": 3, "raw": "{}"}"#.to_owned() + "\n",
            json!(3),
            "missing `schema`; expected {",
        ),
        (
            line("4", r#""raw": {}"#),
            json!(4),
            "`raw`: expected a JSON string",
        ),
        (
            line("5", r#""raw": "\ud800""#),
            json!(5),
            "`raw`: unpaired surrogate",
        ),
        (
            r#"{"id": 6, "schema": {"properties": {"a": {"type": "strnig"}}}, "raw": "{}"}"#.to_owned()
                + "\n",
            json!(6),
            "invalid `schema` at `/properties/a/type`: ",
        ),
        (
            r#"{"id": 7, "schema": "x", "raw": "{}"}"#.to_owned() + "\n",
            json!(7),
            "invalid `schema`: ",
        ),
        (
            format!(
                "{{\"id\": 8, \"schema\": {}1{}, \"raw\": \"\"}}\n",
                "[".repeat(500),
                "]".repeat(500)
            ),
            json!(8),
            "invalid `schema`: recursion limit exceeded",
        ),
        ("\"x\"\n".to_owned(), json!(null), "expected {"),
        (
            "broken {\n".to_owned(),
            json!(null),
            "the line is not JSON: expected value at column 1; expected {",
        ),
    ]
}

#[test]
fn invalid_calls_are_answered_in_order() {
    let lines = no_calls();
    let input: String = lines.iter().map(|(line, ..)| line.as_str()).collect();
    let ran = run(
        &["check", "--jsonl"],
        input + &line("10", r#""raw": "{\"path\": \"a\"}""#),
    );
    assert_eq!(ran.status, 1);
    let records = ran.records();
    assert_eq!(records.len(), lines.len() + 1);
    for (place, (line, id, wanted)) in lines.iter().enumerate() {
        let record = &records[place];
        assert_eq!(
            (&record["id"], &record["line"]),
            (id, &json!(place + 1)),
            "{line}"
        );
        assert!(
            record["error"].as_str().unwrap().contains(wanted),
            "{line}: {record}"
        );
    }
    assert_eq!(records.last().unwrap()["errors"], json!([]));
    assert_eq!(
        ran.stderr,
        "1 call: 1 clean, 0 with warnings, 0 refused\n10 lines could not be read\n"
    );
}

#[test]
fn schemas_in_other_dialects_are_read_with_a_warning() {
    let schema = r#"{"type": "OBJECT", "properties": {"price": {"type": "float"}, "name": {"type": "string", "pattern": "^\\p{L}+$"}}}"#;
    let call = format!(
        "{{\"id\": 1, \"schema\": {schema}, \"arguments\": {{\"price\": \"1.5\", \"name\": \"a;b\"}}}}\n"
    );
    let ran = run(&["check", "--jsonl"], call);
    let records = ran.records();
    assert_eq!(records[0]["arguments"]["price"], json!(1.5));
    assert_eq!(codes(&records[0]["errors"]), ["constraint_violated at /name"]);
    for warning in [
        "`\"OBJECT\"` was read as `\"object\"`, at `/type` of the schema",
        "`\"float\"` was read as `\"number\"`, at `/properties/price/type` of the schema",
    ] {
        assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    }
}

#[test]
fn warnings_of_schemas_are_printed_once_to_stderr() {
    let odd = r#"{"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)y"}}}"#;
    let call = format!("{{\"id\": 1, \"schema\": {odd}, \"arguments\": {{\"a\": \"b\"}}}}\n");
    let other = call.replace("(?=x)y", "(?=x)z");
    let ran = run(&["check", "--jsonl"], call.repeat(3) + &other + &call);
    assert_eq!(ran.status, 0);
    let warnings: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.contains("warning in the schema"))
        .collect();
    assert_eq!(warnings.len(), 2, "{}", ran.stderr);
    assert!(
        warnings[0].starts_with("stdin:1: ") && warnings[0].contains("(?=x)y"),
        "{}",
        warnings[0]
    );
    assert!(
        warnings[1].starts_with("stdin:4: ") && warnings[1].contains("(?=x)z"),
        "{}",
        warnings[1]
    );
    for record in ran.records() {
        assert_eq!(
            record,
            json!({ "id": 1, "arguments": { "a": "b" }, "warnings": [], "errors": [] })
        );
    }
}

#[test]
fn deny_sets_the_exit_status() {
    let clean = line("1", r#""arguments": {"path": "a"}"#);
    let warned = line("2", r#""arguments": {"path": 1}"#);
    let refused = line("3", r#""arguments": {}"#);
    for (calls, by_errors, by_warnings) in [(&clean, 0, 0), (&warned, 0, 1), (&refused, 1, 1)] {
        assert_eq!(run(&["check", "--jsonl"], calls).status, 0);
        assert_eq!(
            run(&["check", "--jsonl", "--deny", "errors"], calls).status,
            by_errors
        );
        assert_eq!(
            run(&["check", "--jsonl", "--deny", "warnings"], calls).status,
            by_warnings
        );
    }
}

#[test]
fn each_call_is_checked_before_the_next_is_sent() {
    let mut child = start(&["check", "--jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for id in 0..3 {
        stdin
            .write_all(line(&id.to_string(), r#""arguments": {"path": "a"}"#).as_bytes())
            .unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert!(
            answer.starts_with(&format!("{{\"id\":{id},\"arguments\"")),
            "{answer}"
        );
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_hundred_thousand_calls_take_seconds() {
    let call = line("1", r#""arguments": {"path": "a", "limit": "3"}"#);
    let began = Instant::now();
    let ran = run(&["check", "--jsonl"], call.repeat(100_000));
    let took = began.elapsed();
    assert_eq!((ran.status, ran.text().lines().count()), (0, 100_000));
    assert!(
        ran.stderr
            .starts_with("100000 calls: 0 clean, 100000 with warnings, 0 refused\n")
    );
    // Quadratic time would be hours. The bound allows unoptimized code on a busy machine.
    assert!(took < Duration::from_secs(300), "{took:?}");
}

#[test]
fn schemas_that_are_all_different_take_bounded_memory() {
    let calls: String = (0..5_000)
        .map(|id| format!("{{\"id\": {id}, \"schema\": {{\"type\": \"object\", \"title\": \"{id}\"}}, \"raw\": \"{{}}\"}}\n"))
        .collect();
    let ran = run(&["check", "--jsonl"], calls);
    assert_eq!((ran.status, ran.text().lines().count()), (0, 5_000));
}
