//! `#[tool]`, from annotated functions to what a registry makes of them.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, Issue, State, ToolRegistry, testing, tool, tools};

/// How to match.
#[derive(Deserialize, Serialize, JsonSchema)]
enum Mode {
    Glob,
    Exact,
}

struct Workspace(&'static str);

#[derive(Debug)]
struct SearchError;

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing there")
    }
}

/// Search the workspace for files that match a glob.
#[tool(read_only)]
async fn search_files(
    /// Glob pattern, for example `**/*.rs`.
    pattern: String,
    /// How to match.
    mode: Mode,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: u32,
    #[arg(description = "Where to start.")] under: Option<String>,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<Vec<String>, SearchError> {
    assert!(!cancel.is_cancelled());
    let mode = match mode {
        Mode::Glob => "glob",
        Mode::Exact => "exact",
    };
    Ok(vec![
        pattern,
        mode.to_owned(),
        max_results.to_string(),
        format!("{under:?}"),
        workspace.0.to_owned(),
    ])
}

#[tokio::test]
async fn runs() {
    let mut registry = ToolRegistry::new().with_state(Workspace("here"));
    registry.register::<search_files>().unwrap();
    let result = registry
        .execute_tool("toolu_1", "search_files", r#"{"pattern":"*.rs","mode":"Exact"}"#)
        .await;
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": r#"["*.rs","exact","100","None","here"]"#,
        }),
    );
    assert!(registry.register::<search_files>().is_err());
    assert!(ToolRegistry::new().register::<search_files>().is_err());
}

struct Store(Mutex<BTreeMap<String, i64>>);

#[tools]
impl Store {
    const START: i64 = 0;

    fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Remember a number.
    #[tool(destructive, idempotent = true)]
    async fn put(
        &self,
        /// Under what.
        key: String,
        /// The number.
        #[arg(default = Self::START)]
        number: i64,
    ) {
        self.0.lock().unwrap().insert(key, number);
    }

    /// Tell a number.
    #[tool(name = "look_up")]
    async fn get(
        &self,
        /// Under what.
        key: String,
    ) -> Option<i64> {
        self.0.lock().unwrap().get(&key).copied()
    }

    /// Say hello.
    #[tool]
    async fn hello() -> &'static str {
        "hello"
    }
}

#[tokio::test]
async fn methods_share_their_value() {
    let mut registry = ToolRegistry::new();
    registry.register_all(Store::new()).unwrap();
    testing::run_in(&registry, "put", r#"{"key": "a", "number": 3}"#)
        .await
        .assert_text("");
    testing::run_in(&registry, "look_up", r#"{"key": "a"}"#)
        .await
        .assert_text("3");
    testing::run_in(&registry, "hello", "{}")
        .await
        .assert_text("hello");
}

#[tokio::test]
async fn sets_of_functions() {
    /// Add.
    #[tool]
    async fn add(
        /// One.
        a: i64,
        /// Two.
        add: i64,
    ) -> i64 {
        a + add
    }
    let mut registry = ToolRegistry::new();
    registry.register_all(tool_runtime::tool_set![add]).unwrap();
    testing::run_in(&registry, "add", r#"{"a": 2, "add": 40}"#)
        .await
        .assert_text("42");
}

/// Words it as the tool wants.
fn in_other_words(issues: &[Issue]) -> String {
    format!("{} mistakes", issues.len())
}

/// For readers of the code.
#[tool(
    name = "MakeAccount",
    title = "Make an account",
    description = "Make an account.",
    rename_all = "camelCase",
    strict,
    read_only = false,
    destructive,
    idempotent,
    open_world,
    deferred,
    timeout = "30s",
    errors = in_other_words,
    input_examples = [{ "user": "ada", "fullName": "Ada Lovelace" }]
)]
async fn make_account(
    #[arg(name = "user", description = "The name to log in with.", pattern = "^[a-z]+$", length = 2..=20)]
    name: String,
    /// What the person is called.
    #[arg(not_blank, length = ..64, example = "Ada Lovelace")]
    full_name: String,
    /** What it
     * may do. */
    #[arg(default = "reader", values = ["reader", "writer"], case_sensitive)]
    r#type: String,
    #[doc = concat!(" In ", "years. ")]
    #[arg(range = 18..)]
    age: Option<u8>,
    /// Whom
    /// to tell:
    ///
    ///   - by name
    #[arg(strict, default = ["admin"], length = 1..)]
    whom_to_tell: Vec<String>,
) -> String {
    format!("{name} {full_name} {type} {age:?} {whom_to_tell:?}")
}

#[test]
fn every_key_reaches_the_definition() {
    let mut registry = ToolRegistry::new();
    let registry = registry.register::<make_account>().unwrap();
    let definition = registry.tool_definitions()[0];
    assert_eq!(definition.hints.title.as_deref(), Some("Make an account"));
    assert_eq!(definition.hints.read_only, Some(false));
    assert_eq!(definition.hints.destructive, Some(true));
    assert_eq!(definition.hints.idempotent, Some(true));
    assert_eq!(definition.hints.open_world, Some(true));
    assert_eq!(definition.hints.deferred, Some(true));
    let tool = registry.get_tool("MakeAccount").unwrap();
    assert_eq!(tool.timeout(), Some(Duration::from_secs(30)));
    assert_eq!(
        serde_json::to_value(definition).unwrap(),
        json!({
            "name": "MakeAccount",
            "description": "Make an account.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "user": {
                        "type": "string",
                        "description": "The name to log in with.",
                        "minLength": 2,
                        "maxLength": 20,
                        "pattern": "^[a-z]+$",
                    },
                    "fullName": {
                        "type": "string",
                        "description": "What the person is called. Must not be blank.",
                        "maxLength": 63,
                        "examples": ["Ada Lovelace"],
                    },
                    "type": {
                        "type": "string",
                        "description": "What it\nmay do.",
                        "enum": ["reader", "writer"],
                    },
                    "age": { "type": "integer", "description": "In years.", "minimum": 18, "maximum": 255 },
                    "whomToTell": {
                        "type": "array",
                        "description": "Whom\nto tell:\n\n  - by name",
                        "items": { "type": "string" },
                        "minItems": 1,
                    },
                },
                "required": ["user", "fullName"],
            },
            "strict": true,
            "input_examples": [{ "user": "ada", "fullName": "Ada Lovelace" }],
        }),
    );
}

