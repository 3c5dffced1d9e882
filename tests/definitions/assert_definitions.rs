//! `assert_definitions!`: definitions in a file of the project, and messages about differences.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tool_runtime::{Structured, ToolDefinition, ToolRegistry, assert_definitions, testing, tool};

/// Fee of a book.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Price {
    /// Price in cents.
    cents: u32,
}

/// Return the fee of a late book.
#[tool(read_only)]
async fn fine(
    /// Number of days after the due date.
    #[arg(range = 0..=365)]
    days: u32,
    /// Name of the room.
    #[arg(values = ["red", "blue"])]
    room: Option<String>,
) -> Structured<Price> {
    let _ = room;
    Structured(Price { cents: days * 20 })
}

/// Lend a book.
#[tool]
async fn lend(
    /// Title.
    title: String,
) -> String {
    title
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<fine>().unwrap().register::<lend>().unwrap();
    registry
}

/// `UPDATE_DEFINITIONS=1 cargo test -p tests --test calls assert_definitions` updates the file.
#[test]
fn path_starts_at_the_callers_manifest() {
    assert_definitions!(registry(), "definitions/tools.json");
    testing::assert_definitions!(&registry(), String::from("definitions/tools.json"),);
}

/// Environment variable with the path that a child process of this suite writes.
const WRITTEN: &str = "DEFINITIONS_WRITTEN";

#[test]
fn update_writes_the_file() {
    if let Some(path) = std::env::var_os(WRITTEN) {
        return assert_definitions!(registry(), path);
    }
    let path = scratch("written/tools.json");
    let _ = fs::remove_file(&path);
    let name = "definitions::assert_definitions::update_writes_the_file";
    let update = |value: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name, "--quiet"]).env(WRITTEN, &path);
        let output = child.env("UPDATE_DEFINITIONS", value).output().unwrap();
        output.status.success()
    };
    assert!(!update("0"), "nothing is written, and there is no file");
    assert!(update("1"));
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("definitions/tools.json");
    let text = |path| fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    assert_eq!(text(path.clone()), text(committed));
    assert!(update(""), "it is compared with what was written");
}

/// Returns the text of a failed assertion on a file with this text; `None` if the assertion holds.
fn failure(name: &str, text: &str) -> Option<String> {
    let path = scratch(name);
    fs::write(&path, text).unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| assert_definitions!(registry(), &path))).err()?;
    let message = failed.downcast_ref::<String>().unwrap();
    Some(message.replace(path.to_str().unwrap(), "FILE"))
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("assert_definitions")
        .join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn file() -> Value {
    serde_json::from_str(include_str!("tools.json")).unwrap()
}

/// Returns the differences, if the file has these definitions.
fn differences(name: &str, file: &Value) -> String {
    let message = failure(name, &file.to_string()).unwrap();
    let head = "the definitions differ from those in FILE, so the model would be told something else:\n\n";
    let tail = "\nif that is meant, run the test with UPDATE_DEFINITIONS=1 and review the file\n";
    let differences = message
        .strip_prefix(head)
        .and_then(|rest| rest.strip_suffix(tail));
    differences.unwrap_or_else(|| panic!("{message}")).to_owned()
}

#[test]
fn names_the_tool_the_place_and_both_values() {
    let mut old = file();
    old[0]["input_schema"]["properties"]["days"]["maximum"] = 300.into();
    old[0]["input_schema"]["properties"]["room"]["enum"] = json!(["red"]);
    old[0]["output_schema"]["properties"]["cents"]["description"] = "In cents!".into();
    old[0]["hints"]["title"] = "Fine".into();
    old[1].as_object_mut().unwrap().shift_remove("description");
    assert_eq!(
        differences("places.json", &old),
        "`fine` at /input_schema/properties/days/maximum\n  old: 300\n  new: 365\n\n\
         `fine` at /input_schema/properties/room/enum\n  old: [\"red\"]\n  new: [\"red\",\"blue\"]\n\n\
         `fine` at /output_schema/properties/cents/description\n  old: \"In cents!\"\n  new: \"Price in cents.\"\n\n\
         `fine` at /hints/title\n  old: \"Fine\"\n  new: nothing\n\n\
         `lend` at /description\n  old: nothing\n  new: \"Lend a book.\"\n"
    );
}

