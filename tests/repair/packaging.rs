//! Name of a tool in the packaging of arguments, which the caller of another tool must receive.

use tool_runtime::repair::{Repairer, Status, repair};

/// Returns the name in the whole text. Checks that the name in pieces is equal.
fn tool_name(text: &str) -> Option<String> {
    let whole = repair(text);
    assert_eq!(whole.status, Status::Repaired, "{text}: {:?}", whole.reason);
    let mut repairer = Repairer::new();
    for (at, character) in text.char_indices() {
        let _ = repairer.push(&text[at..at + character.len_utf8()]);
    }
    assert_eq!(repairer.finish().tool_name, whole.tool_name, "{text}");
    whole.tool_name
}

#[test]
fn records_the_name_of_a_tool() {
    for text in [
        r#"[TOOL_CALLS]web_search[ARGS]{"a": 1}"#,
        r#"[TOOL_CALLS]web_search{"a": 1}"#,
        r#"[TOOL_CALLS] web_search [ARGS] {"a": 1}"#,
        r#"[TOOL_CALLS]web_search[CALL_ID]9f3cA[ARGS]{"a": 1}"#,
        "I look it up.\n[TOOL_CALLS]web_search[ARGS]{'a': 1}",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>web_search\n```json\n{\"a\": 1}\n```<｜tool▁call▁end｜>",
        "<｜tool▁call▁begin｜>web_search<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>",
        "<|tool_call_begin|>functions.web_search:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>",
        "<function=web_search>{\"a\": 1}</function>",
        "<invoke name=\"web_search\">\n{\"a\": 1}\n</invoke>",
        "<tool_call>web_search\n{\"a\": 1}\n</tool_call>",
        "<|start|>assistant<|channel|>commentary to=functions.web_search <|constrain|>json<|message|>{\"a\": 1}",
        "<function=default_api.web_search>{\"a\": 1}</function>",
    ] {
        assert_eq!(tool_name(text).as_deref(), Some("web_search"), "{text}");
    }
    assert_eq!(
        tool_name(r#"[TOOL_CALLS]report_error[ARGS]{"a": 1}"#).as_deref(),
        Some("report_error")
    );
}

#[test]
fn records_no_other_text_as_a_name() {
    for text in [
        "{'a': 1}",
        "```json\n{\"a\": 1}\n```",
        "<tool_call>\n{\"a\": 1}\n</tool_call>",
        "<tool_call>json\n{\"a\": 1}",
        "<tool_call id=\"call_1\">{\"a\": 1}</tool_call>",
        "<tool_call>Here it is:\n{\"a\": 1}",
        "<tool_input>\nHere\n{\"a\": 1}",
        "options\n{\"a\": 1}",
        "Arguments: {\"a\": 1}",
        "<|im_start|>assistant\n{\"a\": 1}",
        "[TOOL_CALLS] [{\"name\": \"a\"}]",
        "{\"a\": 1}</web_search>",
    ] {
        assert_eq!(tool_name(text), None, "{text}");
    }
    for text in [
        r#"{"a": 1}"#,
        "[TOOL_CALLS]web_search[ARGS]{",
        "<web_search>{\"a\": 1}",
    ] {
        assert_eq!(repair(text).tool_name, None, "{text}");
    }
}
