//! `tool-cli calls --jsonl`: recovers calls in many texts, one in each line.

use serde_json::{Value, json};

use crate::program::run;

/// Runs the command for one record.
fn calls(record: &Value) -> (i32, Value) {
    let ran = run(&["calls", "--jsonl"], record.to_string());
    assert_eq!(ran.stderr, "");
    (ran.status, ran.records().remove(0))
}

fn record(fields: Value) -> Value {
    let mut record = json!({
        "id": [1],
        "text": "Wait.\n<tool_call>{\"name\": \"f\",\n\"arguments\": {\"a\":\n1.50}}</tool_call>",
        "tools": [{ "name": "f", "input_schema": { "type": "object" } }],
    });
    let Value::Object(fields) = fields else {
        panic!("{fields}")
    };
    record.as_object_mut().unwrap().extend(fields);
    record
}

#[test]
fn answers_with_calls_and_the_rest_of_the_text() {
    let ran = run(&["calls"], record(json!({})).to_string());
    // A record is one line, and numbers keep their digits.
    let expected = "{\"id\":[1],\"calls\":[{\"name\":\"f\",\"arguments\":{\"a\": 1.50}}],\"text\":\"Wait.\",\"format\":\"tags\",\"reason\":null}\n";
    assert_eq!((ran.status, ran.text(), &*ran.stderr), (0, expected, ""));
}

#[test]
fn keeps_the_text_of_messages_that_have_no_calls_in_it() {
    for (fields, reason) in [
        (json!({ "stop_reason": "max_tokens" }), Value::Null),
        (json!({ "has_calls": true }), Value::Null),
        (json!({ "formats": ["json", "python"] }), Value::Null),
        (json!({ "formats": [] }), Value::Null),
        (json!({ "tools": [] }), json!("not_declared")),
    ] {
        let record = record(fields);
        let (status, answer) = calls(&record);
        let expected =
            json!({ "id": [1], "calls": [], "text": record["text"], "format": null, "reason": reason });
        assert_eq!((status, answer), (0, expected), "{record}");
    }
    for stop_reason in [json!("end_turn"), json!("stop_sequence"), Value::Null] {
        let (_, answer) = calls(&record(json!({ "stop_reason": stop_reason })));
        assert_eq!(answer["format"], "tags", "{stop_reason}");
    }
}

#[test]
fn answers_invalid_records_with_errors() {
    for (fields, error) in [
        (json!({ "text": 1 }), "`text`: expected a JSON string"),
        (
            json!({ "formats": ["xml"] }),
            "`formats`: unknown format; expected one of `tags`, `json`, `python`",
        ),
        (json!({ "tools": [{}] }), "missing field `name`"),
        (json!({ "tools": null }), "missing `tools`; expected {"),
    ] {
        let (status, answer) = calls(&record(fields));
        assert_eq!((status, &answer["line"]), (1, &json!(1)));
        assert!(answer["error"].as_str().unwrap().contains(error), "{answer}");
    }
}
