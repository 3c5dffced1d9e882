//! Arguments that are given away: what conforms is moved out of them, what is refused is told as of borrowed ones.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::schemars::JsonSchema;
use tool_runtime::{State, ToolCall, ToolDefinition, ToolRegistry, tool};

/// Where texts lie that tools were given.
#[derive(Default)]
struct Places(Mutex<Vec<usize>>);

impl Places {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.as_ptr().addr());
    }

    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Takes any text but one, which no schema tells.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Picky(String);

impl TryFrom<String> for Picky {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match &*text {
            "worst" => Err("anything but the worst, please"),
            _ => Ok(Self(text)),
        }
    }
}

/// Take texts in several ways.
#[tool]
async fn take(
    /// A text.
    first: String,
    /// What may be refused.
    picky: Picky,
    /// A text that may be absent.
    #[arg(default = "none")]
    second: String,
    places: State<Places>,
) -> String {
    places.note(&first);
    places.note(&second);
    format!("{first}, {}, {second}", picky.0)
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_state(Places::default());
    registry.register::<take>().unwrap();
    registry
}

fn arguments() -> Value {
    json!({ "second": "two words", "first": "a text", "picky": "best" })
}

fn place(arguments: &Value, name: &str) -> usize {
    arguments[name].as_str().unwrap().as_ptr().addr()
}

#[tokio::test]
async fn texts_are_moved() {
    let registry = registry();
    let places = registry.state::<Places>().unwrap();
    let sent = arguments();
    let before = vec![place(&sent, "first"), place(&sent, "second")];
    let result = registry.execute_tool("id", "take", sent).await;
    assert_eq!(result.content.as_text(), Some("a text, best, two words"));
    assert_eq!(places.take(), before, "by execute_tool");

    let sent = arguments();
    let before = vec![place(&sent, "first"), place(&sent, "second")];
    registry.call(ToolCall::new("id", "take", sent)).await;
    assert_eq!(places.take(), before, "by call");
}

#[tokio::test]
async fn what_is_lent_stays_as_it_is() {
    let registry = registry();
    let sent = arguments();
    let result = registry.execute_tool("id", "take", &sent).await;
    assert_eq!(result.content.as_text(), Some("a text, best, two words"));
    assert_eq!(sent, arguments());
}

#[tokio::test]
async fn a_refusal_is_told_as_of_lent_arguments() {
    let registry = registry();
    let refused = [
        json!({ "first": "a text", "picky": "worst", "second": "two words" }),
        json!({ "first": "a text", "picky": "worst", "second": 2 }),
        json!({ "first": 1, "picky": "worst" }),
        json!({ "first": "a text", "second": "two words" }),
        json!({ "first": "a text", "picky": "best", "second": "two words", "third": true }),
    ];
    for sent in refused {
        let lent = registry.execute_tool("id", "take", &sent).await;
        let given = registry.execute_tool("id", "take", sent.clone()).await;
        assert_eq!(given, lent, "{sent}");
        assert_eq!(given.is_error, sent.get("third").is_none(), "{sent}: {given:?}");
    }
}

#[tokio::test]
async fn dynamic_tools_are_given_the_object_itself() {
    let moved = Arc::new(Places::default());
    let seen = Arc::clone(&moved);
    let mut registry = ToolRegistry::new();
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    registry
        .register_dynamic(
            ToolDefinition::new("take", "Take a text.", schema),
            move |arguments: Value, _| {
                seen.note(arguments["text"].as_str().unwrap());
                async move { arguments }
            },
        )
        .unwrap();
    let sent = json!({ "text": "a text" });
    let before = vec![place(&sent, "text")];
    let lent = registry.execute_tool("id", "take", &sent).await;
    assert_ne!(moved.take(), before);
    let given = registry.execute_tool("id", "take", sent).await;
    assert_eq!(moved.take(), before);
    assert_eq!(given, lent);
}
