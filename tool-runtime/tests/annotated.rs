//! Registration of annotated functions: definitions and calls of their tools.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::serde::{Deserialize, Serialize};
use tool_runtime::{
    CancellationToken, Context, Extension, Issue, RegistryError, State, Tool, ToolCall, ToolRegistry,
    testing, tool, tool_set, tools,
};

/// A way to match.
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
    const BLANK: &str = " \n";

    /// Act.
    #[tool]
    async fn act(#[arg(description = concat!(" ", "\n"))] count: u8) -> u8 {
        count
    }

    #[tool(description = BLANK)]
    async fn blank() {}

    let error = ToolRegistry::new().register::<act>().unwrap_err().to_string();
    assert!(error.contains("`count`") && error.contains("blank"), "{error}");

    let error = ToolRegistry::new().register::<blank>().unwrap_err();
    assert!(matches!(&error, RegistryError::MissingDescription { tool } if tool == "blank"));
    assert!(
        error.to_string().contains("the description of `blank` is blank"),
        "{error}"
    );
}

/// A `main` that returns the error prints its `Debug`.
#[test]
fn debug_of_a_registry_error_is_its_text() {
    let error = ToolRegistry::new().register::<search_files>().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`search_files` takes `workspace: State<"), "{text}");
    assert_eq!(format!("{error:?}"), text);
    assert_eq!(format!("{error:#?}"), text);
}

#[test]
fn missing_state_names_a_similar_one() {
    /// Count.
    #[tool]
    async fn count(counts: State<Counts>) -> usize {
        counts.0
    }

    /// Count.
    #[tool]
    async fn count_shared(counts: State<Arc<Counts>>) -> usize {
        counts.0
    }

    struct Counts(usize);
    struct Other;
    fn register<T: Tool>(mut registry: ToolRegistry) -> String {
        registry.register::<T>().unwrap_err().to_string()
    }
    let (plain, shared) = (type_name::<Counts>(), type_name::<Arc<Counts>>());
    let found = format!(
        "the registry has a `{shared}` instead; write `counts: State<{shared}>`, or give `.with_state(..)` a `{plain}`"
    );
    let error = register::<count>(
        ToolRegistry::new()
            .with_state(Other)
            .with_state(Arc::new(Counts(1))),
    );
    assert!(error.contains(&found), "{error}");
    let found = format!("the registry has a `{plain}` instead; write `counts: State<{plain}>`");
    let error = register::<count_shared>(ToolRegistry::new().with_state(Counts(1)));
    assert!(error.contains(&found), "{error}");
    for error in [
        register::<count>(ToolRegistry::new().with_state(Other)),
        register::<count>(ToolRegistry::new()),
    ] {
        assert!(
            error.contains("the registry has none; call `.with_state(..)`"),
            "{error}"
        );
    }
}

type StaticText = &'static str;

#[tokio::test]
async fn state_may_hold_a_static_reference() {
    /// Greet.
    #[tool]
    async fn greet(
        /// The host's.
        word: State<&'static str>,
    ) -> String {
        (*word).to_owned()
    }

    /// Greet.
    #[tool]
    async fn greet_by_alias(word: State<StaticText>) -> String {
        (*word).to_owned()
    }

    /// Greet.
    #[tool]
    async fn greet_all(words: State<Vec<(u8, &'static str)>>, last: Extension<&'static str>) -> String {
        format!("{words:?} {}", *last)
    }

    let mut registry = ToolRegistry::new()
        .with_state("hello")
        .with_state(vec![(1_u8, "world")]);
    registry
        .register_all(tool_set![greet, greet_by_alias, greet_all])
        .unwrap();
    for name in ["greet", "greet_by_alias"] {
        let result = registry.execute_tool("1", name, "{}").await;
        assert_eq!(result.text(), Some("hello"), "{name}");
    }
    let call = ToolCall::new("2", "greet_all", json!({}));
    let outcome = registry
        .call(call.with_context(Context::new().with_extension("!")))
        .await;
    assert_eq!(outcome.result.text(), Some(r#"State([(1, "world")]) !"#));
}

#[tokio::test]
async fn default_is_that_of_the_type() {
    /// Count.
    #[tool]
    async fn count(
        /// What to count.
        #[arg(default = Default::default())]
        names: Vec<String>,
        /// From where.
        #[arg(default = Default::default())]
        start: u8,
    ) -> usize {
        names.len() + usize::from(start)
    }

    testing::run::<count>("{}").await.assert_text("0");
    testing::run::<count>(r#"{"names": ["a"], "start": 2}"#)
        .await
        .assert_text("3");
}

fn description_of<T: Tool>() -> String {
    let mut registry = ToolRegistry::new();
    registry.register::<T>().unwrap();
    let definitions = registry.tool_definitions();
    definitions.first().unwrap().description.clone()
}

/// As rustdoc shows them: `#[doc = ".."]` lacks the space that follows the slashes of a comment.
#[test]
#[expect(clippy::doc_overindented_list_items, reason = "what is tested")]
fn mixed_doc_attributes_have_one_indentation() {
    /// List the steps:
    #[doc = "- the first"]
    ///   with a second line
    #[doc = "  and a third"]
    #[tool]
    async fn comment_first() {}

    #[doc = "List the steps:"]
    /// - the first
    #[tool]
    async fn attribute_first() {}

    #[doc = " Attributes alone:"]
    #[doc = "   - the first"]
    #[tool]
    async fn attributes() {}

    let steps = "List the steps:\n- the first\n  with a second line\n  and a third";
    assert_eq!(description_of::<comment_first>(), steps);
    assert_eq!(
        description_of::<attribute_first>(),
        "List the steps:\n- the first"
    );
    assert_eq!(description_of::<attributes>(), "Attributes alone:\n  - the first");
}

struct Conditional;

/// rustc expands a `cfg_attr` on the block, and not those inside.
#[tools]
impl Conditional {
    #[cfg_attr(all(), doc = "Describe")]
    #[cfg_attr(not(all()), doc = "Not this")]
    #[cfg_attr(all(), cfg_attr(all(), doc = "in two lines."), inline)]
    #[tool]
    async fn described(&self) -> u8 {
        1
    }

    /// Always.
    #[cfg_attr(all(), tool(name = "sometimes"))]
    async fn sometimes(
        &self,
        /// A number.
        number: u8,
    ) -> u8 {
        number
    }

    /// Never a tool.
    #[cfg_attr(not(all()), tool)]
    async fn never(
        &self,
        /// A number.
        number: u8,
    ) -> u8 {
        number
    }
}

#[tokio::test]
async fn methods_may_have_conditional_attributes() {
    assert_eq!(Conditional.never(3).await, 3);
    let mut registry = ToolRegistry::new();
    registry.register_all(Conditional).unwrap();
    let tools: Vec<_> = registry
        .tool_definitions()
        .into_iter()
        .map(|tool| (tool.name.as_str(), tool.description.as_str()))
        .collect();
    assert_eq!(
        tools,
        [("described", "Describe\nin two lines."), ("sometimes", "Always.")]
    );
    let result = registry.execute_tool("1", "sometimes", r#"{"number": 2}"#).await;
    assert_eq!(result.text(), Some("2"));
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
