//! Sentences: doc comments begin with a noun or a verb, and no text uses the words of this project's former private vocabulary.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::sources::{read, root, shown};

/// First words of a doc sentence that hide the noun that a reader would search for.
const BANNED_STARTS: [&str; 7] = ["What", "Where", "Whose", "How", "Why", "Those", "The same"];

/// Words of comments and documents, and what to write instead.
const BANNED: [(&str, &str); 8] = [
    ("mended", "`repaired` or `fixed`"),
    ("told", "`reported`, `distinguished` or who receives what"),
    ("nobody", "the subject that is missing: no client, no caller"),
    ("whoever", "who: a client, a host, a caller"),
    ("under way", "`open`, `running` or `in progress`"),
    ("taken for", "`read as` or `treated as`"),
    ("of its own", "`its own` before the noun, `separate` or `unique`"),
    ("goes on", "`continues`"),
];

/// Consecutive sentences up to a blank line, a list item or code.
#[derive(Debug, PartialEq)]
struct Paragraph {
    text: String,
    line: usize,
    /// Whether the paragraph belongs to a doc comment.
    is_doc: bool,
    /// Whether the paragraph documents a tool, a type with a schema, a field, a variant or a parameter.
    is_description: bool,
}

/// Collects lines into paragraphs.
#[derive(Default)]
struct Paragraphs {
    found: Vec<Paragraph>,
    open: Option<Paragraph>,
    /// Whether the current line is in a fenced block.
    is_code: bool,
}

impl Paragraphs {
    fn line(&mut self, text: &str, line: usize, is_doc: bool) {
        let text = text.trim();
        if text.starts_with("```") {
            self.is_code = !self.is_code;
            return self.end();
        }
        if self.is_code {
            return;
        }
        let item = ["- ", "* ", "> "].iter().find_map(|mark| text.strip_prefix(mark));
        let number = text
            .split_once(". ")
            .filter(|(number, _)| number.parse::<u8>().is_ok());
        let item = item.or(number.map(|(_, rest)| rest));
        let starts_anew = item.is_some() || text.starts_with(['#', '|']) || text.is_empty();
        if starts_anew || self.open.as_ref().is_some_and(|open| open.is_doc != is_doc) {
            self.end();
        }
        if text.is_empty() {
            return;
        }
        let open = self.open.get_or_insert(Paragraph {
            text: String::new(),
            line,
            is_doc,
            is_description: false,
        });
        open.text.push_str(item.unwrap_or(text));
        open.text.push(' ');
        if text.starts_with(['#', '|']) {
            self.end();
        }
    }

    fn end(&mut self) {
        self.found.extend(self.open.take());
    }

    fn finish(mut self) -> Vec<Paragraph> {
        self.end();
        self.found
    }
}

/// Returns the paragraphs in the comments of a Rust file.
fn of_rust(text: &str) -> Vec<Paragraph> {
    let mut paragraphs = Paragraphs::default();
    let mut first_of_item = 0;
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if let Some(text) = code.strip_prefix("///").or(code.strip_prefix("//!")) {
            paragraphs.line(text, at + 1, true);
        } else if let Some(text) = code.strip_prefix("//") {
            paragraphs.line(text, at + 1, false);
        } else {
            paragraphs.end();
            paragraphs.is_code = false;
            let is_attribute = code.starts_with("#[");
            if is_attribute && (code.starts_with("#[tool") || code.contains("JsonSchema"))
                || declares_part(code)
            {
                for paragraph in &mut paragraphs.found[first_of_item..] {
                    paragraph.is_description = paragraph.is_doc;
                }
            }
            if !is_attribute {
                first_of_item = paragraphs.found.len();
            }
            // A comment after code, unless the slashes are part of a string.
            if let Some((code, text)) = line.split_once(" // ")
                && (code.matches('"').count() - code.matches("\\\"").count()) % 2 == 0
            {
                paragraphs.line(text, at + 1, false);
                paragraphs.end();
                first_of_item = paragraphs.found.len();
            }
        }
    }
    paragraphs.finish()
}

/// Returns whether a line declares a field, a variant or a parameter. The declaration of any other item begins with a keyword.
fn declares_part(code: &str) -> bool {
    let visibility = ["pub ", "pub(crate) ", "pub(super) ", "mut "];
    let code = visibility
        .iter()
        .find_map(|it| code.strip_prefix(it))
        .unwrap_or(code);
    let name =
        code.trim_start_matches(|character: char| character.is_alphanumeric() || "_#".contains(character));
    name.len() < code.len()
        && (name.is_empty() || name.starts_with([':', ',', '(', ')']) || name.starts_with(" {"))
}

/// Returns the paragraphs of a Markdown file.
fn of_markdown(text: &str) -> Vec<Paragraph> {
    of_lines(text, |line| Some(line))
}

/// Returns the paragraphs in the comments of a script, a workflow or a manifest.
fn of_script(text: &str) -> Vec<Paragraph> {
    of_lines(text, |line| line.trim_start().strip_prefix('#'))
}

/// Returns the paragraphs of the lines that have prose.
fn of_lines(text: &str, prose: impl Fn(&str) -> Option<&str>) -> Vec<Paragraph> {
    let mut paragraphs = Paragraphs::default();
    for (at, line) in text.lines().enumerate() {
        match prose(line) {
            Some(text) => paragraphs.line(text, at + 1, false),
            None => paragraphs.end(),
        }
    }
    paragraphs.finish()
}

