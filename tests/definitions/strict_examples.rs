//! Examples in the strict forms: without a keyword for examples, the description contains them.

use serde_json::json;
use tool_runtime::ToolDefinition;
use tool_runtime::format::anthropic;
use tool_runtime::format::openai::chat;

#[test]
fn examples_named_in_the_description_are_not_repeated() {
    for (description, examples, description_text) in [
        (
            "A flight, e.g. FI0042.",
            json!(["FI0042"]),
            "A flight, e.g. FI0042.",
        ),
        (
            "A flight, e.g. FI0042.",
            json!(["FI0042", "SK1"]),
            "A flight, e.g. FI0042. For example \"SK1\".",
        ),
        ("From 10 to 15.", json!([5]), "From 10 to 15. For example 5."),
        ("For example 5.", json!([5]), "For example 5."),
        ("Such as [1,2].", json!([[1, 2]]), "Such as [1,2]."),
        ("A flight.", json!([""]), "A flight. For example \"\"."),
    ] {
        let text = json!({ "type": "string", "description": description, "examples": examples });
        let schema = json!({ "type": "object", "properties": { "a": text }, "required": ["a"] });
        let definition = ToolDefinition::new("t", "T.", schema);
        let strict = chat::strict_tool(&definition).unwrap();
        let property = &strict.tool["function"]["parameters"]["properties"]["a"];
        assert_eq!(property["description"], description_text);
        let strict = anthropic::strict_tool(&definition).unwrap();
        assert_eq!(
            strict.tool["input_schema"]["properties"]["a"]["description"],
            description_text
        );
    }
}
