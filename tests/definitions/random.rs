//! Random schemas: a strict form is in the published subset, or does not exist.

use serde_json::{Map, Value, json};
use tool_runtime::ToolDefinition;
use tool_runtime::format::anthropic;
use tool_runtime::format::openai::chat;

use crate::definitions::subset::{anthropic_violations, violations};

#[test]
fn strict_forms_of_random_schemas_conform_to_their_subset() {
    let mut counts = [0; 2];
    for seed in 1..=4_000 {
        let mut random = Random(seed);
        let schema = random.root();
        let definition = ToolDefinition::new("any", "Any.", schema.clone());
        if let Ok(strict) = chat::strict_tool(&definition) {
            counts[0] += 1;
            let found = violations(&strict.tool["function"]["parameters"]);
            assert_eq!(found, [""; 0], "of {schema:#}\nas {:#}", strict.tool);
        }
        if let Ok(strict) = anthropic::strict_tool(&definition) {
            counts[1] += 1;
            let found = anthropic_violations(&strict.tool["input_schema"]);
            assert_eq!(found, [""; 0], "of {schema:#}\nas {:#}", strict.tool);
        }
    }
    assert!(
        counts.iter().all(|count| *count > 500),
        "too few had a strict form: {counts:?}"
    );
}

/// A small deterministic random generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (self.0 >> 29) ^ 0x5DEE_CE66;
        (self.0 >> 33) % limit
    }

    fn root(&mut self) -> Value {
        let mut root = self.object(3);
        root["$defs"] = json!({ "A": self.schema(2), "B": self.schema(1) });
        root
    }

    fn schema(&mut self, depth: u64) -> Value {
        let mut schema = match self.below(if depth == 0 { 6 } else { 12 }) {
            0 => json!({ "type": "string" }),
            1 => json!({ "type": "integer" }),
            2 => json!({ "type": (["number", "boolean", "null"][self.index(3)]) }),
            3 => json!({ "type": ["string", "null"] }),
            4 => json!({ "enum": (["a", "b", "c"][self.index(3)..]) }),
            5 => json!({ "const": (self.below(3)) }),
            6 => json!({ "type": "array", "items": self.schema(depth - 1) }),
            7 | 8 => self.object(depth - 1),
            9 => {
                json!({ (["oneOf", "anyOf"][self.index(2)]): [self.schema(depth - 1), self.schema(depth - 1)] })
            }
            10 => json!({ "$ref": (["#/$defs/A", "#/$defs/B", "#"][self.index(3)]) }),
            _ => match self.below(6) {
                0 => json!({}),
                1 => json!({ "type": ["string", "integer", "array"], "items": self.schema(depth - 1) }),
                2 => json!({ "enum": ["a", 1, null, 2.5] }),
                3 => json!({ "allOf": [self.schema(depth - 1)] }),
                4 => json!({ "type": "array", "prefixItems": [self.schema(depth - 1)] }),
                _ => json!({ "type": "object", "additionalProperties": self.schema(depth - 1) }),
            },
        };
        for _ in 0..self.below(3) {
            let (keyword, value) = self.constraint();
            schema[keyword] = value;
        }
        schema
    }

    fn object(&mut self, depth: u64) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for name in ["kind", "a", "b/c", "~d"] {
            if self.below(2) == 0 {
                properties.insert(name.to_owned(), self.schema(depth));
                if self.below(2) == 0 {
                    required.push(name);
                }
            }
        }
        json!({ "type": "object", "properties": properties, "required": required })
    }

    fn constraint(&mut self) -> (&'static str, Value) {
        let all = [
            ("description", json!("Described.")),
            ("minimum", json!(1)),
            ("exclusiveMaximum", json!(9.5)),
            ("multipleOf", json!(3)),
            ("minLength", json!(1)),
            ("maxLength", json!(2)),
            ("pattern", json!("^(?=x)\\b")),
            ("pattern", json!("^[a-z]+$")),
            ("format", json!("uri")),
            ("format", json!("uuid")),
            ("minItems", json!(2)),
            ("maxItems", json!(4)),
            ("uniqueItems", json!(true)),
            ("default", json!("a")),
            ("examples", json!(["a"])),
            ("title", json!("T")),
            ("deprecated", json!(true)),
            ("not", json!({ "const": 1 })),
            ("minProperties", json!(1)),
            ("enum", json!(["a", 1, {}])),
            ("const", json!([1])),
            ("required", json!(["a", "kind"])),
            ("allOf", json!([{ "type": "string" }])),
            ("oneOf", json!([{ "type": "boolean" }, { "type": "integer" }])),
        ];
        let index = self.index(all.len());
        all[index].clone()
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }
}
