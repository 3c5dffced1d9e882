//! Resolves `$ref` in the same document: by JSON Pointer or anchor, with or without the `$id` of the root.

use std::fmt::Write as _;

use serde_json::Value;

use super::{pointer, subschemas};

/// Target of a reference.
pub(crate) enum Target<'s> {
    /// A schema and its JSON Pointer.
    Schema(&'s Value, String),
    /// No schema, or several schemas.
    Missing,
    /// A schema with a separate URI, in this document or another.
    Remote,
}

/// Resolves a reference.
pub(crate) fn resolve<'s>(root: &'s Value, reference: &str) -> Target<'s> {
    let own = root.get("$id").and_then(Value::as_str);
    let own = own.map(|id| id.trim_end_matches('#')).filter(|id| !id.is_empty());
    let local = own.and_then(|id| reference.strip_prefix(id)).unwrap_or(reference);
    let Some(fragment) = local.strip_prefix('#').or(local.is_empty().then_some("")) else {
        return Target::Remote;
    };
    let fragment = percent_decode(fragment);
    let found = if fragment.is_empty() || fragment.starts_with('/') {
        root.pointer(&fragment).map(|schema| (schema, fragment))
    } else {
        find_anchor(root, &fragment)
    };
    found.map_or(Target::Missing, |(schema, pointer)| {
        Target::Schema(schema, pointer)
    })
}

/// Returns the pointer to the innermost schema with an `$id` above `pointer`, except for the root: the base of relative
/// references.
pub(crate) fn inner_id<'p>(root: &Value, pointer: &'p str) -> Option<&'p str> {
    let step_ends = pointer
        .match_indices('/')
        .map(|(end, _)| end)
        .skip(1)
        .chain([pointer.len()]);
    let (mut schema, mut start, mut nearest) = (root, 0, None);
    for end in step_ends {
        schema = schema.pointer(pointer.get(start..end)?)?;
        start = end;
        if has_id(schema) {
            nearest = pointer.get(..end);
        }
    }
    nearest
}

/// Returns whether a schema has an `$id` that is not an anchor of draft-07, `#name`.
fn has_id(schema: &Value) -> bool {
    let id = schema.get("$id").and_then(Value::as_str);
    id.is_some_and(|id| !id.is_empty() && !id.starts_with('#'))
}

/// Returns the only schema with `"$anchor": name`, or draft-07's `"$id": "#name"`. Schemas below an inner `$id` have
/// separate anchors and are not searched.
fn find_anchor<'s>(root: &'s Value, name: &str) -> Option<(&'s Value, String)> {
    let mut found = None;
    let mut pending = vec![(root, String::new())];
    while let Some((value, pointer)) = pending.pop() {
        let id = value
            .get("$id")
            .and_then(Value::as_str)
            .and_then(|id| id.strip_prefix('#'));
        if value.get("$anchor").and_then(Value::as_str).or(id) == Some(name) {
            if found.is_some() {
                return None;
            }
            found = Some((value, pointer.clone()));
        }
        // Only subschemas are searched, since a constant may look like a schema with an anchor.
        let inside = subschemas::children(value).into_iter();
        pending.extend(
            inside
                .filter(|(_, schema)| !has_id(schema))
                .map(|(steps, schema)| (schema, pointer.clone() + &steps)),
        );
    }
    found
}

/// Returns the reference to a definition: a URI reference (RFC 3986), in the spelling of schemars.
pub(crate) fn to_definition(name: &str) -> String {
    let pointer = pointer::join("#/$defs", name);
    let mut reference = String::with_capacity(pointer.len());
    for (index, byte) in pointer.bytes().enumerate() {
        let is_allowed = byte.is_ascii_alphanumeric() || b"!$&'()*+,-./:;=?@_~".contains(&byte);
        if is_allowed || index == 0 {
            reference.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(reference, "%{byte:02X}");
        }
    }
    reference
}

/// Returns the name of the definition that a reference points to, if it is in `$defs` or `definitions`.
pub(crate) fn definition_name(reference: &str) -> Option<String> {
    let pointer = percent_decode(reference.strip_prefix('#')?);
    let name = pointer
        .strip_prefix("/$defs/")
        .or_else(|| pointer.strip_prefix("/definitions/"))?;
    (!name.contains('/')).then(|| name.replace("~1", "/").replace("~0", "~"))
}

/// Decodes a fragment of a URI: `%24defs` is `$defs`.
pub(crate) fn percent_decode(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let hex = |digit: &u8| char::from(*digit).to_digit(16);
        if byte == b'%'
            && let [high, low, tail @ ..] = tail
            && let (Some(high), Some(low)) = (hex(high), hex(low))
        {
            bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            rest = tail;
            continue;
        }
        bytes.push(byte);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{definition_name, to_definition};

    #[test]
    fn references_to_definitions_are_uri_references() {
        for (name, reference) in [
            ("Node", "#/$defs/Node"),
            ("旅客", "#/$defs/%E6%97%85%E5%AE%A2"),
            ("a/b~c", "#/$defs/a~1b~0c"),
            ("Map<A, \u{1}%>", "#/$defs/Map%3CA,%20%01%25%3E"),
        ] {
            assert_eq!(to_definition(name), reference);
            assert_eq!(definition_name(reference).as_deref(), Some(name));
        }
        assert_eq!(definition_name("#/$defs/旅客").as_deref(), Some("旅客"));
        assert_eq!(definition_name("#/$defs/A/properties/a"), None);
    }
}
