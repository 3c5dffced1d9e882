//! Arguments in packaging that names a tool are accepted only by that tool.

use serde_json::{Value, json};
use tests::dynamic_tool::{self, NAME};
use tool_runtime::issue::Code;
use tool_runtime::{Policy, ToolRegistry};

fn registry() -> ToolRegistry {
    dynamic_tool::registry(&json!({ "type": "object", "properties": { "city": { "type": "string" } } }))
}

/// Forms in which models name the tool.
fn packagings(name: &str) -> [String; 5] {
    let arguments = r#"{"city": "Paris"}"#;
    [
        format!("[TOOL_CALLS]{name}[ARGS]{arguments}"),
        format!("[TOOL_CALLS]{name}{arguments}"),
        format!(
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>"
        ),
        format!("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>"),
        format!("<function={name}>{arguments}</function>"),
    ]
}

#[test]
fn reads_arguments_whose_packaging_names_the_tool() {
    for name in [NAME.to_owned(), NAME.to_uppercase(), format!("functions.{NAME}")] {
        for text in packagings(&name) {
            for policy in [Policy::Lenient, Policy::Lossless] {
                let request = dynamic_tool::prepare(&registry(), &*text, policy);
                assert_eq!(request.errors, [], "{text}");
                assert_eq!(
                    Value::Object(request.arguments),
                    json!({ "city": "Paris" }),
                    "{text}"
                );
                let [warning] = &*request.warnings else {
                    panic!("{text}: {:?}", request.warnings)
                };
                assert_eq!(warning.code, Code::JsonRepaired, "{text}");
            }
        }
    }
}

#[test]
fn rejects_arguments_whose_packaging_names_another_tool() {
    for text in packagings("delete_city") {
        for policy in [Policy::Lenient, Policy::Lossless] {
            let request = dynamic_tool::prepare(&registry(), &*text, policy);
            let [error] = &*request.errors else {
                panic!("{text}: {:?}", request.errors)
            };
            assert_eq!((error.code, &*error.path), (Code::ToolNameMismatch, ""), "{text}");
            assert_eq!(error.subject(), Some("delete_city"), "{text}");
            let wanted = format!(
                "expected the parameters of `{NAME}`, got a call of `delete_city` as text; send the parameters of `{NAME}` \
                 alone, or call `delete_city` itself"
            );
            assert_eq!(error.message, wanted);
        }
    }
}

#[test]
fn accepts_any_name_in_packaging_where_the_tool_has_none() {
    for text in packagings("delete_city") {
        let request = dynamic_tool::prepare(&registry().without_name_check(), &*text, Policy::Lenient);
        assert_eq!(request.errors, [], "{text}");
        assert_eq!(
            Value::Object(request.arguments),
            json!({ "city": "Paris" }),
            "{text}"
        );
    }
}
