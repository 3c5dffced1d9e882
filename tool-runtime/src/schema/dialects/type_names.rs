//! Type names of other languages and APIs: `float`, `String`, `OBJECT`, `dict`, `List<int>`.

use serde_json::{Map, Value, json};

use crate::schema::compiled::types::NAMES;

/// Returns the JSON Schema keywords for a type name. The map is empty if the type allows every value. Returns `None` if the name is
/// unknown.
pub(super) fn read(type_name: &str) -> Option<Map<String, Value>> {
    read_nested(type_name, MAX_NESTING)
}

/// Returns the JSON type of a type name, such as `number` for `FLOAT`. Returns `None` if the name is unknown, or if its schema has more
/// than one type or further keywords.
pub(super) fn read_name(type_name: &str) -> Option<String> {
    let keywords = read(type_name)?;
    match keywords.get("type")? {
        Value::String(name) if keywords.len() == 1 => Some(name.clone()),
        _ => None,
    }
}

/// Maximum depth of type arguments.
const MAX_NESTING: usize = 8;

fn read_nested(type_name: &str, nesting: usize) -> Option<Map<String, Value>> {
    let nesting = nesting.checked_sub(1)?;
    let type_name = type_name.trim();
    if let Some(item) = type_name.strip_suffix("[]") {
        return Some(array(read_nested(item, nesting)?));
    }
    if let Some(inner) = type_name.strip_suffix('?') {
        return Some(nullable(read_nested(inner, nesting)?));
    }
    if let Some(alternatives) = split(type_name, '|') {
        return union(&alternatives, nesting);
    }
    // Python's `repr` of a class: `<class 'float'>`.
    if let Some(class) = type_name
        .strip_prefix("<class '")
        .and_then(|type_name| type_name.strip_suffix("'>"))
    {
        return read_nested(class, nesting);
    }
    let Some(open) = type_name.find(['<', '[']) else {
        return keywords_of_type(&last_segment(type_name).to_ascii_lowercase());
    };
    let (name, arguments) = type_name.split_at(open);
    let arguments = [('<', '>'), ('[', ']')]
        .into_iter()
        .find_map(|(open, close)| arguments.strip_prefix(open)?.strip_suffix(close))?;
    let arguments = split(arguments, ',').unwrap_or_else(|| vec![arguments]);
    generic(&last_segment(name).to_ascii_lowercase(), &arguments, nesting)
}

