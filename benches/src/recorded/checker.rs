//! The leaderboard's check of a call: `simple_function_checker` of its `eval_checker/ast_eval/ast_checker.py`, for Python.

use serde_json::{Map, Value};

use super::python::{Type, equal};

/// Returns whether arguments are a possible answer: each parameter has a possible value, where `""` means that it may be missing.
pub fn is_right(parameters: &Value, arguments: &Map<String, Value>, possible: &Map<String, Value>) -> bool {
    let properties = &parameters["properties"];
    let required = parameters["required"].as_array().into_iter().flatten();
    let is_complete = required
        .filter_map(Value::as_str)
        .all(|name| arguments.contains_key(name));
    let is_possible = |(name, value): (&String, &Value)| {
        let schema = properties.get(name);
        let possible = possible.get(name).and_then(Value::as_array);
        schema
            .zip(possible)
            .is_some_and(|(schema, possible)| is_possible_value(schema, value, possible))
    };
    let may_be_left_out = |values: &Value| {
        values
            .as_array()
            .is_some_and(|values| contains(values, &"".into()))
    };
    is_complete
        && arguments.iter().all(is_possible)
        && possible
            .iter()
            .all(|(name, values)| arguments.contains_key(name) || may_be_left_out(values))
}

fn is_possible_value(schema: &Value, value: &Value, possible: &[Value]) -> bool {
    let word = schema["type"].as_str().unwrap_or_default();
    let Some(expected) = Type::expected(word) else {
        return false;
    };
    let is_list = expected == Type::List;
    let items = is_list.then(|| Type::expected(schema["items"]["type"].as_str().unwrap_or_default()));
    let Some(items) = items.map_or(Some(None), |items| items.map(Some)) else {
        return false;
    };
    // Python converts an integer to a float parameter.
    let float = match (word, value.as_i64()) {
        ("float", Some(integer)) => Value::from(integer as f64),
        _ => value.clone(),
    };
    let Some(kind) = has_type(&float, possible, expected, items) else {
        return false;
    };
    match (kind, expected, items) {
        (Kind::Value, Type::Dict, _) => is_dict(&float, possible),
        (Kind::Value, Type::List, Some(Type::Dict)) => is_list_of_dicts(&float, possible),
        (Kind::Value, Type::Str, _) => {
            let texts: Vec<Value> = possible
                .iter()
                .filter(|it| it.is_string())
                .map(standardized)
                .collect();
            contains(&texts, &standardized(&float))
        }
        (Kind::Value, Type::List, _) => {
            let lists: Vec<Value> = possible.iter().map(standardized_items).collect();
            contains(&lists, &standardized_items(&float))
        }
        _ => contains(possible, &float),
    }
}

/// An argument: a value, or the name of a variable if the possible answers have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    Variable,
}

/// `type_checker`: returns the kind of an argument, or `None` if its type is wrong.
fn has_type(value: &Value, possible: &[Value], expected: Type, items: Option<Type>) -> Option<Kind> {
    let answered = possible
        .iter()
        .find(|answer| answer.as_str() != Some(""))
        .map(Type::of);
    let kind = if answered.is_some_and(|answered| answered != expected) {
        Kind::Variable
    } else {
        Kind::Value
    };
    if Type::of(value) == expected {
        let Some(items) = items else { return Some(kind) };
        let has_items = |answer: &Value| {
            let answers = answer.as_array();
            answers.is_none_or(|answers| {
                let values = value.as_array().into_iter().flatten();
                values
                    .into_iter()
                    .all(|item| has_type(item, answers, items, None).is_some())
            })
        };
        // If the items have a wrong type, the argument is wrong, and no later check changes the result.
        return possible.iter().any(has_items).then_some(kind);
    }
    (answered == Some(Type::of(value))).then_some(Kind::Variable)
}

fn is_dict(value: &Value, possible: &[Value]) -> bool {
    let Some(value) = value.as_object() else {
        return false;
    };
    possible.iter().filter_map(Value::as_object).any(|answer| {
        let is_known = |(key, value): (&String, &Value)| {
            let values = answer.get(key).and_then(Value::as_array);
            values.is_some_and(|values| {
                let values: Vec<Value> = values.iter().map(standardized).collect();
                contains(&values, &standardized(value))
            })
        };
        let is_there = |(key, values): (&String, &Value)| {
            value.contains_key(key)
                || values
                    .as_array()
                    .is_some_and(|values| contains(values, &"".into()))
        };
        value.iter().all(is_known) && answer.iter().all(is_there)
    })
}

fn is_list_of_dicts(value: &Value, possible: &[Value]) -> bool {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    // The `""` of an optional parameter has as many items as an empty list.
    let lists = possible.iter().map(|answer| answer.as_array().map(Vec::as_slice));
    lists.map(Option::unwrap_or_default).any(|answers| {
        let mut pairs = items.iter().zip(answers);
        items.len() == answers.len()
            && pairs.all(|(item, answer)| is_dict(item, std::slice::from_ref(answer)))
    })
}

/// `standardize_string`: removes spaces and some punctuation, in lower case, with double quotes. Other values stay.
fn standardized(value: &Value) -> Value {
    let Value::String(text) = value else {
        return value.clone();
    };
    let kept = text.chars().filter(|character| !" ,./-_*^".contains(*character));
    Value::String(kept.collect::<String>().to_lowercase().replace('\'', "\""))
}

fn standardized_items(list: &Value) -> Value {
    match list {
        Value::Array(items) => items.iter().map(standardized).collect(),
        // Python iterates over the characters of a string, so the `""` of an optional parameter equals an empty list.
        Value::String(text) => text
            .chars()
            .map(|character| standardized(&character.to_string().into()))
            .collect(),
        other => other.clone(),
    }
}

fn contains(values: &[Value], value: &Value) -> bool {
    values.iter().any(|other| equal(value, other))
}
