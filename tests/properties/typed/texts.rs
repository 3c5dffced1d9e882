//! Random JSON texts for a schema: mostly valid values in any spelling, and some invalid values.

use serde_json::{Map, Value, json};
use tests::random::Random;

use crate::properties::typed::edge_cases::{INTEGERS, KEYS, NUMBER_KEYS, NUMBERS, TEXTS};

/// Writes texts for a schema.
pub struct Writer<'a> {
    random: &'a mut Random,
    /// Definitions for references.
    root: &'a Value,
    /// Average number of values for each invalid one; 0 for none.
    pub spoils: usize,
}

impl<'a> Writer<'a> {
    pub fn new(random: &'a mut Random, root: &'a Value, spoils: usize) -> Self {
        Self { random, root, spoils }
    }

    /// Writes a valid value, or rarely an invalid one.
    pub fn value(&mut self, schema: &Value, depth: usize) -> String {
        if self.is_spoilt() {
            return self.anything(2);
        }
        let schema = self.merged(schema, depth);
        if let Some(constant) = schema.get("const") {
            return self.literal(constant);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let chosen = self.random.pick(values).clone();
            return self.literal(&chosen);
        }
        match self.kind(&schema).as_str() {
            "boolean" => self.random.pick(&["true", "false"]).to_string(),
            "integer" => self.integer(&schema),
            "number" => self.number(&schema),
            "string" => self.string(&schema),
            "array" => self.array(&schema, depth),
            "object" => self.object(&schema, depth),
            "null" => "null".to_owned(),
            _ => self.anything(depth.min(2)),
        }
    }

    fn is_spoilt(&mut self) -> bool {
        self.spoils > 0 && self.random.one_in(self.spoils)
    }

