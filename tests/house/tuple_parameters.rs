//! Functions have no tuples as parameters: a struct names the parts, or each part is a separate parameter. Closures may have tuples,
//! since iterators pass them.

use syn::{FnArg, Item, Pat, Signature, Type};

use crate::sources::{functions_of_crates, visit_items, visit_signatures};

/// Collects the functions with a tuple as a parameter.
fn collect(item: &Item, found: &mut Vec<String>) {
    visit_signatures(item, &mut |signature| check(signature, found));
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

#[test]
fn functions_have_no_tuple_parameters() {
    let wrong = functions_of_crates(collect);
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
    let file = syn::parse_file(source).unwrap();
    let mut found = Vec::new();
    visit_items(&file.items, &mut |item| collect(item, &mut found));
    assert_eq!(found, ["typed", "destructured", "declared"]);
}
