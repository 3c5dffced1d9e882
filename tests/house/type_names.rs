//! No two types of a crate have one name: a search for it finds one definition.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Ident, Item};

use crate::sources::{Module, read, shown};

/// Names that several types of a crate may have, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "tool-gateway",
        "Traces",
        "one with the feature `otlp`, one without",
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

/// The crates without two types of one name.
const CHECKED: [&str; 6] = [
    "tool-macros",
    "tool-builtins",
    "tool-cli",
    "tool-gateway",
    "tool-repair",
    "tool-runtime",
];

/// Collects the names of the types, traits and aliases of a file. Items in bodies of functions are local to them.
fn collect(items: &[Item], found: &mut BTreeSet<String>) {
    for item in items {
        let name: &Ident = match item {
            Item::Struct(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Mod(module) => {
                let is_test = module
                    .attrs
                    .iter()
                    .any(|attribute| attribute.path().is_ident("cfg"));
                if let Some((_, items)) = module.content.as_ref().filter(|_| !is_test) {
                    collect(items, found);
                }
                continue;
            }
            _ => continue,
        };
        found.insert(name.to_string());
    }
}

#[test]
fn types_of_a_crate_have_different_names() {
    let mut wrong = Vec::new();
    let mut unused = EXCEPTIONS.to_vec();
    for name in CHECKED {
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            let file = syn::parse_file(&read(&module.file))
                .unwrap_or_else(|error| panic!("{}: {error}", shown(&module.file)));
            let mut found = BTreeSet::new();
            collect(&file.items, &mut found);
            for item in found {
                files.entry(item).or_default().insert(shown(&module.file));
            }
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
