//! Relocates references whose definition is elsewhere in the schema.

use std::collections::HashMap;

use serde_json::Value;

use super::super::check::SchemaWarning;
use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{pointer, subschemas};
use crate::wire::issue::excerpt;

/// Changes references to a definition in the `$defs` or `definitions` of another schema. Such a reference starts at the
/// root of a schema that was moved into a property, or has another name for `$defs`.
pub(super) fn relocate(root: &mut Value, warnings: &mut Vec<SchemaWarning>) {
    let mut definitions: HashMap<String, Vec<String>> = HashMap::new();
    let mut dangling = Vec::new();
    let mut pending = vec![(String::new(), &*root)];
    while let Some((path, schema)) = pending.pop() {
        for keyword in ["$defs", "definitions"] {
            let named = schema.get(keyword).and_then(Value::as_object);
            for name in named.into_iter().flat_map(|named| named.keys()) {
                let definition = pointer::join(&format!("{path}/{keyword}"), name);
                definitions.entry(name.clone()).or_default().push(definition);
            }
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(definition) = Dangling::new(root, &path, reference)
        {
            dangling.push(definition);
        }
        let inside = subschemas::children(schema).into_iter();
        pending.extend(inside.map(|(steps, child)| (format!("{path}{steps}"), child)));
    }
    for reference in dangling {
        let Some(target) = reference.target(&definitions) else {
            continue;
        };
        // The definition may not have the referenced part.
        let relocated = format!("#{}", target.replace('%', "%25"));
        if let Target::Schema(..) = reference::resolve(root, &relocated)
            && let Some(slot) = root.pointer_mut(&pointer::join(&reference.path, "$ref"))
        {
            let reason = format!(
                "`{}` was read as `{}`",
                excerpt(&reference.written),
                excerpt(&relocated)
            );
            *slot = relocated.into();
            warnings.push(SchemaWarning::new(pointer::join(&reference.path, "$ref"), reason));
        }
    }
}

/// A reference without a target.
struct Dangling {
    /// JSON Pointer to the schema with the reference.
    path: String,
    written: String,
    /// Name of the definition.
    name: String,
    /// JSON Pointer below the definition.
    rest: String,
}

impl Dangling {
    fn new(root: &Value, path: &str, written: &str) -> Option<Self> {
        let fragment = reference::percent_decode(written.strip_prefix('#')?);
        let inside = ["/$defs/", "/definitions/", "/components/schemas/"]
            .into_iter()
            .find_map(|prefix| fragment.strip_prefix(prefix))?;
        let (name, rest) = inside.split_at(inside.find('/').unwrap_or(inside.len()));
        let is_dangling = matches!(reference::resolve(root, written), Target::Missing);
        is_dangling.then(|| Self {
            path: path.to_owned(),
            written: written.to_owned(),
            name: name.replace("~1", "/").replace("~0", "~"),
            rest: rest.to_owned(),
        })
    }

    /// Returns the JSON Pointer to the target: the definition in the innermost enclosing schema that has one, or else
    /// the only definition with the name.
    fn target(&self, definitions: &HashMap<String, Vec<String>>) -> Option<String> {
        let candidates = definitions.get(&self.name)?;
        let encloses = |candidate: &&String| {
            // The pointer without `/$defs/name`.
            let owner = candidate.rsplitn(3, '/').nth(2);
            owner.is_some_and(|owner| {
                let inside = self.path.strip_prefix(owner);
                inside.is_some_and(|inside| inside.is_empty() || inside.starts_with('/'))
            })
        };
        let innermost = candidates
            .iter()
            .filter(encloses)
            .max_by_key(|candidate| candidate.len());
        let definition = match (innermost, candidates.as_slice()) {
            (Some(innermost), _) => innermost,
            (None, [only]) => only,
            (None, _) => return None,
        };
        Some(format!("{definition}{}", self.rest))
    }
}
