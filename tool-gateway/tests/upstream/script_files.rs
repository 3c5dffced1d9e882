//! The upstream `script`: invalid files.

use std::fs;

use tool_gateway::upstream::{ScriptUpstream, Upstream as _};

#[test]
fn errors_name_file_line_column_and_fix() {
    const HELLO: &str = r#"for example {"turns": [{"content": [{"type": "text", "text": "Hello"}]}]}"#;
    for (text, expected) in [
        (
            "{\n  \"turns\": [\n    {\"contents\": []}\n  ]\n}",
            "3:15: unknown field `contents`, expected one of `content`, `error`, `stop_reason`, `usage`, `id`, \
             `model`, `deltas`, `ping`, `headers`, `delay_ms`, `event_delay_ms`"
                .to_owned(),
        ),
        (
            "{\n  \"turns\": [{\"content\": []},]\n}",
            format!("2:29: trailing comma; expected JSON, {HELLO}"),
        ),
        (
            "",
            format!("1:0: EOF while parsing a value; expected JSON, {HELLO}"),
        ),
        ("{}", format!("1:2: missing field `turns`; expected {HELLO}")),
        (
            "{\"turns\": [],\n\"order\": \"random\"}",
            "2:17: unknown variant `random`, expected `messages` or `requests`".to_owned(),
        ),
        (
            "{\"turns\": [{}]}",
            "1:14: a turn has neither `content` nor `error`; \
             write for example \"content\": [{\"type\": \"text\", \"text\": \"Hello\"}]"
                .to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [{\"text\": \"Hello\"}]}]}",
            "1:42: missing field `type`; a block is for example {\"type\": \"text\", \"text\": \"Hello\"}".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [\n{\"type\": \"text\", \"text\": 1}]}]}",
            "2:28: invalid `text`: expected a string, got 1".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [{\"type\": \"tool_use\", \"name\": \"f\"}]}]}",
            "1:58: missing field `input`; write `\"input\": {}` for none".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [{\"type\": \"tool_use\", \"name\": \"f\", \"input\": \"{}\"}]}]}",
            "1:73: invalid `input`: expected an object, got \"{}\"".to_owned(),
        ),
        (
            "{\"turns\": [{\"error\": {}}]}",
            "1:23: missing field `status`; expected for example {\"status\": 529}".to_owned(),
        ),
        (
            "{\"turns\": [{\"error\": {\"status\": 200}}]}",
            "1:38: invalid `status` 200; expected one from 400 to 599".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [], \"headers\": {\"no good\": \"1\"}}]}",
            "1:56: invalid header name `no good`; expected for example `retry-after`".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [], \"headers\": {\"x\": \"\\n\"}}]}",
            "1:51: invalid value of the header `x`; expected visible ASCII characters".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [], \"deltas\": 0}]}",
            "1:38: invalid value: integer `0`, expected a nonzero usize".to_owned(),
        ),
        (
            "{\"turns\": [{\"content\": [], \"usage\": {\"input_tokens\": -1}}]}",
            "1:57: invalid `input_tokens`: expected a number of tokens, got -1".to_owned(),
        ),
    ] {
        let error = ScriptUpstream::from_json(text).unwrap_err();
        assert_eq!(error.to_string(), format!("script:{expected}"), "{text}");
    }
    let error = ScriptUpstream::from_json("{\"turns\": []}").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("script: `turns` is empty; expected at least one, {HELLO}")
    );
}

/// Fields of earlier versions are reported with an alternative.
#[test]
fn rejects_fields_of_test_scripts() {
    for (turn, expected) in [
        (
            r#""content": [], "expect": {}"#,
            "1:35: unknown field `expect`, expected one of ",
        ),
        (
            r#""content": [], "chunk": 1"#,
            "1:34: unknown field `chunk`, expected one of ",
        ),
        (
            r#""content": [], "cut_after": 1"#,
            "1:38: unknown field `cut_after`, expected one of ",
        ),
        (
            r#""content": [{"type": "tool_use", "name": "f", "partial_json": "{"}]"#,
            "1:79: unknown field `partial_json`; write `input`, an object; ",
        ),
    ] {
        let error = ScriptUpstream::from_json(&format!("{{\"turns\": [{{{turn}}}]}}")).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(&format!("script:{expected}")), "{error}");
        assert!(
            error.contains("; a script") || error.contains("other than a script"),
            "{error}"
        );
        assert!(error.contains("an `Upstream`"), "{error}");
    }
}

#[test]
fn files_are_named() {
    let directory = std::env::temp_dir().join(format!("script-files-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("demo.json");
    let shown = path.display();

    let error = ScriptUpstream::from_file(&path).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("the script {shown} cannot be read: ")),
        "{error}"
    );
    fs::write(&path, "{\n\"turn\": []}").unwrap();
    let error = ScriptUpstream::from_file(&path).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{shown}:2:6: unknown field `turn`, expected `turns` or `order`")
    );
    fs::write(&path, r#"{"turns": [{"content": []}]}"#).unwrap();
    let script = ScriptUpstream::from_file(&path).unwrap();
    assert_eq!(script.name(), format!("script {shown}"));
    fs::remove_dir_all(&directory).unwrap();
}
