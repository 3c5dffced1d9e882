//! Constructors are named `new`, `from_…` or `with_…`, and no function is named `of`: a search for `of` finds too much.

use syn::Item;

use crate::sources::{functions_of_crates, visit_items, visit_signatures};

/// Collects the functions without `self` that are named `of` or `of_…`.
fn collect(item: &Item, found: &mut Vec<String>) {
    visit_signatures(item, &mut |signature| {
        let name = signature.ident.to_string();
        if signature.receiver().is_none() && (name == "of" || name.starts_with("of_")) {
            found.push(name);
        }
    });
}

#[test]
fn no_constructor_is_named_of() {
    let wrong = functions_of_crates(collect);
    assert!(
        wrong.is_empty(),
        "a function is named `of`; name a constructor `new`, `from_…` or `with_…`, another function by its result:\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn finds_functions_named_of() {
    let source = "fn offset() {}
        fn of_text(text: &str) {}
        impl S { fn of(part: u8) -> Self { Self } fn new() -> Self { Self } fn of_client(&self) {} }
        #[cfg(test)] mod tests { fn of() {} }";
    let file = syn::parse_file(source).unwrap();
    let mut found = Vec::new();
    visit_items(&file.items, &mut |item| collect(item, &mut found));
    assert_eq!(found, ["of_text", "of"]);
}
