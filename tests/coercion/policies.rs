//! Precedence of the policies of a call, a tool and a registry.

use tool_runtime::{Policy, ToolCall};

use crate::coercion::typed;

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

/// A repair lists its first 64 changes; the removal of the sentence after the value is not among them.
#[tokio::test]
async fn lossless_refuses_sentences_after_many_repairs() {
    let registry = typed::registry();
    let others: Vec<String> = (0..70).map(|place| format!("'k{place}': 1")).collect();
    let sent = format!("{{'x': 1, {}}}\n\nI hope that this helps.", others.join(", "));
    let call = |policy| registry.call(ToolCall::new("id", "integer", &*sent).with_policy(policy));
    assert!(call(Policy::Lossless).await.result.is_error);
    let lenient = call(Policy::Lenient).await;
    assert!(!lenient.result.is_error);
    let warning = lenient.warnings[0].to_string();
    assert!(
        warning.contains("left out: `I hope that this helps.`"),
        "{warning}"
    );
}
