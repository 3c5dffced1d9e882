//! Finds the modules of a crate by their `mod` lines.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::{ImplItem, Item, Signature, TraitItem};

use crate::tokens;

/// The library crates.
pub const CRATES: [&str; 7] = [
    "tool-runtime",
    "tool-macros",
    "tool-repair",
    "tool-builtins",
    "tool-cli",
    "tool-mcp",
    "tool-gateway",
];

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the text of a file in the workspace.
pub fn text(path: &str) -> String {
    read(&root().join(path))
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

/// Returns a path from the root, with `/` on every system.
pub fn shown(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// A module in a separate file, with its child modules in the order of their declarations.
pub struct Module {
    pub name: String,
    pub file: PathBuf,
    pub tokens: TokenStream,
    pub children: Vec<Module>,
}

impl Module {
    /// Loads the root module of a crate, with all its modules.
    pub fn of_crate(name: &str) -> Self {
        let directory = root().join(name).join("src");
        Self::load("crate".to_owned(), directory.join("lib.rs"), &directory)
    }

    fn load(name: String, file: PathBuf, children_in: &Path) -> Self {
        let tokens = tokens::product(&read(&file), &file);
        let children = declared(&tokens)
            .into_iter()
            .map(|(name, path)| {
                let below = children_in.join(&name);
                let flat = children_in.join(format!("{name}.rs"));
                let file = match path {
                    Some(path) => file.parent().unwrap().join(path),
                    None if flat.exists() => flat,
                    None => below.join("mod.rs"),
                };
                Self::load(name, file, &below)
            })
            .collect();
        Self {
            name,
            file,
            tokens,
            children,
        }
    }

    /// Calls `visit` with every item of the product, in inline modules, too. Items behind `cfg` and in function bodies are skipped.
    pub fn visit_items(&self, visit: &mut impl FnMut(&Item)) {
        let file = syn::parse_file(&read(&self.file))
            .unwrap_or_else(|error| panic!("{}: {error}", shown(&self.file)));
        visit_items(&file.items, visit);
    }

    /// Returns the position of a child among its siblings, from 0.
    pub fn floor(&self, child: &str) -> Option<usize> {
        self.children.iter().position(|it| it.name == child)
    }

    /// Calls `visit` with every module and its path from the crate's root.
    pub fn walk<'a>(&'a self, path: &mut Vec<&'a Module>, visit: &mut impl FnMut(&[&'a Module], &'a Module)) {
        visit(path, self);
        path.push(self);
        for child in &self.children {
            child.walk(path, visit);
        }
        path.pop();
    }
}

/// Calls `visit` with these items and the items of their inline modules, except modules behind `cfg`.
pub fn visit_items(items: &[Item], visit: &mut impl FnMut(&Item)) {
    for item in items {
        visit(item);
        if let Item::Mod(module) = item
            && let Some((_, items)) = &module.content
            && !module
                .attrs
                .iter()
                .any(|attribute| attribute.path().is_ident("cfg"))
        {
            visit_items(items, visit);
        }
    }
}

/// Calls `visit` with the signature of an item, if the item is a function, or of its methods.
pub fn visit_signatures(item: &Item, visit: &mut impl FnMut(&Signature)) {
    match item {
        Item::Fn(function) => visit(&function.sig),
        Item::Impl(block) => {
            for item in &block.items {
                if let ImplItem::Fn(function) = item {
                    visit(&function.sig);
                }
            }
        }
        Item::Trait(definition) => {
            for item in &definition.items {
                if let TraitItem::Fn(function) = item {
                    visit(&function.sig);
                }
            }
        }
        _ => {}
    }
}

/// Returns the `mod name;` lines of a file, each with its `#[path]`.
fn declared(tokens: &TokenStream) -> Vec<(String, Option<String>)> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    let mut path = None;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                if let Some(value) = tokens::value_of(group, "path") {
                    path = Some(value);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => path = None,
            TokenTree::Ident(word) if word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(end))) =
                    (tokens.get(place + 1), tokens.get(place + 2))
                    && end.as_char() == ';'
                {
                    found.push((name.to_string(), path.take()));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the functions of all crates that `collect` finds, each with its file.
pub fn functions_of_crates(collect: impl Fn(&Item, &mut Vec<String>)) -> Vec<String> {
    let mut found = Vec::new();
    for name in CRATES {
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            let mut functions = Vec::new();
            module.visit_items(&mut |item| collect(item, &mut functions));
            found.extend(
                functions
                    .iter()
                    .map(|function| format!("`{function}`: {}", shown(&module.file))),
            );
        });
    }
    found
}

/// Returns all files below a directory with this extension, sorted, without build output and version control.
pub fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with(".git") {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
