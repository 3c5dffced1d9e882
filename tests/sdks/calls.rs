//! Calls with correct and incorrect arguments of models.

use serde_json::{Map, Value, json};
use tests::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Valid JSON.
    Json,
    /// `{}`, for a tool without arguments.
    Nothing,
    /// A Python dict.
    Python,
    /// JSON after an empty object.
    Prefixed,
    /// A Python dict after an empty object.
    PrefixedPython,
    /// Text without a plausible reading.
    Refused,
    /// JSON with an error at its end.
    LateRefused,
    /// A Python dict for a tool whose calls are not repaired.
    Foreign,
    /// JSON that was cut off at the end of the output.
    CutJson,
    /// A Python dict that was cut off at the end of the output.
    CutPython,
}

impl Kind {
    pub const ALL: [Self; 10] = [
        Self::Json,
        Self::Nothing,
        Self::Python,
        Self::Prefixed,
        Self::PrefixedPython,
        Self::Refused,
        Self::LateRefused,
        Self::Foreign,
        Self::CutJson,
        Self::CutPython,
    ];

    pub fn is_cut(self) -> bool {
        matches!(self, Self::CutJson | Self::CutPython)
    }

    pub fn is_refused(self) -> bool {
        matches!(self, Self::Refused | Self::LateRefused)
    }
}

#[derive(Debug, Clone)]
pub struct Call {
    pub kind: Kind,
    pub id: String,
    pub name: &'static str,
    /// Text of the model.
    pub arguments: String,
    /// Intended arguments, if there is one plausible reading.
    pub meant: Option<Value>,
}

impl Call {
    pub fn new(kind: Kind, id: String, random: &mut Random) -> Self {
        let meant = match kind {
            Kind::Nothing => Value::Object(Map::new()),
            _ => todos(random),
        };
        let json = match random.below(2) {
            0 => meant.to_string(),
            _ => serde_json::to_string_pretty(&meant).unwrap(),
        };
        let arguments = match kind {
            Kind::Json | Kind::Nothing => json,
            Kind::Python | Kind::Foreign => python(&meant),
            Kind::Prefixed => format!("{{}}{json}"),
            Kind::PrefixedPython => format!("{{}}{}", python(&meant)),
            Kind::Refused => python(&meant).replacen(": ", ": @", 1),
            Kind::LateRefused => format!("{}, @}}", &json[..json.len() - 1].trim_end()),
            Kind::CutJson => cut(&json, random),
            Kind::CutPython => cut(&python(&meant), random),
        };
        Self {
            kind,
            id,
            name: if kind == Kind::Foreign {
                "Bash"
            } else {
                "TodoWrite"
            },
            meant: (!kind.is_cut() && !kind.is_refused() && kind != Kind::Foreign).then_some(meant),
            arguments,
        }
    }
}

/// Builds a list of tasks with characters that complicate parsing.
fn todos(random: &mut Random) -> Value {
    let contents = [
        "创建项目结构和主程序文件",
        "it's done",
        "say \"hi\"",
        "C:\\new\\temp",
        "two\nlines\tand 😀",
        "{'a': [1, None]}",
        "",
        "# no comment, é\u{2028}",
    ];
    let todos: Vec<Value> = (0..=random.below(3))
        .map(|at| {
            json!({
                "content": *random.pick(&contents),
                "id": at.to_string(),
                "status": *random.pick(&["pending", "in_progress", "completed"]),
                "done": *random.pick(&[Value::Null, json!(true), json!(false), json!(-12), json!(0.5)]),
            })
        })
        .collect();
    json!({ "todos": todos })
}

/// Cuts the text at a position in its middle.
fn cut(text: &str, random: &mut Random) -> String {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    text[..*random.pick(&places)].to_owned()
}

/// Writes a value like Python's `repr`.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}: {}", python_string(key), python(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::from(quote);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\\' => out.push_str("\\\\"),
            _ if character == quote => out.extend(['\\', quote]),
            _ => out.push(character),
        }
    }
    out.push(quote);
    out
}
