//! Definitions in a file of a project: [`assert_definitions!`](crate::assert_definitions).

use std::fmt;
use std::fs;
use std::io;
use std::ops::Deref;
use std::path::Path;

use serde_json::{Map, Value};

use crate::registry::ToolRegistry;
use crate::schema::keywords::pointer;
use crate::wire::definition::{Hints, ToolDefinition};

#[doc = include_str!("../docs/assert_definitions.md")]
#[macro_export]
macro_rules! assert_definitions {
    ($registry:expr, $file:expr $(,)?) => {
        $crate::__private::check_definitions(&$registry, ::core::env!("CARGO_MANIFEST_DIR"), $file)
    };
    ($registry:expr $(,)?) => {{
        let _ = &$registry;
        ::core::compile_error!("missing file; expected `assert_definitions!(registry, \"tools.json\")`")
    }};
}

pub use assert_definitions;

/// Compares the definitions of a registry with a file, or writes the file.
///
/// # Panics
///
/// Panics if the definitions differ, or the file cannot be read or written.
#[track_caller]
pub fn check_definitions<R: AsRegistry>(registry: &R, manifest_dir: &str, file: impl AsRef<Path>) {
    let registry = registry.as_registry();
    let is_update = std::env::var_os(UPDATE).is_some_and(|value| !value.is_empty() && value != "0");
    let path = Path::new(manifest_dir).join(file);
    let definitions = registry.tool_definitions().into_iter().map(shown).collect();
    let result = if is_update {
        write(&path, &definitions)
    } else {
        compare(&path, &definitions)
    };
    if let Err(message) = result {
        panic!("{message}");
    }
}

/// A registry, or a pointer to one. A trait, so that the error about another type points to the argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `ToolRegistry`",
    label = "expected the registry whose definitions the file has"
)]
pub trait AsRegistry {
    /// Returns the registry.
    fn as_registry(&self) -> &ToolRegistry;
}

#[diagnostic::do_not_recommend]
impl AsRegistry for ToolRegistry {
    fn as_registry(&self) -> &ToolRegistry {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<P: Deref<Target = ToolRegistry>> AsRegistry for P {
    fn as_registry(&self) -> &ToolRegistry {
        self
    }
}

/// Environment variable that makes the assertion write the file.
const UPDATE: &str = "UPDATE_DEFINITIONS";

/// Returns a definition in the form of the file.
fn shown(definition: &ToolDefinition) -> Value {
    let mut shown = serde_json::to_value(definition).unwrap_or_default();
    if let Value::Object(fields) = &mut shown {
        let output_schema = definition.output_schema.clone();
        fields.extend(output_schema.map(|schema| ("output_schema".to_owned(), schema)));
        let hints = hints(&definition.hints);
        fields.extend((!hints.is_empty()).then(|| ("hints".to_owned(), hints.into())));
    }
    shown
}

/// Returns the hints that are set.
fn hints(hints: &Hints) -> Map<String, Value> {
    let title = hints.title.as_deref().map(Value::from);
    let flags = [
        ("read_only", hints.read_only),
        ("destructive", hints.destructive),
        ("idempotent", hints.idempotent),
        ("open_world", hints.open_world),
        ("deferred", hints.deferred),
    ];
    let flags = flags.map(|(name, flag)| (name, flag.map(Value::from)));
    let all = std::iter::once(("title", title)).chain(flags);
    all.filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn write(path: &Path, definitions: &Value) -> Result<(), String> {
    let text = serde_json::to_string_pretty(definitions).unwrap_or_default() + "\n";
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn compare(path: &Path, definitions: &Value) -> Result<(), String> {
    let file = path.display();
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no {file}; to write it, run the test with {UPDATE}=1"),
        _ => format!("cannot read {file}: {error}"),
    })?;
    let old: Vec<Map<String, Value>> = serde_json::from_str(&text).map_err(|error| {
        format!(
            "{file} is not a list of definitions ({error}); to write it again, run the test with {UPDATE}=1"
        )
    })?;
    let differences = differences(&old.into_iter().map(Value::Object).collect(), definitions);
    if differences.is_empty() {
        return Ok(());
    }
    let count = differences.len();
    let shown = differences.iter().take(MAX_SHOWN).map(ToString::to_string);
    let more = (count > MAX_SHOWN).then(|| format!("and {} more\n", count - MAX_SHOWN));
    let shown: Vec<String> = shown.chain(more).collect();
    Err(format!(
        "the definitions differ from those in {file}, so the model would be told something else:\n\n{}\n\
         if that is meant, run the test with {UPDATE}=1 and review the file\n",
        shown.join("\n")
    ))
}

/// Maximum number of differences in a message.
const MAX_SHOWN: usize = 20;

/// A difference between definitions.
#[derive(Debug)]
struct Difference {
    /// Tool and path of the difference, or the subject of a difference between the lists.
    place: String,
    old: String,
    new: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, old, new } = self;
        writeln!(f, "{place}\n  old: {old}\n  new: {new}")
    }
}

