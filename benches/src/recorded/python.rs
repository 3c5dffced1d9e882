//! Types and equality of Python values, as the leaderboard's checker has them, and Python's `ast.literal_eval`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value};

use crate::others::Program;

/// Type of a value that Python's `json` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    None,
    Bool,
    Int,
    Float,
    Str,
    List,
    Dict,
}

impl Type {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::None,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_f64() => Self::Float,
            Value::Number(_) => Self::Int,
            Value::String(_) => Self::Str,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Dict,
        }
    }

    /// Returns the type that the leaderboard expects for the `type` of a schema.
    pub fn expected(name: &str) -> Option<Self> {
        Some(match name {
            "string" | "any" => Self::Str,
            "integer" => Self::Int,
            "float" => Self::Float,
            "boolean" => Self::Bool,
            "array" | "tuple" => Self::List,
            "dict" => Self::Dict,
            _ => return None,
        })
    }
}

/// Compares like Python's `==`: `1`, `1.0` and `True` are equal.
pub fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => equal_dicts(one, other),
        _ => match (number(one), number(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one == other,
        },
    }
}

fn equal_dicts(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let is_equal = |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| equal(value, other));
    one.len() == other.len() && one.iter().all(is_equal)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(is_true) => Some(f64::from(u8::from(*is_true))),
        _ => value.as_f64(),
    }
}

/// `ast.literal_eval` in a separate process.
pub struct LiteralEval(Program);

impl LiteralEval {
    /// Starts Python. Returns `None`, with a message on standard error, without `python3`.
    pub fn start() -> Option<Self> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("literal_value.py");
        Program::started(Command::new("python3").arg(script), "\"{}\"").map(Self)
    }

    /// Returns the value of a Python literal in the notation of Python's `json`; `None` for other texts and for values that JSON cannot
    /// represent.
    pub fn read(&mut self, text: &str) -> Option<Value> {
        let line = serde_json::to_string(text).expect("a string is valid JSON");
        let answer = self.0.ask(&line).expect("Python is still running");
        let answer: Option<String> =
            serde_json::from_str(&answer).expect("Python answers with a string or null");
        serde_json::from_str(&answer?).ok()
    }
}
