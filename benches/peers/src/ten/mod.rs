//! Definitions of ten tools for all contestants, with all facts that a model should know. The functions do nothing.

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

/// Definition of a tool in the form that is measured for all contestants.
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