#[test]
fn lists_added_removed_and_moved_tools() {
    let mut old = file();
    old.as_array_mut().unwrap().reverse();
    assert_eq!(
        differences("moved.json", &old),
        "the order of the tools\n  old: `lend`, `fine`\n  new: `fine`, `lend`\n"
    );
    old[0]["name"] = "give".into();
    let lend = r#"{"name":"lend","description":"Lend a book.","input_schema":{"type":"object","#;
    let shown = differences("renamed.json", &old);
    assert!(
        shown.starts_with(&format!("`lend`\n  old: nothing\n  new: {lend}")),
        "{shown}"
    );
    assert!(
        shown.contains("\n\n`give`\n  old: {\"name\":\"give\","),
        "{shown}"
    );
    assert!(!shown.contains("order"), "{shown}");
}

/// The order of keys is reported, too, since a prompt cache depends on it.
#[test]
fn names_keys_that_moved() {
    let mut old = file();
    let Some(Value::Object(properties)) = old.pointer_mut("/0/input_schema/properties") else {
        panic!("there are none");
    };
    *properties = std::mem::take(properties).into_iter().rev().collect();
    assert_eq!(
        differences("keys.json", &old),
        "`fine` at /input_schema/properties, the order of the keys\n  old: `room`, `days`\n  new: `days`, `room`\n"
    );
}

#[test]
fn shows_long_texts_from_shortly_before_the_difference() {
    let mut registry = ToolRegistry::new();
    let description = |word: &str| format!("{}{word}{}", "so ".repeat(60), " etc".repeat(99));
    let schema = json!({ "type": "object", "properties": {} });
    let definition = ToolDefinition::new("long", description("é"), schema.clone());
    registry.register_dynamic(definition, async |_, _| "").unwrap();
    let path = scratch("long.json");
    let old = json!([{ "name": "long", "description": description("è"), "input_schema": schema }]);
    fs::write(&path, old.to_string()).unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| assert_definitions!(registry, &path))).unwrap_err();
    let message = failed.downcast_ref::<String>().unwrap();
    let context = "so ".repeat(20);
    assert!(
        message.contains(&format!("\n  old: \"…{context}è etc etc")),
        "{message}"
    );
    assert!(
        message.contains(&format!("\n  new: \"…{context}é etc etc")),
        "{message}"
    );
    assert!(message.len() < 900, "{message}");
}

/// A completely changed schema is not printed twice.
#[test]
fn shows_a_limited_number_of_differences() {
    let tools: Vec<Value> = (0..30)
        .map(|index| json!({ "name": format!("t{index}") }))
        .collect();
    let shown = differences("many.json", &tools.into());
    assert_eq!(shown.matches("old:").count(), 20);
    assert!(shown.ends_with("\nand 12 more\n"), "{shown}");
}

#[test]
fn ignores_how_the_file_is_written() {
    let compact = file().to_string();
    assert_eq!(failure("compact.json", &compact), None);
    let indented = serde_json::to_string_pretty(&file()).unwrap();
    assert_eq!(failure("windows.json", &indented.replace('\n', "\r\n")), None);
}

#[test]
fn explains_how_to_write_a_missing_or_malformed_file() {
    let path = scratch("absent.json");
    let failed = catch_unwind(AssertUnwindSafe(|| assert_definitions!(registry(), &path))).unwrap_err();
    assert_eq!(
        failed
            .downcast_ref::<String>()
            .unwrap()
            .replace(path.to_str().unwrap(), "FILE"),
        "there is no FILE; to write it, run the test with UPDATE_DEFINITIONS=1"
    );
    assert_eq!(
        failure("malformed.json", "<<<<<<< HEAD\n[]").unwrap(),
        "FILE is not a list of definitions (expected value at line 1 column 1); to write it again, run the test with \
         UPDATE_DEFINITIONS=1"
    );
}
