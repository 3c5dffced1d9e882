//! Definitions are equal in every process, byte for byte.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::tool;

use crate::definitions::declared::registered;

#[derive(PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
enum Size {
    Small,
    Medium,
    Large,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", default)]
struct Settings {
    /// Selection by name.
    labels: HashMap<String, u8>,
    /// Selection by size.
    prices: HashMap<Size, u8>,
    /// All tags.
    tags: HashSet<String>,
    /// Whatever else there is.
    #[serde(flatten)]
    rest: HashMap<String, Value>,
}

impl Default for Settings {
    fn default() -> Self {
        let names = [
            "delta", "alpha", "charlie", "bravo", "echo", "golf", "foxtrot", "hotel",
        ];
        Self {
            labels: names.map(str::to_owned).into_iter().zip(1..).collect(),
            prices: [(Size::Large, 3), (Size::Small, 1), (Size::Medium, 2)].into(),
            tags: names.map(str::to_owned).into(),
            rest: names.map(|name| (format!("x-{name}"), Value::Null)).into(),
        }
    }
}

/// Configure it.
#[tool(input_examples = [{ "settings": Settings::default(), "tags": Settings::default().tags }])]
async fn configure(
    /// The settings.
    #[arg(default = Settings::default(), example = Settings::default())]
    settings: Settings,
    /// All tags.
    #[arg(default = Settings::default().tags)]
    tags: HashSet<String>,
) {
    let _ = (settings, tags);
}

/// Each `HashMap` has another order, even in one process.
#[test]
fn maps_and_sets_in_defaults_and_examples_are_sorted() {
    let shown = || {
        let mut registry = tool_runtime::ToolRegistry::new().with_defaults_in_schemas(true);
        registry.register::<configure>().unwrap();
        serde_json::to_string(&registry.tool_definitions()[0]).unwrap()
    };
    let first = shown();
    for _ in 0..8 {
        assert_eq!(shown(), first);
    }
    let labels =
        r#""labels":{"alpha":2,"bravo":4,"charlie":3,"delta":1,"echo":5,"foxtrot":7,"golf":6,"hotel":8}"#;
    let prices = r#""prices":{"Small":1,"Medium":2,"Large":3}"#;
    let tags = r#""tags":["alpha","bravo","charlie","delta","echo","foxtrot","golf","hotel"]"#;
    let rest = r#""x-alpha":null,"x-bravo":null,"#;
    for part in [labels, prices, tags, rest] {
        assert!(first.matches(part).count() >= 3, "{part} in {first}");
    }
    assert_eq!(registered::<configure>().name, "configure");
}
