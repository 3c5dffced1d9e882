//! Floors: the `mod` lines of a file list dependencies first, and a module uses only modules that are declared before it.
//!
//! Only imports and paths are checked. Methods of a type whose `impl` blocks are in several files, trait objects, and expansions of macros
//! are not checked.

use crate::sources::{CRATES, Module, shown};
use crate::tokens::{self, Reference};

/// Folders with files that call each other, because their functions are mutually recursive: a list has items that are unions of objects.
/// The `mod.rs` of each folder states this. The order of their `mod` lines has no meaning.
const MUTUALLY_RECURSIVE: [&str; 1] = ["tool-runtime/src/arguments/coerce/mod.rs"];

#[test]
fn a_file_imports_only_from_floors_below_it() {
    let mut wrong = Vec::new();
    for name in CRATES {
        let root = Module::of_crate(name);
        root.walk(&mut Vec::new(), &mut |above, module| {
            if above.is_empty() || module.name == "__private" {
                return; // lib.rs imports all modules, and `__private` re-exports items for the macros' output
            }
            for reference in tokens::references(&module.tokens) {
                if let Some(reason) = broken(above, module, &reference) {
                    wrong.push(format!(
                        "{}:{}: `{}` {reason}",
                        shown(&module.file),
                        reference.line,
                        reference.segments.join("::"),
                    ));
                }
            }
        });
    }
    assert!(
        wrong.is_empty(),
        "a file may import only from files above its own `mod` line, so that no circle can arise.\n\
         Move the line up or down in `lib.rs` (or the folder's `mod.rs`) if that breaks no other file, \
         else move the item to where both can reach it:\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn mutually_recursive_folders_say_so() {
    for file in MUTUALLY_RECURSIVE {
        let text = crate::sources::read(&crate::sources::root().join(file));
        let header = text.lines().take_while(|line| line.starts_with("//!"));
        assert!(
            header.clone().any(|line| line.contains("mutually recursive")),
            "{file}"
        );
    }
}

/// Returns the reason why a reference violates the floors, or `None` if it does not.
fn broken(above: &[&Module], module: &Module, reference: &Reference) -> Option<String> {
    let own: Vec<&Module> = above.iter().copied().chain([module]).collect();
    let target = resolve(&own, reference)?;
    let shared = own
        .iter()
        .skip(1)
        .zip(&target)
        .take_while(|(module, segment)| module.name == **segment)
        .count();
    // The lowest module that contains both. The next segment is a sibling of the module, or the module itself.
    let parent = own.get(shared)?;
    let Some(child) = own.get(shared + 1) else {
        return None; // a path into the module itself, or from a folder's `mod.rs` into the folder
    };
    if MUTUALLY_RECURSIVE.contains(&shown(&parent.file).as_str()) {
        return None;
    }
    let Some(wanted) = target.get(shared) else {
        return None; // the module itself, as in `use super::*`; the paths of its items are checked
    };
    let ours = parent.floor(&child.name)?;
    match parent.floor(wanted) {
        Some(theirs) if theirs < ours => None,
        Some(_) => Some(format!("is on a floor above `{}`", child.name)),
        None if wanted.starts_with("__") => None,
        None => Some(format!(
            "is an item of `{}`, which stands above; name the file that defines it",
            shown(&parent.file),
        )),
    }
}

/// Returns the path of a reference from the crate's root; `None` if the reference stays inside an inline module.
fn resolve(own: &[&Module], reference: &Reference) -> Option<Vec<String>> {
    let mut base: Vec<String> = own.iter().skip(1).map(|module| module.name.clone()).collect();
    base.extend(reference.within.iter().cloned());
    let mut segments = reference.segments.iter().map(String::as_str).peekable();
    while let Some(word) = segments.peek() {
        match *word {
            "crate" => base.clear(),
            "super" => {
                base.pop()?;
            }
            "self" => {}
            _ => break,
        }
        segments.next();
    }
    Some(base.into_iter().chain(segments.map(str::to_owned)).collect())
}

/// R-OFF-17
#[test]
fn core_of_offload_depends_on_no_writer_and_no_file_system() {
    let builtins = Module::of_crate("tool-builtins");
    let offload = builtins
        .children
        .iter()
        .find(|module| module.name == "offload")
        .expect("tool-builtins/src/offload/ is the offload tool");
    let floor = |name| {
        let floor = offload.floor(name);
        floor.unwrap_or_else(|| panic!("tool-builtins/src/offload/mod.rs has no `mod {name};`"))
    };
    for core in ["file_path", "writer", "reader", "function", "chunks", "read_back"] {
        for store in ["local", "local_reader", "memory"] {
            assert!(
                floor(core) < floor(store),
                "`mod {core};` stands above `mod {store};` in offload/mod.rs, so that it cannot use it"
            );
        }
        let code = offload.children[floor(core)].tokens.to_string().replace(' ', "");
        for outside in ["std::fs", "tokio"] {
            assert!(!code.contains(outside), "offload/{core}.rs uses `{outside}`");
        }
    }
}
