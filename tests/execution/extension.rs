//! Values of a call's context as parameters.

use tool_runtime::result::Failure;
use tool_runtime::{Context, Extension, ToolCall, ToolRegistry, tool};
use tower::util::MapRequestLayer;

#[derive(Clone)]
struct User(&'static str);

/// Greet the user.
#[tool]
async fn who_asks(
    /// Greeting.
    greeting: String,
    user: Extension<User>,
) -> String {
    format!("{greeting}, {}", user.0.0)
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<who_asks>().unwrap();
    registry
}

fn call(arguments: &'static str) -> ToolCall {
    ToolCall::new("toolu_01", "who_asks", arguments)
}

const HELLO: &str = r#"{ "greeting": "hello" }"#;

#[tokio::test]
async fn each_call_gets_its_own() {
    let registry = registry();
    for name in ["Ada", "Bo"] {
        let context = Context::new().with_extension(User(name));
        let outcome = registry.call(call(HELLO).with_context(context)).await;
        assert_eq!(outcome.result.text().unwrap(), format!("hello, {name}"));
    }
}

#[tokio::test]
async fn a_layer_can_add_it() {
    let registry = registry().layer(MapRequestLayer::new(|mut call: ToolCall| {
        call.context = call.context.with_extension(User("Ada"));
        call
    }));
    let result = registry.execute_tool("toolu_01", "who_asks", HELLO).await;
    assert_eq!(result.text(), Some("hello, Ada"));
}

/// A missing extension is reported before invalid arguments, since the model cannot change it.
#[tokio::test]
async fn without_it_arguments_do_not_matter() {
    let outcome = registry().call(call(r#"{ "greeting": [] }"#)).await;
    assert_eq!(outcome.failure, Some(Failure::HostValue));
    assert!(outcome.errors.is_empty() && outcome.warnings.is_empty());
    let outcome = registry()
        .call(call(r#"{ "greeting": "hello", "to": "all" }"#))
        .await;
    assert_eq!(outcome.failure, Some(Failure::HostValue));
    assert_eq!(outcome.warnings.len(), 1);
}

/// A prepared call has no context.
#[test]
fn preparing_a_call_requires_no_extension() {
    let request = registry().prepare(call(HELLO));
    assert!(request.errors.is_empty(), "{:?}", request.errors);
    let request = registry().prepare(call(r#"{ "greeting": [] }"#));
    assert_eq!(request.errors.len(), 1);
}
