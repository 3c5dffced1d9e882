//! `ARCHITECTURE.md` lists every source file, floor by floor, with the sentence that its header begins with.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tests --test house` writes the lists anew; look at the difference.

use std::env;
use std::fmt::Write as _;
use std::fs;

use crate::sources::{CRATES, Module, files, read, root, shown, text};

#[test]
fn the_architecture_lists_every_file() {
    let mut document = text("ARCHITECTURE.md");
    let written = document.clone();
    for name in CRATES {
        let (begin, end) = (format!("<!-- files of {name} -->\n"), "<!-- end -->".to_owned());
        let (before, rest) = document
            .split_once(&begin)
            .unwrap_or_else(|| panic!("ARCHITECTURE.md has no line `{}`", begin.trim()));
        let (_, after) = rest
            .split_once(&end)
            .expect("`<!-- end -->` stands behind each list");
        document = format!("{before}{begin}\n{}\n{end}{after}", list(name));
    }
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(root().join("ARCHITECTURE.md"), &document).unwrap();
        return;
    }
    let line = document
        .lines()
        .zip(written.lines())
        .find(|(now, then)| now != then);
    assert!(
        document == written,
        "ARCHITECTURE.md does not list the source files as they are; the first difference:\n  is    {}\n  was   {}\n\
         To write the lists anew: UPDATE_GOLDEN=1 cargo test -p tests --test house",
        line.map_or("(at the end)", |it| it.0),
        line.map_or("(at the end)", |it| it.1),
    );
}

/// The files of a crate: each floor a number, what is inside a folder below it.
fn list(name: &str) -> String {
    let mut list = String::new();
    for (floor, module) in Module::of_crate(name).children.iter().enumerate() {
        let _ = writeln!(list, "{}. {}", floor + 1, entry(name, module));
        inside(name, module, "    ", &mut list);
    }
    list
}

fn inside(name: &str, module: &Module, indent: &str, list: &mut String) {
    for child in &module.children {
        let _ = writeln!(list, "{indent}- {}", entry(name, child));
        inside(name, child, &format!("{indent}  "), list);
    }
}

fn entry(name: &str, module: &Module) -> String {
    let path = shown(&module.file).replace(&format!("{name}/src/"), "");
    format!("`{path}`: {}", first_sentence(&read(&module.file)))
}

/// The first sentence of a file's `//!` header, its links without their brackets.
fn first_sentence(text: &str) -> String {
    let header: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let header = header.join(" ");
    let sentence = header
        .split_once(". ")
        .map_or(header.as_str(), |(first, _)| first);
    sentence
        .trim_end_matches('.')
        .replace("[`", "`")
        .replace("`]", "`")
}

#[test]
fn every_file_says_why_it_exists() {
    let silent: Vec<String> = CRATES
        .iter()
        .flat_map(|name| files(&root().join(name).join("src"), "rs"))
        .filter(|file| !read(file).starts_with("//!") && !read(file).starts_with("#![doc"))
        .map(|file| shown(&file))
        .collect();
    assert!(
        silent.is_empty(),
        "each file begins with `//!` and a sentence that says why it exists; these do not:\n  {}",
        silent.join("\n  "),
    );
}

/// A file that no `mod` line declares is compiled by nobody. (`tests.rs` has its line behind `#[cfg(test)]`, `main.rs`
/// is the root of a program.)
#[test]
fn every_file_is_part_of_its_crate() {
    for name in CRATES {
        let mut declared = Vec::new();
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            declared.push(module.file.clone())
        });
        let present = files(&root().join(name).join("src"), "rs");
        let stray: Vec<String> = present
            .iter()
            .filter(|file| {
                !declared.contains(file) && !file.ends_with("tests.rs") && !file.ends_with("src/main.rs")
            })
            .map(|file| shown(file))
            .collect();
        assert!(
            stray.is_empty(),
            "no `mod` line declares these; add one or remove the file:\n  {}",
            stray.join("\n  ")
        );
    }
}