#[tokio::test]
async fn keys_are_enforced() {
    testing::run::<make_account>(r#"{"user": "ada", "fullName": "Ada"}"#)
        .await
        .assert_text(r#"ada Ada reader None ["admin"]"#);
    let refused = testing::run::<make_account>(r#"{"user": "A", "fullName": " ", "age": 3}"#).await;
    assert_eq!(refused.result.text(), Some("3 mistakes"));
    let refused =
        testing::run::<make_account>(r#"{"user": "ada", "fullName": "Ada", "whomToTell": "x"}"#).await;
    assert_eq!(refused.result.text(), Some("1 mistakes"));
}

/// A description from elsewhere that turns out to be blank.
#[test]
fn registration_rejects_a_blank_description() {
    /// Act.
    #[tool]
    async fn act(#[arg(description = concat!(" ", "\n"))] count: u8) -> u8 {
        count
    }

    let error = ToolRegistry::new().register::<act>().unwrap_err().to_string();
    assert!(error.contains("`count`") && error.contains("blank"), "{error}");
}

#[tokio::test]
async fn accepts_aliases_of_option_and_result() {
    type Maybe<T> = Option<T>;
    type Outcome = Result<u8, SearchError>;

    /// Halve.
    #[tool]
    async fn halve(
        /// What.
        number: Maybe<u8>,
    ) -> Outcome {
        number.map(|number| number / 2).ok_or(SearchError)
    }

    testing::run::<halve>("{}").await.assert_error("nothing there");
    testing::run::<halve>(r#"{"number": 8}"#).await.assert_text("4");
}

struct Typed(u8);

#[tools]
#[expect(
    clippy::needless_arbitrary_self_type,
    unused_parens,
    reason = "what is tested"
)]
impl Typed {
    /// Tell the number.
    #[tool]
    async fn with_a_typed_receiver(self: &Self) -> u8 {
        self.0
    }

    /// Add to the number.
    #[tool]
    async fn with_parentheses(
        self: &(Self),
        /// What to add.
        number: u8,
    ) -> u8 {
        self.0 + number
    }
}

#[tokio::test]
async fn accepts_typed_receivers() {
    let mut registry = ToolRegistry::new();
    registry.register_all(Typed(7)).unwrap();
    let result = registry.execute_tool("1", "with_a_typed_receiver", "{}").await;
    assert_eq!(result.text(), Some("7"));
    let result = registry
        .execute_tool("2", "with_parentheses", r#"{"number": 2}"#)
        .await;
    assert_eq!(result.text(), Some("9"));
}
