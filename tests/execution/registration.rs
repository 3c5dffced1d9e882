//! What a registry takes and refuses, and its subsets.

use tool_runtime::{RegistryError, ToolRegistry};

use crate::tools::{definition, registry};

#[test]
fn a_registry_is_clone_send_and_sync() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<ToolRegistry>();
}

#[test]
fn the_same_name_twice_is_refused_and_changes_nothing() {
    let mut registry = registry();
    let before = registry.tool_definitions().len();
    let error = registry
        .register_dynamic(definition("answer"), async |_, _| "43")
        .unwrap_err();
    assert!(matches!(&error, RegistryError::Duplicate { tool } if tool == "answer"));
    assert_eq!(
        error.to_string(),
        "a tool named `answer` is already registered; give one of the two another `name`"
    );
    assert_eq!(registry.tool_definitions().len(), before);
}

#[test]
fn a_name_that_the_api_would_refuse_is_refused() {
    for name in ["", "has space", "emoji🦀", "dot.ted", &"x".repeat(65)] {
        let error = ToolRegistry::new()
            .register_dynamic(definition(name), async |_, _| "")
            .unwrap_err();
        assert!(matches!(error, RegistryError::InvalidName(_)), "{name}");
    }
    assert!(
        ToolRegistry::new()
            .register_dynamic(definition(&"x".repeat(64)), async |_, _| "")
            .is_ok()
    );
}

#[tokio::test]
async fn a_clone_does_not_see_later_changes() {
    let mut registry = registry();
    let clone = registry.clone();
    let definition = registry.unregister("answer").unwrap();
    assert_eq!(definition.name, "answer");
    assert!(registry.unregister("answer").is_none());
    assert!(registry.execute_tool("1", "answer", "{}").await.is_error);
    assert_eq!(clone.execute_tool("1", "answer", "{}").await.text(), Some("42"));
}

#[tokio::test]
async fn a_subset_has_what_it_names_in_the_order_of_registration() {
    let subset = registry().only(["hang", "answer", "unheard_of"]);
    let names: Vec<_> = subset
        .tool_definitions()
        .into_iter()
        .map(|definition| definition.name.as_str())
        .collect();
    assert_eq!(names, ["answer", "hang"]);
    assert_eq!(subset.execute_tool("1", "answer", "{}").await.text(), Some("42"));
    assert_eq!(
        subset.execute_tool("1", "fail", "{}").await.text(),
        Some("Tool 'fail' not found")
    );
}
