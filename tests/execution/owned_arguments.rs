//! Owned arguments: valid values are moved out of them, and their issues equal the issues of borrowed arguments.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool_runtime::result::Failure;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::{RawArguments, State, ToolCall, ToolDefinition, ToolOutcome, ToolRegistry, tool};
use tower::limit::ConcurrencyLimitLayer;

/// Addresses of the strings that tools received.
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

/// A string type that rejects one value, which its schema does not mention.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Picky(String);

impl TryFrom<String> for Picky {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match &*text {
            "worst" => Err("anything but the worst, please"),
            "panic" => panic!("as it was told to"),
            _ => Ok(Self(text)),
        }
    }
}

/// Accepts texts in several types.
#[tool]
async fn take(
    /// A text.
    first: String,
    /// Text that the type may reject.
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
async fn owned_strings_are_moved() {
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
async fn borrowed_arguments_are_unchanged() {
    let registry = registry();
    let sent = arguments();
    let result = registry.execute_tool("id", "take", &sent).await;
    assert_eq!(result.content.as_text(), Some("a text, best, two words"));
    assert_eq!(sent, arguments());
}

/// Arguments that are rejected or changed, or that contain unknown keys.
fn troublesome() -> [Value; 6] {
    [
        json!({ "first": "a text", "picky": "worst", "second": "two words" }),
        json!({ "first": "a text", "picky": "worst", "second": 2 }),
        json!({ "first": 1, "picky": "worst" }),
        json!({ "first": "a text", "second": "two words" }),
        json!({ "first": 1, "picky": "best" }),
        json!({ "first": "a text", "picky": "best", "third": true }),
    ]
}

/// Returns all fields except the duration.
fn without_duration(outcome: ToolOutcome) -> impl PartialEq + Debug {
    let ToolOutcome {
        result,
        warnings,
        errors,
        failure,
        ..
    } = outcome;
    (result, warnings, errors, failure)
}

#[tokio::test]
async fn issues_are_the_same_for_owned_and_borrowed_arguments() {
    let plain = registry().with_warnings_in_results(true);
    let layered = plain.clone().layer(ConcurrencyLimitLayer::new(1));
    for sent in troublesome() {
        let call = |input: RawArguments| ToolCall::new("id", "take", input);
        let from_text = plain.call(call(sent.to_string().into())).await;
        assert_eq!(
            from_text.errors.is_empty(),
            !from_text.result.is_error,
            "{from_text:?}"
        );
        let lent = plain.execute_tool("id", "take", &sent).await;
        assert_eq!(lent, from_text.result, "{sent}");
        let expected = without_duration(from_text);
        assert_eq!(
            without_duration(plain.call(call(sent.clone().into())).await),
            expected
        );
        assert_eq!(
            without_duration(layered.call(call(sent.clone().into())).await),
            expected
        );
        for outcome in plain
            .execute_all([(); 2].map(|()| call(sent.clone().into())))
            .await
        {
            assert_eq!(without_duration(outcome), expected);
        }
    }
}

#[tokio::test]
async fn panic_in_a_type_leaves_no_issues() {
    let call = ToolCall::new("id", "take", json!({ "picky": "panic", "second": 2 }));
    let outcome = registry().with_warnings_in_results(true).call(call).await;
    assert_eq!(outcome.failure, Some(Failure::Panicked));
    assert_eq!((outcome.warnings, outcome.errors), (vec![], vec![]));
}

#[tokio::test]
async fn rejects_deep_arguments_behind_layers() {
    let layered = registry().layer(ConcurrencyLimitLayer::new(1));
    let deep = (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let sent = RawArguments::from(Value::Object(Map::from_iter([("first".to_owned(), deep)])));
    let expected = registry().execute_tool("id", "take", &sent).await;
    assert!(expected.is_error);
    assert_eq!(layered.execute_tool("id", "take", &sent).await, expected);
    assert_eq!(layered.execute_tool("id", "take", sent.clone()).await, expected);
}

#[tokio::test]
async fn dynamic_tools_get_the_object_itself() {
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