/// Returns a text without the code and the quotations between backticks.
fn without_quotations(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let kept = parts.map(|(at, part)| if at % 2 == 0 { part } else { "`" });
    kept.collect()
}

/// Splits a paragraph into sentences.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while let Some(end) = rest
        .match_indices(['.', '?', '!'])
        .map(|(at, _)| at + 1)
        .find(|end| {
            let next = rest[*end..].strip_prefix(' ').unwrap_or_default();
            next.starts_with(|first: char| first.is_uppercase() || "[`*\"".contains(first))
        })
    {
        found.push(rest[..end].trim());
        rest = rest[end..].trim();
    }
    found.push(rest);
    found
}

/// Returns the complaints about a paragraph.
fn complaints(paragraph: &Paragraph) -> Vec<String> {
    let text = without_quotations(&paragraph.text);
    let mut found = Vec::new();
    for sentence in sentences(&text) {
        let sentence = sentence.trim_start_matches(['[', '*', '_', '(']);
        let start = BANNED_STARTS.iter().find(|start| {
            let rest = sentence.strip_prefix(**start);
            paragraph.is_doc && rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        });
        found.extend(start.map(|start| {
            format!(
                "a doc sentence begins with `{start}`; begin with a noun or a third-person verb: `{sentence}`"
            )
        }));
    }
    let words: Vec<String> = text
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    for (banned, instead) in BANNED {
        let banned_words: Vec<&str> = banned.split(' ').collect();
        if words
            .windows(banned_words.len())
            .any(|window| window == banned_words)
        {
            found.push(format!("`{banned}`: write {instead}"));
        }
    }
    found
}

/// Returns the files below a path, also in hidden folders. Links are skipped, since their targets are files of the repository, too.
fn files_below(path: &Path) -> Vec<PathBuf> {
    if path.is_symlink() {
        return Vec::new();
    }
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.retain(|entry| !entry.ends_with("target") && !entry.ends_with(".git"));
    entries.sort();
    entries.iter().flat_map(|entry| files_below(entry)).collect()
}

fn paragraphs(file: &Path) -> Vec<Paragraph> {
    let extension = file.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("rs") => of_rust(&read(file)),
        Some("md") => of_markdown(&read(file)),
        Some("yml" | "toml" | "sh") => of_script(&read(file)),
        None if file.ends_with(".ci/run") => of_script(&read(file)),
        _ => Vec::new(),
    }
}

#[test]
fn sentences_begin_with_nouns_and_verbs() {
    let mut wrong = Vec::new();
    for file in files_below(&root()) {
        let is_of_tests = file.components().any(|part| {
            ["benches", "examples", "tests"]
                .map(OsStr::new)
                .contains(&part.as_os_str())
        });
        for paragraph in paragraphs(&file) {
            // In tests and examples, descriptions are data: a model reads them, and expectations repeat them.
            if is_of_tests && paragraph.is_description {
                continue;
            }
            let place = format!("{}:{}", shown(&file), paragraph.line);
            wrong.extend(
                complaints(&paragraph)
                    .iter()
                    .map(|complaint| format!("{place}: {complaint}")),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "sentences are plain English that can be searched (see CONTRIBUTING.md, \"Sentences\"); a quotation stands between \
         backticks:\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn finds_wrong_sentences() {
    let count = |paragraphs: Vec<Paragraph>| paragraphs.iter().flat_map(complaints).count();
    for text in [
        "/// What is read.",
        "/// Reads it. Where it is, is unknown.",
        "//! - How it works",
        "/// The same\n/// as before.",
        "fn f() {} // it is under way",
        "// A call that is under\n// way.",
        "/// A [link](x) to\n/// whoever reads.",
    ] {
        assert_eq!(count(of_rust(text)), 1, "{text}");
    }
    for text in [
        "/// Whatever is read.",
        "/// `What` is a word, and \"`whoever`\" one more.",
        "// What a plain comment begins with is free.",
        "/// ```\n/// // What is code\n/// ```",
        "let url = \"x // nobody\";",
        "/// Reads e.g. what stands there.",
        "/// Untold.",
    ] {
        assert_eq!(count(of_rust(text)), 0, "{text}");
    }
    assert_eq!(count(of_script("run: x # told\n# nobody\n")), 1);
    let descriptions = |text: &str| of_rust(text).iter().filter(|it| it.is_description).count();
    for text in [
        "/// What.\n#[arg(x)]\npub what: T,",
        "/// What.\nWhat(T),",
        "/// What.\nWhat,",
        "/// What.\n#[derive(JsonSchema)]\nstruct What;",
    ] {
        assert_eq!(descriptions(text), 1, "{text}");
    }
    for text in [
        "/// What.\nfn what() {}",
        "/// What.\n#[test]\nfn what() {",
        "/// What.\n\nuse what;",
        "// Whoever.\nwhat: T,",
    ] {
        assert_eq!(descriptions(text), 0, "{text}");
    }
    let markdown = of_markdown("Of all.\n\n1. One,\ngoes on\n2. Two\n\n```\ntold\n```\n");
    assert_eq!(markdown.len(), 3);
    assert_eq!(count(markdown), 1);
}
