//! Fields of requests, compared with the known fields of an API.

use serde_json::{Map, Value};

/// Checks that a value is an object with only known fields.
pub fn object<'a>(value: &'a Value, place: &str, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let object = value
        .as_object()
        .ok_or(format!("{place}: Input should be an object"))?;
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{place}.{key}: Extra inputs are not permitted")),
        None => Ok(object),
    }
}

pub fn text<'a>(object: &'a Map<String, Value>, place: &str, field: &str) -> Result<&'a str, String> {
    let text = object.get(field).and_then(Value::as_str);
    text.ok_or(format!("{place}.{field}: Input should be a valid string"))
}

pub fn list<'a>(object: &'a Map<String, Value>, place: &str, field: &str) -> Result<&'a [Value], String> {
    let list = object
        .get(field)
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty());
    let list = list.ok_or(format!(
        "{place}.{field}: Input should be a list with at least 1 item"
    ))?;
    Ok(list)
}

/// Checks a name against the pattern that all APIs share.
pub fn name(object: &Map<String, Value>, place: &str, field: &str) -> Result<(), String> {
    let name = text(object, place, field)?;
    let valid = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(valid) {
        return Err(format!(
            "{place}.{field}: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
        ));
    }
    Ok(())
}

/// Returns the tools of a request with their positions.
pub fn tools(request: &Map<String, Value>) -> impl Iterator<Item = (String, &Value)> {
    let tools = request.get("tools").and_then(Value::as_array);
    let tools = tools.into_iter().flatten().enumerate();
    tools.map(|(at, tool)| (format!("tools.{at}"), tool))
}

/// Checks the name of a tool, and that its schema is the schema of an object.
pub fn definition(tool: &Map<String, Value>, place: &str, schema: &str) -> Result<(), String> {
    name(tool, place, "name")?;
    match tool.get(schema).and_then(|schema| schema.get("type")) {
        Some(kind) if kind == "object" => Ok(()),
        _ => Err(format!("{place}.{schema}.type: Input should be 'object'")),
    }
}
