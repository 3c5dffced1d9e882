//! Definitions of a tool with one parameter of any type.

use std::marker::PhantomData;

use serde_json::Value;
use tool_runtime::__private::{
    Declaration, DeclaredTool, Output, Param, Parameter, Respond as _, Tool, WithOutputSchema as _,
};
use tool_runtime::{ToolDefinition, ToolRegistry};

/// Returns the definition of a tool with the parameter `it: T`, described as "The value."
pub fn definition<T: Parameter>() -> ToolDefinition {
    registered::<Takes<T>>()
}

/// Returns the definition of a tool that a registry shows.
pub fn registered<T: Tool>() -> ToolDefinition {
    let mut registry = ToolRegistry::new();
    registry.register::<T>().unwrap();
    registry.tool_definitions()[0].clone()
}

/// Returns the error of a tool with the parameter `it: T`.
pub fn refusal<T: Parameter>() -> String {
    let mut registry = ToolRegistry::new();
    registry.register::<Takes<T>>().unwrap_err().to_string()
}

/// Returns the schema of the parameter `it`.
pub fn schema<T: Parameter>() -> Value {
    definition::<T>().input_schema["properties"]["it"].clone()
}

/// Returns whether `it` is required.
pub fn is_required<T: Parameter>() -> bool {
    let definition = definition::<T>();
    match definition.input_schema.get("required") {
        None => false,
        Some(names) => {
            assert_eq!(*names, serde_json::json!(["it"]));
            true
        }
    }
}

pub struct Takes<T>(PhantomData<fn() -> T>);

impl<T: Parameter> Tool for Takes<T> {
    fn declare() -> DeclaredTool {
        let params = (Param::<T>::unchecked("it", "The value."),);
        let declaration = Declaration::new("takes", "Take a value.");
        DeclaredTool::function(declaration, params, |(_,)| async { Output("").respond() })
            .with_output_schema()
    }
}

/// Compares a parameter's schema with the expected one, with the keys in the order that a model reads.
#[track_caller]
pub fn assert_shown<T: Parameter>(expected: Value) {
    let shown = schema::<T>();
    assert_eq!(
        serde_json::to_string_pretty(&shown).unwrap(),
        serde_json::to_string_pretty(&expected).unwrap(),
        "for {}",
        std::any::type_name::<T>(),
    );
}
