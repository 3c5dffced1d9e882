//! Tool with one parameter, and three readings of a text for it: with the fast path, without the fast path, and with
//! serde only.

use std::fmt::Debug;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use tests::runtime::block_on;
use tool_runtime::{Policy, RawArguments, Tool, ToolCall, ToolOutcome, ToolRegistry};

pub struct Probe {
    pub name: &'static str,
    /// Schema of the arguments.
    pub schema: Value,
    registry: ToolRegistry,
    without_fast_path: ToolRegistry,
    plain: Box<Plain>,
}

/// Reads a text only with serde. Returns the value in its `Debug` form.
type Plain = dyn Fn(&str) -> Result<String, String>;

/// Result of reading a text.
#[derive(Debug)]
pub struct Read {
    /// `Debug` form of the value, if the function was called.
    pub value: Option<String>,
    /// Name of the `Deserializer` of the function's parameters, if the function was called.
    pub deserializer: Option<String>,
    /// Codes and paths.
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
}

impl Probe {
    /// Creates the probe of a tool with the parameters `it` and `reader`.
    pub fn new<Probed: Tool, T: DeserializeOwned + Debug + 'static>(name: &'static str) -> Self {
        Self::of::<Probed, Arguments<T>>(name, |Arguments { it, .. }| format!("{it:?}"))
    }

    /// Creates the probe of a tool whose arguments serde can read into a struct.
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
            without_fast_path: registry.clone().without_fast_path(),
            registry,
            plain: Box::new(plain),
        }
    }

    /// Reads an input like a registry.
    pub fn read<'a>(&self, input: impl Into<RawArguments<'a>>, policy: Policy) -> Read {
        self.read_in(&self.registry, input, policy)
    }

    /// Reads an input without the fast path.
    pub fn read_without_fast_path<'a>(&self, input: impl Into<RawArguments<'a>>, policy: Policy) -> Read {
        self.read_in(&self.without_fast_path, input, policy)
    }

    fn read_in<'a>(
        &self,
        registry: &ToolRegistry,
        input: impl Into<RawArguments<'a>>,
        policy: Policy,
    ) -> Read {
        let call = ToolCall::new("id", self.name, input).with_policy(policy);
        let outcome = block_on(registry.call(call));
        let answer = outcome.result.text().filter(|_| !outcome.result.is_error);
        let (deserializer, value) = answer.and_then(|answer| answer.split_once('\n')).unzip();
        assert_eq!(
            value.is_none(),
            !outcome.errors.is_empty(),
            "{}: {:?}",
            self.name,
            outcome.result
        );
        Read {
            value: value.map(str::to_owned),
            deserializer: deserializer.map(str::to_owned),
            warnings: listed(&outcome, false),
            errors: listed(&outcome, true),
        }
    }

    /// Reads a text only with serde.
    pub fn plain(&self, text: &str) -> Result<String, String> {
        (self.plain)(text)
    }
}

/// Arguments of every probe, for serde.
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

/// Records the `Deserializer` that provides its items. A list, since all deserializers treat scalars equally.
pub struct Reader(&'static str);

impl<'de> Deserialize<'de> for Reader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [Item(reader)] = <[Item; 1]>::deserialize(deserializer)?;
        Ok(Self(reader))
    }
}

/// Name of the `Deserializer` of an item.
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

#[expect(clippy::needless_pass_by_value, reason = "the macro passes a parameter")]
pub fn answer(it: &impl Debug, reader: Reader) -> String {
    format!("{}\n{it:?}", reader.0)
}
