//! Functions have no tuples as parameters: a struct names the parts, or each part is a parameter.

use syn::{FnArg, ImplItem, Item, Pat, Signature, TraitItem, Type};

use crate::sources::{Module, read, shown};

/// The crates whose functions are checked; `tool-gateway` still has one with a tuple. Closures are not: iterators give them tuples.
const CHECKED: [&str; 5] = [
    "tool-macros",
    "tool-builtins",
    "tool-cli",
    "tool-repair",
    "tool-runtime",
];

/// Collects the names of functions with a tuple as a parameter. Functions in bodies of functions are local to them.
fn collect(items: &[Item], found: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Fn(function) => check(&function.sig, found),
            Item::Impl(block) => {
                for item in &block.items {
                    if let ImplItem::Fn(function) = item {
                        check(&function.sig, found);
                    }
                }
            }
            Item::Trait(definition) => {
                for item in &definition.items {
                    if let TraitItem::Fn(function) = item {
                        check(&function.sig, found);
                    }
                }
            }
            Item::Mod(module) => {
                let is_test = module
                    .attrs
                    .iter()
                    .any(|attribute| attribute.path().is_ident("cfg"));
                if let Some((_, items)) = module.content.as_ref().filter(|_| !is_test) {
                    collect(items, found);
                }
            }
            _ => {}
        }
    }
}

fn check(signature: &Signature, found: &mut Vec<String>) {
    let has_tuple = signature.inputs.iter().any(|input| match input {
        FnArg::Typed(parameter) => is_tuple_pattern(&parameter.pat) || is_tuple(&parameter.ty),
        FnArg::Receiver(_) => false,
    });
    if has_tuple {
        found.push(signature.ident.to_string());
    }
}

fn is_tuple_pattern(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(tuple) => !tuple.elems.is_empty(),
        Pat::Reference(reference) => is_tuple_pattern(&reference.pat),
        Pat::Paren(inner) => is_tuple_pattern(&inner.pat),
        _ => false,
    }
}

fn is_tuple(parameter: &Type) -> bool {
    match parameter {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Paren(inner) => is_tuple(&inner.elem),
        _ => false,
    }
}

fn functions_with_tuples(source: &str) -> Vec<String> {
    let file = syn::parse_file(source).unwrap_or_else(|error| panic!("{error}"));
    let mut found = Vec::new();
    collect(&file.items, &mut found);
    found
}

#[test]
fn functions_have_no_tuple_parameters() {
    let mut wrong = Vec::new();
    for name in CHECKED {
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            let functions = functions_with_tuples(&read(&module.file));
            wrong.extend(
                functions
                    .iter()
                    .map(|function| format!("`{function}`: {}", shown(&module.file))),
            );
        });
    }
    assert!(
        wrong.is_empty(),
        "a tuple is a parameter; write a struct with a name, or one parameter for each part:\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn finds_tuple_parameters() {
    let source = "fn plain(unit: (), list: &[(u8, u8)]) { [(1, 2)].map(|(a, b)| a + b); }
        fn typed(pair: &(u8, u8)) {}
        impl S { fn destructured(&self, (a, b): Pair) {} }
        trait T { fn declared(&(a, b): &Pair); }";
    assert_eq!(
        functions_with_tuples(source),
        ["typed", "destructured", "declared"]
    );
}
