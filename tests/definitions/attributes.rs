//! Attributes that add to the schema of a type, and that override it.

use serde_json::json;
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::tool;

use crate::definitions::declared::registered;

/// Effort of the search.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Effort {
    /// One look.
    Low,
    /// Several looks.
    Middle,
    /// Unlimited effort.
    High,
}

type Maybe<T> = Option<T>;

/// Take many values.
#[tool]
async fn many(
    /// A byte.
    #[arg(range = 1..10)]
    byte: u8,
    /// A count.
    #[arg(default = 100, range = 1..=10_000)]
    count: u32,
    /// Number within limits.
    #[arg(values = [Effort::Middle, Effort::Low], case_sensitive)]
    effort: Option<Effort>,
    /// A name.
    #[arg(length = ..=20, pattern = "^[a-z]", not_blank, example = "ada")]
    name: Maybe<String>,
    /// An offset.
    #[arg(default = None)]
    offset: Option<i64>,
    /// The most.
    #[arg(default = Effort::High, strict)]
    most: Effort,
) {
    let _ = (byte, count, effort, name, offset, most);
}

#[test]
fn attributes_and_types_are_merged_into_one_schema() {
    let schema = registered::<many>().input_schema;
    let expected = json!({
        "type": "object",
        "properties": {
            "byte": { "type": "integer", "description": "A byte.", "minimum": 1, "exclusiveMaximum": 10 },
            "count": { "type": "integer", "description": "A count.", "minimum": 1, "maximum": 10000 },
            "effort": {
                "type": "string",
                "description": "Number within limits.\n- `middle`: Several looks.\n- `low`: One look.",
                "enum": ["middle", "low"],
            },
            "name": {
                "type": "string", "description": "A name. Must not be blank.",
                "maxLength": 20, "pattern": "^[a-z]", "examples": ["ada"],
            },
            "offset": { "type": "integer", "description": "An offset." },
            "most": {
                "type": "string",
                "description": "The most.\n- `low`: One look.\n- `middle`: Several looks.\n- `high`: Unlimited effort.",
                "enum": ["low", "middle", "high"],
            },
        },
        "required": ["byte"],
    });
    assert_eq!(
        serde_json::to_string_pretty(&schema).unwrap(),
        serde_json::to_string_pretty(&expected).unwrap()
    );
}
