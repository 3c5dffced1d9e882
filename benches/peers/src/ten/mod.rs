//! The same ten tools for everybody, with all that a model should be told of them; their functions do nothing.

pub mod types;
pub mod ours;
#[cfg(feature = "others")]
pub mod llm_tool;
#[cfg(feature = "others")]
pub mod rig;
#[cfg(feature = "others")]
pub mod rmcp;
#[cfg(feature = "others")]
pub mod swiftide;
#[cfg(feature = "others")]
pub mod tools_rs;

use serde::Serialize;
use serde_json::Value;

/// What is sent of a tool, in the same envelope for everybody.
#[derive(Serialize)]
pub struct Definition {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
}

impl Definition {
    pub fn new(name: &str, description: &str, input_schema: impl Serialize) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: serde_json::to_value(input_schema).expect("a schema is JSON"),
        }
    }
}