/// Compares two lists of definitions, tool by tool.
fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut comparison = Comparison::default();
    let (old, new) = (by_name(old), by_name(new));
    for (name, new) in &new {
        name.clone_into(&mut comparison.tool);
        let old = old.iter().find(|(known, _)| known == name);
        comparison.compare("", old.map(|(_, old)| *old), Some(new));
    }
    for (name, old) in &old {
        if !new.iter().any(|(known, _)| known == name) {
            name.clone_into(&mut comparison.tool);
            comparison.compare("", Some(old), None);
        }
    }
    let names = |tools: &[(String, &Value)]| tools.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    comparison.compare_order("the order of the tools".to_owned(), &names(&old), &names(&new));
    comparison.differences
}

fn by_name(definitions: &Value) -> Vec<(String, &Value)> {
    let definitions = definitions.as_array().into_iter().flatten();
    let name = |definition: &Value| definition["name"].as_str().unwrap_or_default().to_owned();
    definitions
        .map(|definition| (name(definition), definition))
        .collect()
}

#[derive(Debug, Default)]
struct Comparison {
    /// Name of the compared tool.
    tool: String,
    differences: Vec<Difference>,
}

impl Comparison {
    /// Compares two values: objects by key, lists of objects or lists by item. Recursion is safe, since definitions
    /// nest no deeper than schemas.
    fn compare(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                for (key, value) in new {
                    self.compare(&pointer::join(path, key), old.get(key), Some(value));
                }
                for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
                    self.compare(&pointer::join(path, key), Some(value), None);
                }
                let place = format!("{}, the order of the keys", self.place(path));
                let names = |object: &Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
                self.compare_order(place, &names(old), &names(new));
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) if has_inner(old) || has_inner(new) => {
                for index in 0..old.len().max(new.len()) {
                    let path = pointer::join(path, &index.to_string());
                    self.compare(&path, old.get(index), new.get(index));
                }
            }
            _ if old == new => {}
            _ => {
                let (old, new) = match (old, new) {
                    (Some(Value::String(old)), Some(Value::String(new))) => texts(old, new),
                    _ => (value_excerpt(old), value_excerpt(new)),
                };
                let place = self.place(path);
                self.differences.push(Difference { place, old, new });
            }
        }
    }

    fn place(&self, path: &str) -> String {
        let Self { tool, .. } = self;
        if path.is_empty() {
            format!("`{tool}`")
        } else {
            format!("`{tool}` at {path}")
        }
    }

    /// Compares the order of the names that both definitions have.
    fn compare_order(&mut self, place: String, old: &[String], new: &[String]) {
        let common = |names: &[String], others: &[String]| {
            let common = names.iter().filter(|name| others.contains(name));
            common
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (old, new) = (common(old, new), common(new, old));
        if old != new {
            self.differences.push(Difference { place, old, new });
        }
    }
}

/// Returns whether an item is a list or an object.
fn has_inner(items: &[Value]) -> bool {
    items.iter().any(|item| item.is_object() || item.is_array())
}

/// Returns the value as compact JSON; a long value is truncated.
fn value_excerpt(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    cut(&value.to_string(), MAX_EXCERPT)
}

/// Returns both texts from shortly before their difference.
fn texts(old: &str, new: &str) -> (String, String) {
    let common = old.chars().zip(new.chars()).take_while(|(old, new)| old == new);
    let skipped = common.count().saturating_sub(CONTEXT);
    let excerpt = |text: &str| {
        let rest: String = text.chars().skip(skipped).collect();
        let start = if skipped == 0 { "" } else { "…" };
        format!("{:?}", format!("{start}{}", cut(&rest, MAX_EXCERPT)))
    };
    (excerpt(old), excerpt(new))
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Maximum number of characters of a value in a message.
const MAX_EXCERPT: usize = 200;

/// Number of characters before a difference.
const CONTEXT: usize = 60;
