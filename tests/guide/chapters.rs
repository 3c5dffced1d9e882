//! The chapters of the guide: each is in the list, links to the next, and reads well without rustdoc. All links have a target.

use std::collections::BTreeMap;
use std::fs;

use crate::{file, text};

const GUIDE: &str = "docs/guide";
const LINKS: &str = "tool-runtime/src/docs/guide_links.md";

/// Returns the pages in order, without the list of chapters.
fn chapters() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(file(GUIDE))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    names.sort();
    names
}

fn page(name: &str) -> String {
    text(&format!("{GUIDE}/{name}"))
}

/// Returns the module of a page: `_8_a_turn` for `08_a_turn.md`.
fn module(page: &str) -> String {
    format!("_{}", page.trim_start_matches('0').trim_end_matches(".md"))
}

/// Splits a page into alternating prose and blocks.
fn parts(page: &str) -> Vec<&str> {
    page.split("\n```").collect()
}

/// Returns the link definitions of a page by label.
fn definitions(page: &str) -> BTreeMap<&str, &str> {
    let prose = parts(page).into_iter().step_by(2);
    prose
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: "))
        .filter(|(label, target)| !label.contains(']') && !target.contains(' '))
        .collect()
}

#[test]
fn every_chapter_is_listed_and_links_to_the_next() {
    let chapters = chapters();
    assert!(chapters.len() >= 12);
    let list = page("README.md");
    for (place, chapter) in chapters.iter().enumerate() {
        let number = place + 1;
        assert!(
            chapter.starts_with(&format!("{number:0>2}_")),
            "{chapter} is number {number}"
        );
        let text = page(chapter);
        assert!(
            text.starts_with(&format!("# {number}. ")),
            "{chapter} begins with its number"
        );
        let row = list
            .lines()
            .find(|line| line.starts_with(&format!("| [{number}. ")));
        let label = row.and_then(|row| row.split("][").nth(1)?.split(']').next());
        assert_eq!(
            label.and_then(|label| definitions(&list).get(label).copied()),
            Some(chapter.as_str()),
            "the table in {GUIDE}/README.md has no row for {chapter}"
        );
        if let Some(next) = chapters.get(number) {
            let lead = text
                .lines()
                .rfind(|line| line.starts_with("Next: "))
                .unwrap_or_default();
            let label = lead.split("][").nth(1).and_then(|rest| rest.split(']').next());
            assert_eq!(
                label.and_then(|label| definitions(&text).get(label).copied()),
                Some(next.as_str()),
                "{chapter} does not end with the way to {next}"
            );
        }
    }
}

#[test]
fn every_page_is_a_module_of_the_runtime() {
    let modules = text("tool-runtime/src/guide.rs");
    for chapter in chapters().iter().map(String::as_str).chain(["README.md"]) {
        if chapter != "README.md" {
            let line = format!("    {} \"docs/guide/{chapter}\",\n", module(chapter));
            assert!(
                modules.contains(&line),
                "tool-runtime/src/guide.rs has no line `{}`",
                line.trim()
            );
        }
        assert!(
            text(&format!("tool-runtime/src/docs/guide/{chapter}")) == page(chapter),
            "ln -s ../../../../{GUIDE}/{chapter} tool-runtime/src/docs/guide/{chapter}"
        );
    }
}

/// An example that is not run becomes outdated without notice. Only rustdoc hides the hidden lines of an example.
#[test]
fn every_rust_block_is_a_complete_test() {
    let mut blocks = 0;
    for name in chapters() {
        for block in parts(&page(&name)).into_iter().skip(1).step_by(2) {
            let (info, code) = block.split_once('\n').unwrap();
            // A program with another crate, which is a test of that crate.
            if info == "rust,ignore" {
                let readmes = ["tool-mcp/README.md", "tool-builtins/README.md"];
                assert!(
                    readmes.iter().any(|readme| text(readme).contains(code)),
                    "{name}: none of {readmes:?} has the block\n{code}"
                );
                continue;
            }
            assert!(
                ["rust", "rust,compile_fail", "toml", "sh", "text"].contains(&info),
                "{name}: a block with `{info}` is no test; show what runs"
            );
            if info.starts_with("rust") {
                blocks += 1;
                let hidden = code
                    .lines()
                    .find(|line| line.trim() == "#" || line.trim().starts_with("# "));
                assert_eq!(hidden, None, "{name}: readers of the repository see this line");
            }
        }
    }
    assert!(blocks >= 30, "only {blocks} blocks");
}

