//! A tool of one parameter, and the ways to read a text for it: straight, through the tree, and with serde alone.

use std::fmt::Debug;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use tool_runtime::{Policy, RawArguments, Tool, ToolCall, ToolOutcome, ToolRegistry};

pub struct Probe {
    pub name: &'static str,
    /// The schema of the arguments.
    pub schema: Value,
    registry: ToolRegistry,
    plain: Box<Plain>,
}

/// Reads a text with serde alone, and shows what came of it.
type Plain = dyn Fn(&str) -> Result<String, String>;

/// What came of a text.
#[derive(Debug)]
pub struct Read {
    /// The value as `Debug` shows it, if the function was called.
    pub value: Option<String>,
    /// Whether no tree was built.
    pub is_fast: bool,
    /// Codes and paths.
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
}

impl Probe {
    /// Of a tool with the parameters `it` and `reader`.
    pub fn new<Probed: Tool, T: DeserializeOwned + Debug + 'static>(name: &'static str) -> Self {
        Self::of::<Probed, Arguments<T>>(name, |Arguments { it, .. }| format!("{it:?}"))
    }

    /// Of a tool whose arguments serde can read into a type of their own.
    pub fn of<Probed: Tool, A: DeserializeOwned + 'static>(
        name: &'static str,
        show: fn(&A) -> String,
    ) -> Self {
        let mut registry = ToolRegistry::new();
        registry
            .register::<Probed>()
            .unwrap_or_else(|e| panic!("`{name}`: {e}"));
        let schema = registry.tool_definitions()[0].input_schema.clone();
        let plain = move |text: &str| match serde_json::from_str(text) {
            Ok(arguments) => Ok(show(&arguments)),
            Err(error) => Err(error.to_string()),
        };
        Self {
            name,
            schema,
            registry,
            plain: Box::new(plain),
        }
    }

    pub fn read(&self, input: impl Into<RawArguments>, policy: Policy) -> Read {
        let call = ToolCall::new("id", self.name, input).with_policy(policy);
        let outcome = RUNTIME.with(|runtime| runtime.block_on(self.registry.call(call)));
        let answer = outcome.result.text().filter(|_| !outcome.result.is_error);
        let value = answer.and_then(|answer| answer.split_once(' '));
        assert_eq!(
            value.is_none(),
            !outcome.errors.is_empty(),
            "{}: {:?}",
            self.name,
            outcome.result
        );
        Read {
            value: value.map(|(_, value)| value.to_owned()),
            is_fast: value.is_some_and(|(reader, _)| reader == FAST),
            warnings: listed(&outcome, false),
            errors: listed(&outcome, true),
        }
    }

    /// What serde alone makes of it.
    pub fn plain(&self, text: &str) -> Result<String, String> {
        (self.plain)(text)
    }
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
}

/// The arguments of every probe, for serde.
#[derive(serde::Deserialize)]
struct Arguments<T> {
    it: T,
    #[serde(rename = "reader")]
    _reader: [bool; 1],
}

fn listed(outcome: &ToolOutcome, errors: bool) -> Vec<String> {
    let issues = if errors {
        &outcome.errors
    } else {
        &outcome.warnings
    };
    let listed = issues
        .iter()
        .map(|issue| format!("{} at {}", issue.code, issue.path));
    listed.collect()
}

/// Tells which of the two ways of reading it came along: a list, since there is one way for scalars.
pub struct Reader(&'static str);

/// What stands for the way without a tree.
const FAST: &str = "fast";

impl<'de> Deserialize<'de> for Reader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [Item(reader)] = <[Item; 1]>::deserialize(deserializer)?;
        let (by_text, by_tree) = (
            reader.contains("arguments::conformed::"),
            reader.contains("arguments::node::"),
        );
        match (by_text, by_tree) {
            (true, false) => Ok(Self(FAST)),
            (false, true) => Ok(Self("tree")),
            _ => panic!("neither straight from the text nor by the tree: {reader}"),
        }
    }
}

/// Who reads it.
struct Item(&'static str);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|_| Self(std::any::type_name::<D>()))
    }
}

impl JsonSchema for Reader {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reader".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <[bool; 1]>::json_schema(generator)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it was a parameter")]
pub fn answer(it: &impl Debug, reader: Reader) -> String {
    format!("{} {it:?}", reader.0)
}
