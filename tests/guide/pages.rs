//! The guide as pages that can be read in the repository, `docs/guide/*.md`, made from the documentation comments: what
//! rustdoc hides is left out, and links lead from page to page. The test that compares them can write them anew, too.

use std::collections::BTreeMap;
use std::fs;

use crate::chapters::{GUIDE, chapters};
use crate::{file, text};

const PAGES: &str = "docs/guide";
const UPDATE: &str = "UPDATE_GOLDEN=1 cargo test -p tests --test guide";

#[test]
fn pages_are_generated_from_the_guide() {
    let made = pages();
    let there: BTreeMap<String, String> = fs::read_dir(file(PAGES))
        .into_iter()
        .flatten()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), text(&format!("{PAGES}/{name}"))))
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(file(PAGES)).unwrap();
        for gone in there.keys().filter(|name| !made.contains_key(*name)) {
            fs::remove_file(file(PAGES).join(gone)).unwrap();
        }
        for (name, page) in &made {
            fs::write(file(PAGES).join(name), page).unwrap();
        }
        return;
    }
    assert!(
        made.keys().eq(there.keys()),
        "{PAGES} has other pages than {GUIDE} has chapters; write them anew: {UPDATE}"
    );
    for (name, page) in &made {
        let mut lines = page.lines().zip(there[name].lines());
        assert!(
            *page == there[name],
            "{PAGES}/{name} differs from {GUIDE}; write it anew: {UPDATE}\n{:#?}",
            lines.find(|(made, there)| made != there)
        );
    }
}

#[test]
fn links_of_pages_lead_to_files() {
    let pages = pages();
    for (name, page) in &pages {
        let prose = page.split("\n```").step_by(2);
        for link in prose.flat_map(|prose| prose.split("](").skip(1)) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            let is_known = pages.contains_key(target) || target.starts_with("https://");
            let is_file = file(PAGES)
                .join("..")
                .join(target.trim_start_matches("../"))
                .is_file();
            assert!(is_known || is_file, "{PAGES}/{name}: nothing is at {target}");
        }
    }
}

/// All pages, by their file names.
fn pages() -> BTreeMap<String, String> {
    let list = ("README.md".to_owned(), page("mod", "The guide"));
    let chapters = chapters().into_iter().map(|chapter| {
        let list = text(&format!("{GUIDE}/mod.rs"));
        let row = list
            .lines()
            .find(|line| line.contains(&format!("]({chapter}) |")));
        let title = row.and_then(|row| row.split(['[', ']']).nth(1)).expect(&chapter);
        (page_of(&chapter).unwrap(), page(&chapter, title))
    });
    chapters.chain([list]).collect()
}

/// `_1_first_tool` is on `01_first_tool.md`.
fn page_of(chapter: &str) -> Option<String> {
    let (number, name) = chapter.strip_prefix('_')?.split_once('_')?;
    Some(format!("{:0>2}_{name}.md", number))
}

fn page(module: &str, title: &str) -> String {
    let source = format!("{GUIDE}/{module}.rs");
    let origin = format!("<!-- Generated from {source}: change that file, then run `{UPDATE}`. -->");
    let mut page = format!("{origin}\n\n# {title}\n\n");
    let documentation = documentation(&text(&source));
    let reference = names_of_the_reference(&documentation);
    for (place, part) in documentation.split("\n```").enumerate() {
        page += &if place % 2 == 0 {
            prose(part, &reference)
        } else {
            block(part)
        };
    }
    format!("{}\n", page.trim_end())
}

/// A block without its fences, but with what stands behind the first.
fn block(text: &str) -> String {
    let (info, code) = text.split_once('\n').unwrap();
    if !matches!(info, "" | "compile_fail") {
        return format!("\n```{info}\n{code}\n```");
    }
    let mut shown = String::new();
    for line in code.lines().filter(|line| !is_hidden(line)) {
        // Hidden lines leave empty ones behind.
        if !(line.is_empty() && (shown.is_empty() || shown.ends_with("\n\n"))) {
            shown.push_str(line);
            shown.push('\n');
        }
    }
    format!("\n```rust\n{}\n```", shown.trim_end())
}

/// What rustdoc compiles and does not show.
fn is_hidden(line: &str) -> bool {
    let line = line.trim_start();
    line == "#" || line.starts_with("# ")
}

/// Headings stand below the page's title; links lead to pages, or what would lead into the reference is its text alone.
fn prose(text: &str, reference: &[String]) -> String {
    let mut prose = String::new();
    for line in text.split_inclusive('\n') {
        if !reference
            .iter()
            .any(|name| line.starts_with(&format!("[{name}]: ")))
        {
            prose.push_str(if line.starts_with("# ") { "#" } else { "" });
            prose.push_str(line);
        }
    }
    for name in reference {
        prose = prose.replace(&format!("[{name}]"), name);
    }
    // A definition that is gone leaves an empty line behind.
    format!("{}\n", linked(prose).trim_end())
}

/// The text of the documentation comments of a file.
fn documentation(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines() {
        let attribute = line
            .strip_prefix("#![doc = ")
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(comment) = line.strip_prefix("//!") {
            text += comment.strip_prefix(' ').unwrap_or(comment);
        } else if let Some(path) = attribute.and_then(|value| value.strip_prefix("include_str!(\"")) {
            let included = crate::text(&format!("{GUIDE}/{}", path.trim_end_matches("\")")));
            text += included.trim_end();
        } else if let Some(literal) = attribute {
            text += &syn::parse_str::<syn::LitStr>(literal).unwrap().value();
        } else {
            continue;
        }
        text.push('\n');
    }
    text
}

/// The names of link definitions that lead into the reference.
fn names_of_the_reference(documentation: &str) -> Vec<String> {
    let lines = documentation.lines();
    let definitions = lines.filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    definitions
        .filter(|(_, target)| !target.starts_with("https://"))
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn linked(mut text: String) -> String {
    let mut from = 0;
    while let Some(at) = text[from..].find("](").map(|at| from + at) {
        let end = at + text[at..].find(')').expect("a link has an end");
        if let Some(page) = page_of_link(&text[at + 2..end]) {
            text.replace_range(at + 2..end, &page);
            from = at + 2 + page.len();
        } else {
            text.replace_range(at..=end, "");
            text.remove(opening(&text[..at]).expect("a link has a text"));
            from = at - 1;
        }
    }
    text
}

/// Where the bracket opens that is closed at the end of the text; in it, there may be others (`#[tool]`).
fn opening(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.rmatch_indices(['[', ']']).find_map(|(at, bracket)| {
        if bracket == "]" {
            depth += 1
        } else {
            depth -= 1
        }
        (depth == 0).then_some(at)
    })
}

fn page_of_link(target: &str) -> Option<String> {
    if target.starts_with("https://") {
        return Some(target.to_owned());
    }
    let (path, place) = target.split_once('#').unwrap_or((target, ""));
    let name = ["super::", "crate::guide::"]
        .iter()
        .find_map(|prefix| path.strip_prefix(prefix));
    let page = match path {
        "super" | "crate::guide" => "README.md".to_owned(),
        "crate::coercion" => "../coercion.md".to_owned(),
        "crate::faults" => "../faults.md".to_owned(),
        _ => page_of(name.unwrap_or(path))?,
    };
    Some(if place.is_empty() {
        page
    } else {
        format!("{page}#{place}")
    })
}