    /// Selects a type that the schema allows.
    fn kind(&mut self, schema: &Map<String, Value>) -> String {
        match schema.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => self.random.pick(kinds).as_str().unwrap_or_default().to_owned(),
            _ if schema.contains_key("properties") => "object".to_owned(),
            _ => String::new(),
        }
    }

    /// Resolves the reference, selects an alternative, and merges all parts of the schema.
    fn merged(&mut self, schema: &Value, depth: usize) -> Map<String, Value> {
        let mut whole = Map::new();
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    let root = self.root;
                    let target = root.pointer(target.trim_start_matches('#'));
                    let target = self.merged(target.unwrap_or(&Value::Null), depth);
                    merge(&mut whole, target);
                }
                ("anyOf" | "oneOf", Value::Array(branches)) => {
                    // At depth, the first alternative without further nesting.
                    let flat = |branch: &&Value| depth == 0 && !branch.to_string().contains("$ref");
                    let branch = branches.iter().find(flat);
                    let branch = branch.unwrap_or_else(|| self.random.pick(branches)).clone();
                    let branch = self.merged(&branch, depth);
                    merge(&mut whole, branch);
                }
                ("allOf", Value::Array(parts)) => {
                    for part in parts {
                        let part = self.merged(part, depth);
                        merge(&mut whole, part);
                    }
                }
                _ => merge(&mut whole, Map::from_iter([(keyword.clone(), value.clone())])),
            }
        }
        whole
    }

    fn integer(&mut self, schema: &Map<String, Value>) -> String {
        let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_i64);
        let small = self
            .random
            .between(bound("minimum").unwrap_or(-300), bound("maximum").unwrap_or(300));
        match self.random.below(16) {
            0 => bound("minimum").unwrap_or(0).to_string(),
            1 => bound("maximum").unwrap_or(127).to_string(),
            2 => self.random.between(-1, 1).to_string(),
            3 if self.spoils > 0 || self.random.one_in(4) => (*self.random.pick(&INTEGERS)).to_owned(),
            4 if self.spoils > 0 => {
                (*self.random.pick(&["-0", "3.0", "1e2", "1.5", "20e-1", "-0.0"])).to_owned()
            }
            5 if self.spoils > 0 => bound("maximum").unwrap_or(255).saturating_add(1).to_string(),
            6 if self.spoils > 0 => bound("minimum").unwrap_or(-128).saturating_sub(1).to_string(),
            _ => small.to_string(),
        }
    }

    fn number(&mut self, schema: &Map<String, Value>) -> String {
        let bound = |keyword: &str| schema.get(keyword).map(Value::to_string);
        match self.random.below(9) {
            0 => bound("minimum").unwrap_or_else(|| "0".to_owned()),
            1 => bound("maximum").unwrap_or_else(|| "-1".to_owned()),
            2 => (*self.random.pick(&NUMBERS)).to_owned(),
            3 => (*self.random.pick(&INTEGERS)).to_owned(),
            4 => {
                let (whole, fraction) = (self.random.below(1000), self.random.draw());
                format!("{whole}.{fraction}")
            }
            5 => format!(
                "{}e{}",
                self.random.between(-99, 99),
                self.random.between(-30, 30)
            ),
            // As many digits as a float can represent, or one more or less.
            6 => {
                let digits = 1_000_000_000_000_000 + self.random.draw() % 99_000_000_000_000_000;
                let (whole, fraction) = (digits / 1_000_000, digits % 1_000_000);
                format!("{whole}.{fraction:06}e{}", self.random.between(-24, 24))
            }
            _ => format!("{}.{}", self.random.below(4), self.random.below(100)),
        }
    }

    fn string(&mut self, schema: &Map<String, Value>) -> String {
        let size = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
        let text = match (format, pattern) {
            ("ipv4", _) => "127.0.0.1".to_owned(),
            (_, "^[a-e]*$") => (*self.random.pick(&["", "a", "bead"])).to_owned(),
            _ => {
                let least = size("minLength").unwrap_or(0);
                let fits = |text: &&&str| {
                    let length = text.chars().count() as u64;
                    length >= least && size("maxLength").is_none_or(|most| length <= most)
                };
                let fitting: Vec<&str> = TEXTS.iter().filter(fits).copied().collect();
                (*self.random.pick(&fitting)).to_owned()
            }
        };
        self.quoted(&text)
    }

    /// Writes a string in any JSON spelling.
    fn quoted(&mut self, text: &str) -> String {
        let escapes_all = self.random.one_in(12);
        let mut written = String::from("\"");
        for letter in text.chars() {
            let as_it_is = !matches!(letter, '"' | '\\' | '\0'..='\x1f');
            match letter {
                '\n' if self.random.one_in(2) => written.push_str("\\n"),
                '"' | '\\' | '/' if !as_it_is && self.random.one_in(2) => written.extend(['\\', letter]),
                _ if as_it_is && !escapes_all => written.push(letter),
                _ => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        written.push_str(&format!("\\u{unit:04x}"));
                    }
                }
            }
        }
        written.push('"');
        written
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> String {
        let size = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Value::as_u64)
                .and_then(|it| usize::try_from(it).ok())
        };
        let prefix = schema
            .get("prefixItems")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let least = size("minItems").unwrap_or(0).max(prefix.len());
        let most = size("maxItems").unwrap_or(least + 3).max(least);
        let mut count = if depth == 0 {
            least
        } else {
            least + self.random.below(most - least + 1)
        };
        if self.is_spoilt() {
            count = (count + 1).saturating_sub(2 * self.random.below(2));
        }
        let any = json!({});
        let items = schema
            .get("items")
            .filter(|items| items.is_object())
            .unwrap_or(&any);
        let written: Vec<String> = (0..count)
            .map(|place| self.value(prefix.get(place).unwrap_or(items), depth.saturating_sub(1)))
            .collect();
        self.between("[", &written, "]")
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> String {
        let mut members = Vec::new();
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let is_required = required.contains(&json!(name));
            if is_required && !self.is_spoilt() || !is_required && depth > 0 && self.random.one_in(2) {
                members.push(self.member(name, property, depth));
            }
            if self.is_spoilt() {
                members.push(self.member(name, property, depth));
            }
        }
        let count = if depth == 0 { 0 } else { self.random.below(4) };
        if let Some(entries) = schema.get("additionalProperties").filter(|it| it.is_object()) {
            self.entries(&mut members, &KEYS, count, entries, depth);
        } else if let Some(patterns) = schema.get("patternProperties").and_then(Value::as_object) {
            for entries in patterns.values() {
                self.entries(&mut members, &NUMBER_KEYS, count, entries, depth);
            }
        } else if schema.get("properties").is_none_or(|it| *it == json!({})) || self.is_spoilt() {
            self.entries(&mut members, &KEYS, count, &json!({}), depth.min(1));
        }
        if self.random.one_in(3) {
            let turn = self.random.below(members.len() + 1);
            members.rotate_left(turn);
        }
        self.between("{", &members, "}")
    }

    /// Writes the entries of a map with different keys, or rarely with equal keys.
    fn entries(
        &mut self,
        members: &mut Vec<String>,
        keys: &[&str],
        count: usize,
        schema: &Value,
        depth: usize,
    ) {
        let start = self.random.below(keys.len());
        for place in 0..count {
            let place = if self.is_spoilt() { start } else { start + place };
            members.push(self.member(keys[place % keys.len()], schema, depth));
        }
    }

    fn member(&mut self, name: &str, schema: &Value, depth: usize) -> String {
        let value = if self.spoils > 0 && self.random.one_in(20) {
            "null".to_owned()
        } else {
            self.value(schema, depth.saturating_sub(1))
        };
        format!("{}{}:{}{value}", self.quoted(name), self.space(), self.space())
    }

    /// Writes any JSON.
    pub fn anything(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 6 } else { 9 }) {
            0 => self.integer(&Map::new()),
            1 => self.number(&Map::new()),
            2 | 3 => self.string(&Map::new()),
            4 => (*self.random.pick(&["true", "false"])).to_owned(),
            5 => "null".to_owned(),
            6 | 7 => self.array(&Map::new(), depth - 1),
            _ => self.object(&Map::new(), depth - 1),
        }
    }

    fn literal(&mut self, value: &Value) -> String {
        match value {
            Value::String(text) => self.quoted(text),
            other => other.to_string(),
        }
    }

    pub fn between(&mut self, open: &str, inside: &[String], close: &str) -> String {
        let separator = format!("{},{}", self.space(), self.space());
        format!(
            "{open}{}{}{}{close}",
            self.space(),
            inside.join(&separator),
            self.space()
        )
    }

    fn space(&mut self) -> &'static str {
        if self.random.one_in(6) {
            ["", " ", "\n\t", "  "][self.random.below(4)]
        } else {
            ""
        }
    }
}

/// Merges the properties of two schemas; other keywords come from the later schema.
fn merge(whole: &mut Map<String, Value>, part: Map<String, Value>) {
    for (keyword, value) in part {
        match (whole.get_mut(&keyword), value) {
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                known.extend(more)
            }
            (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => known.extend(more),
            (_, value) => {
                whole.insert(keyword, value);
            }
        }
    }
}
