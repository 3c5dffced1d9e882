//! `$ref`: always to somewhere in the same document.

use serde_json::Value;

use super::subschemas;

/// Where a reference leads.
pub(super) enum Target<'s> {
    /// To this schema, at this JSON Pointer.
    Schema(&'s Value, String),
    Missing,
    Remote,
}

/// Follows one reference.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Target<'s> {
    let own = root.get("$id").or_else(|| root.get("id")).and_then(Value::as_str);
    let own = own.map(|id| id.trim_end_matches('#')).filter(|id| !id.is_empty());
    let local = own.and_then(|id| reference.strip_prefix(id)).unwrap_or(reference);
    let Some(fragment) = local.strip_prefix('#').or(local.is_empty().then_some("")) else {
        return Target::Remote;
    };
    let fragment = unescape(fragment);
    let found = if fragment.is_empty() || fragment.starts_with('/') {
        root.pointer(&fragment).map(|schema| (schema, fragment))
    } else {
        anchored(root, &fragment)
    };
    found.map_or(Target::Missing, |(schema, at)| Target::Schema(schema, at))
}

/// Whether a pointer leads to where schemas usually stand, so that the walk over all subschemas meets it anyway.
pub(super) fn stands_at_schema(pointer: &str) -> bool {
    let steps: Vec<_> = pointer.split('/').skip(1).collect();
    steps.is_empty() || matches!(steps.as_slice(), ["$defs" | "definitions" | "properties", _])
}

/// The schema with `"$anchor": name`, or draft-07's `"$id": "#name"`.
fn anchored<'s>(root: &'s Value, name: &str) -> Option<(&'s Value, String)> {
    let mut open = vec![(root, String::new())];
    while let Some((value, at)) = open.pop() {
        let id = value
            .get("$id")
            .and_then(Value::as_str)
            .and_then(|id| id.strip_prefix('#'));
        if value.get("$anchor").and_then(Value::as_str).or(id) == Some(name) {
            return Some((value, at));
        }
        // A constant may look like a schema with a name, and is none.
        let inside = subschemas::children(value).into_iter();
        open.extend(inside.map(|(steps, schema)| (schema, at.clone() + &steps)));
    }
    None
}

/// A fragment of a URI: `%24defs` is `$defs`.
pub(super) fn unescape(fragment: &str) -> String {
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
