//! Which policy applies: that of the call, of the tool or of the registry.

use tool_runtime::{Policy, ToolCall};

use crate::typed;

#[tokio::test]
async fn policy_of_the_call_overrides_tool_and_registry() {
    let mut registry = typed::registry().with_policy(Policy::Strict);
    let call = || ToolCall::new("id", "integer", r#"{"x": 3.5}"#);
    assert!(registry.call(call()).await.result.is_error);
    registry
        .set_policy("integer", Policy::Lenient)
        .expect("the tool is there");
    assert!(!registry.call(call()).await.result.is_error);
    assert!(
        registry
            .call(call().with_policy(Policy::Lossless))
            .await
            .result
            .is_error
    );
    assert!(registry.prepare(call()).errors.is_empty());
    assert!(
        !registry
            .prepare(call().with_policy(Policy::Strict))
            .errors
            .is_empty()
    );
}