#[test]
fn links_lead_to_files_here_and_to_modules_in_rustdoc() {
    let links = text(LINKS);
    let in_rustdoc = definitions(&links);
    let chapters = chapters();
    for name in chapters.iter().map(String::as_str).chain(["README.md"]) {
        let text = page(name);
        let prose: String = parts(&text).into_iter().step_by(2).collect();
        for link in prose.split("](").skip(1) {
            assert!(
                link.starts_with("https://"),
                "{name}: use a definition for {link:.40}"
            );
        }
        for (label, target) in definitions(&text) {
            if target.starts_with("https://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let target_file = file(GUIDE).join(path);
            let target_text = fs::read_to_string(&target_file)
                .unwrap_or_else(|error| panic!("{name}: [{label}] leads to {path}: {error}"));
            assert!(
                anchor.is_empty() || headings(&target_text).contains(&anchor.to_owned()),
                "{name}: {path} has no heading #{anchor}"
            );
            let item = in_rustdoc
                .get(label)
                .unwrap_or_else(|| panic!("{LINKS} has no [{label}]"));
            if chapters.iter().any(|chapter| chapter == path) {
                let suffix = target.strip_prefix(path).unwrap();
                assert_eq!(
                    **item,
                    format!("crate::guide::{}{suffix}", module(path)),
                    "{LINKS}: [{label}]"
                );
            }
            assert!(
                prose.contains(&format!("[{label}]")),
                "{name}: [{label}] is not used"
            );
        }
    }
}

/// Returns the anchors of the headings, which are equal on GitHub and in rustdoc.
fn headings(page: &str) -> Vec<String> {
    let lines = page.lines().filter(|line| line.starts_with('#'));
    lines
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// The blocks of chapter 12 contain the files that the macro's tests compare with its output.
#[test]
fn expansions_are_the_output_of_the_macro() {
    let chapter: String = page("12_expansion.md").split_whitespace().collect();
    for snapshot in [
        "tool-macros/tests/expansion/two_parameters.rs",
        "tool-macros/tests/expansion/two_parameters.expanded.rs",
        "tool-macros/tests/expansion/real_tool.rs",
        "tool-macros/tests/expansion/real_tool.expanded.rs",
        "tool-macros/tests/expansion/methods.expanded.rs",
        "tool-macros/tests/expansion/mistakes.expanded.rs",
        "tests/guide/weather.expanded.rs",
    ] {
        let expansion: String = text(snapshot).split_whitespace().collect();
        assert!(
            chapter.contains(&expansion),
            "{GUIDE}/12_expansion.md does not have {snapshot}"
        );
    }
}

/// The README links to the first chapter, which links to the second.
#[test]
fn reference_pages_read_well_without_rustdoc() {
    for name in ["tool.md", "tools.md"] {
        let page = text(&format!("tool-runtime/src/docs/{name}"));
        for (place, part) in parts(&page).into_iter().enumerate() {
            if place % 2 == 1 {
                let hidden = part.lines().find(|line| *line == "#" || line.starts_with("# "));
                assert_eq!(hidden, None, "{name}: readers of the repository see this line");
                assert!(
                    part.starts_with("rust") || part.starts_with("text"),
                    "{name}: {part:.20}"
                );
            } else {
                let path = ["](crate::", "](macro@", "](super::"]
                    .into_iter()
                    .find(|path| part.contains(path));
                assert_eq!(path, None, "{name}: a path of Rust is no link in the repository");
            }
        }
        let links = text(LINKS);
        for (label, target) in definitions(&page) {
            let path = target.split('#').next().unwrap_or(target);
            assert!(
                file("tool-runtime/src/docs").join(path).is_file(),
                "{name}: nothing is at {target}"
            );
            assert!(
                definitions(&links).contains_key(label),
                "{LINKS} has no [{label}]"
            );
        }
    }
}