/// Returns the last segment of a path: `String` of `java.lang.String`.
fn last_segment(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the keywords for a type name without arguments. The name must be in lower case.
fn keywords_of_type(name: &str) -> Option<Map<String, Value>> {
    if NAMES.iter().any(|(known, _)| *known == name) {
        return Some(typed(name));
    }
    let format = |format: &str| object(json!({ "type": "string", "format": format }));
    Some(match name {
        "str" | "text" | "char" | "character" => typed("string"),
        "int" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16" | "uint32" | "uint64"
        | "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "isize" | "usize" | "long"
        | "short" | "bigint" | "biginteger" => typed("integer"),
        "float" | "float32" | "float64" | "f32" | "f64" | "double" | "decimal" | "bigdecimal" | "real"
        | "num" | "numeric" => typed("number"),
        "bool" => typed("boolean"),
        "dict" | "dictionary" | "map" | "hashmap" | "hashtable" | "record" | "mapping" | "struct" => {
            typed("object")
        }
        "list" | "arraylist" | "linkedlist" | "tuple" | "set" | "hashset" | "vec" | "vector" | "sequence"
        | "queue" | "deque" | "stack" => typed("array"),
        "none" | "nonetype" | "nil" => typed("null"),
        "any" | "mixed" | "unknown" => Map::new(),
        "date" | "time" | "date-time" | "uuid" | "email" | "uri" => format(name),
        "datetime" | "date_time" | "timestamp" => format("date-time"),
        "url" => format("uri"),
        _ => return None,
    })
}

/// Returns the keywords for a type with arguments. If the argument of a list or a map is unknown, such as the name of a
/// class, the items of the array or the values of the object are unconstrained.
fn generic(name: &str, arguments: &[&str], nesting: usize) -> Option<Map<String, Value>> {
    let read = |argument: &str| read_nested(argument, nesting).unwrap_or_default();
    let outer = match name {
        "array" => "list",
        "optional" | "option" | "nullable" => "optional",
        "union" => "union",
        _ => match keywords_of_type(name)?.get("type")?.as_str()? {
            "array" if name != "tuple" => "list",
            "array" => return Some(typed("array")),
            "object" => "map",
            _ => return None,
        },
    };
    match (outer, arguments) {
        ("list", [item]) => Some(array(read(item))),
        ("map", [_, value]) => {
            let mut keywords = typed("object");
            let value = read(value);
            if !value.is_empty() {
                keywords.insert("additionalProperties".to_owned(), value.into());
            }
            Some(keywords)
        }
        ("optional", [inner]) => Some(nullable(read_nested(inner, nesting)?)),
        ("union", alternatives) => union(alternatives, nesting),
        _ => None,
    }
}

/// Returns the keywords for a union. Each alternative must have the keyword `type` and no other keyword.
fn union(alternatives: &[&str], nesting: usize) -> Option<Map<String, Value>> {
    let mut names: Vec<Value> = Vec::new();
    for alternative in alternatives {
        let keywords = read_nested(alternative, nesting)?;
        let name = keywords.get("type").filter(|_| keywords.len() == 1)?;
        let several = name.as_array().map_or(std::slice::from_ref(name), Vec::as_slice);
        for name in several {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    Some(match names.as_slice() {
        [single] => object(json!({ "type": single })),
        _ => object(json!({ "type": names })),
    })
}

/// Adds `null` to the types.
fn nullable(mut keywords: Map<String, Value>) -> Map<String, Value> {
    let Some(types) = keywords.get_mut("type") else {
        return keywords;
    };
    let mut names = match types.take() {
        Value::Array(names) => names,
        name => vec![name],
    };
    if !names.iter().any(|name| name == "null") {
        names.push("null".into());
    }
    *types = names.into();
    keywords
}

fn array(item: Map<String, Value>) -> Map<String, Value> {
    let mut keywords = typed("array");
    if !item.is_empty() {
        keywords.insert("items".to_owned(), item.into());
    }
    keywords
}

fn typed(name: &str) -> Map<String, Value> {
    object(json!({ "type": name }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(keywords) => keywords,
        _ => Map::new(),
    }
}

/// Splits at separators outside of brackets; `None` if there is no such separator.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '[' => open += 1,
            '>' | ']' => open = open.saturating_sub(1),
            _ if c == separator && open == 0 => {
                parts.push(text.get(start..at)?);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(text.get(start..)?);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{read, read_name};

    #[test]
    fn reads_type_names_of_other_languages() {
        for (type_name, expected) in [
            ("string", json!({ "type": "string" })),
            ("String", json!({ "type": "string" })),
            ("OBJECT", json!({ "type": "object" })),
            ("java.lang.String", json!({ "type": "string" })),
            ("<class 'float'>", json!({ "type": "number" })),
            ("int64", json!({ "type": "integer" })),
            ("NoneType", json!({ "type": "null" })),
            ("any", json!({})),
            ("url", json!({ "type": "string", "format": "uri" })),
            (
                "string[]",
                json!({ "type": "array", "items": { "type": "string" } }),
            ),
            (
                "typing.List[int]",
                json!({ "type": "array", "items": { "type": "integer" } }),
            ),
            ("List<Station>", json!({ "type": "array" })),
            ("Tuple[int, str]", json!({ "type": "array" })),
            (
                "Map<String, List<Float>>",
                json!({ "type": "object", "additionalProperties": { "type": "array", "items": { "type": "number" } } }),
            ),
            ("Dict[str, Any]", json!({ "type": "object" })),
            ("Optional[str]", json!({ "type": ["string", "null"] })),
            ("int?", json!({ "type": ["integer", "null"] })),
            ("str | None", json!({ "type": ["string", "null"] })),
            ("Union[int, float]", json!({ "type": ["integer", "number"] })),
        ] {
            assert_eq!(read(type_name).map(Value::Object), Some(expected), "{type_name}");
        }
    }

    #[test]
    fn rejects_unknown_type_names() {
        let nested = format!("{}str{}", "List<".repeat(9), ">".repeat(9));
        for type_name in [
            "",
            "intger",
            "a name",
            "json",
            "enum",
            "Station",
            "Station<int>",
            "Map<String>",
            "string | Station",
            "List<int",
            "|",
            "[]",
            "?",
            "string<int>",
        ] {
            assert_eq!(read(type_name), None, "{type_name}");
        }
        assert!(read(&nested).is_some_and(|keywords| keywords["type"] == "array"));
        assert_eq!(read_name("List<int>"), None);
        assert_eq!(read_name("FLOAT").as_deref(), Some("number"));
    }
}
