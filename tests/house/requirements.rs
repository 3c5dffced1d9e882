//! Checks that `docs/requirements.md` and the tests name equal requirements.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::sources::{CRATES, files, read, root, shown, text};

const DOCUMENT: &str = "docs/requirements.md";

/// Folder whose tests each prove a requirement.
const SUITE: &str = "tests/requirements/";

/// Rules of coercion, whose rows are tests. The row of a requirement has its id.
const COERCION: &str = "tests/coercion/table.json";

/// A row of the document.
struct Requirement {
    id: String,
    line: usize,
}

/// A test with the ids in its doc comment, or a row of [`COERCION`] with its id.
struct Test {
    name: String,
    file: String,
    ids: BTreeSet<String>,
}

#[test]
fn ids_of_requirements_are_unique() {
    let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for requirement in requirements() {
        lines.entry(requirement.id).or_default().push(requirement.line);
    }
    assert!(lines.len() > 100, "{DOCUMENT} has {} requirements", lines.len());
    lines.retain(|_, lines| lines.len() > 1);
    assert!(
        lines.is_empty(),
        "{DOCUMENT} has these ids in several lines: {lines:?}"
    );
}

#[test]
fn every_requirement_has_a_test() {
    let named: BTreeSet<String> = tests().into_iter().flat_map(|test| test.ids).collect();
    let untested: Vec<String> = requirements()
        .into_iter()
        .filter(|requirement| !named.contains(&requirement.id))
        .map(|requirement| format!("{DOCUMENT}:{}: {}", requirement.line, requirement.id))
        .collect();
    assert!(
        untested.is_empty(),
        "write a test in {SUITE} that proves each of these, with its id in a `///` line above it:\n  {}",
        untested.join("\n  "),
    );
}

#[test]
fn every_id_in_the_source_is_a_requirement() {
    let known: BTreeSet<String> = requirements().into_iter().map(|it| it.id).collect();
    let mut unknown = Vec::new();
    for file in sources().into_iter().chain([COERCION.to_owned()]) {
        let source = text(&file);
        for (number, line) in (1..).zip(source.lines()) {
            let ids = ids_in(line).filter(|id| !known.contains(*id));
            unknown.extend(ids.map(|id| format!("{file}:{number}: {id}")));
        }
    }
    assert!(
        unknown.is_empty(),
        "{DOCUMENT} has no requirement with these ids:\n  {}",
        unknown.join("\n  "),
    );
}

#[test]
fn every_test_of_the_suite_names_a_requirement() {
    let nameless: Vec<String> = tests()
        .into_iter()
        .filter(|test| test.file.starts_with(SUITE) && test.ids.is_empty())
        .map(|test| format!("{}: {}", test.file, test.name))
        .collect();
    assert!(
        nameless.is_empty(),
        "the tests in {SUITE} have the ids that they prove in a `///` line above them; these have none:\n  {}",
        nameless.join("\n  "),
    );
}

/// Returns the table rows of the document that begin with an id.
fn requirements() -> Vec<Requirement> {
    let document = text(DOCUMENT);
    let rows = (1..)
        .zip(document.lines())
        .filter(|(_, row)| row.starts_with("| R-"));
    rows.map(|(line, row)| {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let [id, statement, source] = cells[..] else {
            panic!("{DOCUMENT}:{line}: a row has an id, a requirement and a source: {row}")
        };
        assert!(is_id(id), "{DOCUMENT}:{line}: `{id}` is not an id");
        assert!(
            statement.ends_with('.') && !source.is_empty(),
            "{DOCUMENT}:{line}: {row}"
        );
        let id = id.to_owned();
        Requirement { id, line }
    })
    .collect()
}

/// Returns all files that may have a test.
fn sources() -> Vec<String> {
    let crates = CRATES
        .iter()
        .flat_map(|name| [format!("{name}/src"), format!("{name}/tests")]);
    crates
        .chain(["tests".to_owned(), "examples/tests".to_owned()])
        .map(|directory| root().join(directory))
        .filter(|directory| directory.is_dir())
        .flat_map(|directory| files(&directory, "rs"))
        .map(|file| shown(&file))
        .collect()
}

fn tests() -> Vec<Test> {
    let functions = sources().into_iter().flat_map(|file| tests_of(&file));
    functions.chain(rows_of_coercion()).collect()
}

fn rows_of_coercion() -> impl Iterator<Item = Test> {
    let table: Value = serde_json::from_str(&text(COERCION)).unwrap();
    let rows = table["rows"].as_array().cloned().unwrap_or_default();
    rows.into_iter().filter_map(|row| {
        Some(Test {
            name: row["name"].as_str()?.to_owned(),
            file: COERCION.to_owned(),
            ids: BTreeSet::from([row["requirement"].as_str()?.to_owned()]),
        })
    })
}

fn tests_of(file: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut ids = BTreeSet::new();
    let mut is_test = false;
    for line in read(&root().join(file)).lines().map(str::trim) {
        if line.starts_with("///") {
            ids.extend(ids_in(line).map(str::to_owned));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if !line.starts_with("#[") {
            if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
                let name = rest.split('(').next().unwrap_or_default().to_owned();
                let (file, ids) = (file.to_owned(), ids.clone());
                tests.push(Test { name, file, ids });
            }
            ids.clear();
            is_test = false;
        }
    }
    tests
}

fn ids_in(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| is_id(word))
}

/// Returns whether a word is `R`, the subject in capital letters and a number, joined by hyphens.
fn is_id(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let ["R", subject, number] = parts[..] else {
        return false;
    };
    let is_subject = !subject.is_empty() && subject.bytes().all(|byte| byte.is_ascii_uppercase());
    is_subject && number.parse::<usize>().is_ok()
}
