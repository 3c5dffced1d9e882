//! No two types of a crate have one name, so that a search for a name finds one definition.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Ident, Item};

use crate::sources::{CRATES, Module, shown};

/// Names that several types of a crate may have, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "tool-gateway",
        "Traces",
        "a type with the feature `otlp`, and a type without",
    ),
    (
        "tool-gateway",
        "McpServers",
        "a type with the feature `mcp`, and a type without",
    ),
    (
        "tool-gateway",
        "McpSettings",
        "a type with the feature `mcp`, and a type without",
    ),
    (
        "tool-runtime",
        "Response",
        "public: the module of each API has its own, such as `anthropic::Response`",
    ),
    (
        "tool-runtime",
        "ResponseReader",
        "public: reads the `Response` of the same module",
    ),
];

/// Returns the name of a type, trait or alias.
fn type_name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Struct(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

#[test]
fn types_of_a_crate_have_different_names() {
    let mut wrong = Vec::new();
    let mut unused = EXCEPTIONS.to_vec();
    for name in CRATES {
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            module.visit_items(&mut |item| {
                if let Some(name) = type_name(item) {
                    files
                        .entry(name.to_string())
                        .or_default()
                        .insert(shown(&module.file));
                }
            });
        });
        for (item, files) in files.into_iter().filter(|(_, files)| files.len() > 1) {
            let is_exception = |(of, exception, _): &(&str, &str, &str)| *of == name && *exception == item;
            if EXCEPTIONS.iter().any(is_exception) {
                unused.retain(|exception| !is_exception(exception));
            } else {
                let files: Vec<String> = files.into_iter().collect();
                wrong.push(format!("`{item}`: {}", files.join(", ")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "two types of one crate have one name; name each by its part, as `RowReader` beside `PageReader`:\n  {}",
        wrong.join("\n  "),
    );
    assert!(unused.is_empty(), "exceptions that no crate needs: {unused:?}");
}
