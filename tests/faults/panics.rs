//! Panics in every place of the user's code.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tool_runtime::{CancellationToken, Context, Issue, ToolCall, ToolRegistry, tool};

use crate::calls::{PanicsInDrop, brewing, call_of};
use crate::rows::row;
use crate::telemetry;

#[tokio::test]
async fn payload_is_a_str() {
    let row = row("panics::payload_is_a_str");
    let registry = brewing(async |_, _| -> String { panic!("the key is 1234") });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn payload_is_a_string() {
    let row = row("panics::payload_is_a_string");
    let registry = brewing(async |arguments, _| -> String { panic!("no room for {arguments}") });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn payload_is_not_text() {
    let row = row("panics::payload_is_not_text");
    let registry = brewing(async |_, _| -> String { std::panic::panic_any(1234) });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn payload_panics_in_drop() {
    let row = row("panics::payload_panics_in_drop");
    let registry = brewing(async |_, _| -> String { std::panic::panic_any(PanicsInDrop) });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn before_returning_a_future() {
    let row = row("panics::before_returning_a_future");
    let registry = brewing(|_, _| -> std::future::Ready<String> { panic!("no water") });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn in_the_drop_of_a_local() {
    let row = row("panics::in_the_drop_of_a_local");
    let registry = brewing(async |_, _| {
        let _cup = PanicsInDrop;
        tokio::task::yield_now().await;
        "never read"
    });
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test(start_paused = true)]
async fn when_dropped_at_its_deadline() {
    let row = row("panics::when_dropped_at_its_deadline");
    let context = Context::new().with_timeout(Duration::from_secs(3600));
    let outcome = holding_a_cup().call(call_of(&row).with_context(context)).await;
    row.check(&outcome);
}

#[tokio::test(start_paused = true)]
async fn when_dropped_by_cancellation() {
    let row = row("panics::when_dropped_by_cancellation");
    let token = CancellationToken::new();
    let registry = holding_a_cup();
    let call = call_of(&row).with_context(Context::new().with_cancellation(token.clone()));
    let (outcome, ()) = tokio::join!(registry.call(call), async { token.cancel() });
    row.check(&outcome);
}

#[tokio::test(start_paused = true)]
async fn when_dropped_with_its_caller() {
    let row = row("panics::when_dropped_with_its_caller");
    let registry = holding_a_cup();
    let call = registry.call(call_of(&row));
    tokio::time::timeout(Duration::from_secs(1), call)
        .await
        .unwrap_err();
    row.model_reads::<&str>([]);
    row.host_learns(telemetry::of(&row.id()).events);
}

/// Builds a registry with a tool that never ends, and panics when it is dropped.
fn holding_a_cup() -> ToolRegistry {
    brewing(async |_, _| {
        let _cup = PanicsInDrop;
        std::future::pending::<String>().await
    })
}

/// A value whose methods all panic.
#[derive(Debug, JsonSchema)]
struct Broken {}

impl Error for Broken {}

impl<'de> Deserialize<'de> for Broken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer)?;
        panic!("cannot be read")
    }
}

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("cannot be written")
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("cannot be shown")
    }
}

/// Make coffee with an argument whose deserialization panics.
#[tool(name = "brew")]
async fn of_broken(
    /// Ingredient.
    beans: Broken,
) -> String {
    let Broken {} = beans;
    "never made".to_owned()
}

#[tokio::test]
async fn in_the_deserialize_of_an_argument() {
    let row = row("panics::in_the_deserialize_of_an_argument");
    let mut registry = ToolRegistry::new();
    registry.register::<of_broken>().unwrap();
    let call = ToolCall::new(row.id(), "brew", r#"{ "beans": {} }"#);
    row.check(&registry.call(call).await);
}

/// Make coffee with a result whose serialization panics.
#[tool(name = "brew")]
async fn into_broken() -> Broken {
    Broken {}
}

#[tokio::test]
async fn in_the_serialize_of_its_result() {
    let row = row("panics::in_the_serialize_of_its_result");
    let mut registry = ToolRegistry::new();
    registry.register::<into_broken>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// Fail, and say so in a way that cannot be shown.
#[tool(name = "brew")]
async fn with_a_broken_error() -> Result<(), Broken> {
    Err(Broken {})
}

#[tokio::test]
async fn in_the_display_of_its_error() {
    let row = row("panics::in_the_display_of_its_error");
    let mut registry = ToolRegistry::new();
    registry.register::<with_a_broken_error>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// Fail for a reason that cannot be shown.
#[tool(name = "brew")]
async fn with_a_broken_cause() -> Result<(), Caused> {
    Err(Caused(Broken {}))
}

#[derive(Debug)]
struct Caused(Broken);

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no coffee")
    }
}

impl Error for Caused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[tokio::test]
async fn in_the_display_of_a_cause() {
    let row = row("panics::in_the_display_of_a_cause");
    let mut registry = ToolRegistry::new();
    registry.register::<with_a_broken_cause>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// A value whose serialization panics.
#[derive(Serialize)]
struct Cup {
    #[serde(skip)]
    _content: PanicsInDrop,
}

#[tokio::test]
async fn in_the_drop_of_its_result() {
    let row = row("panics::in_the_drop_of_its_result");
    let registry = brewing(async |_, _| {
        Ok::<_, String>(Cup {
            _content: PanicsInDrop,
        })
    });
    row.check(&registry.call(call_of(&row)).await);
}

/// Make coffee, and fail with an empty error.
#[tool(name = "brew", errors = no_words)]
async fn wordless(
    /// Number of cups.
    cups: u8,
) -> u8 {
    cups
}

/// Make coffee while there is water.
#[tool(name = "brew")]
async fn of_water(
    /// Amount of water.
    #[arg(default = water())]
    water: u8,
) -> u8 {
    water
}

fn water() -> u8 {
    assert!(!IS_EMPTY.load(Ordering::SeqCst), "no water left");
    1
}

/// The panic occurs after the registration, which also calls the default.
static IS_EMPTY: AtomicBool = AtomicBool::new(false);

#[tokio::test]
async fn in_a_default() {
    let row = row("panics::in_a_default");
    let mut registry = ToolRegistry::new();
    registry.register::<of_water>().unwrap();
    IS_EMPTY.store(true, Ordering::SeqCst);
    row.check(&registry.call(call_of(&row)).await);
}

fn no_words(errors: &[Issue]) -> String {
    panic!("no words for {} errors", errors.len())
}

#[tokio::test]
async fn in_the_errors_function() {
    let row = row("panics::in_the_errors_function");
    let mut registry = ToolRegistry::new();
    registry.register::<wordless>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// The next call of the tool, and the other calls of the turn, are not affected.
#[tokio::test]
async fn among_other_calls() {
    let row = row("panics::among_other_calls");
    let registry = brewing(async |arguments, _| match arguments["cup"].as_u64() {
        Some(1) => panic!("one cup too many"),
        _ => "coffee",
    });
    let cups = ["0", "1", "2"];
    let calls = cups.map(|cup| {
        let id = if cup == "1" { row.id() } else { cup.to_owned() };
        ToolCall::new(id, "brew", format!(r#"{{ "cup": {cup} }}"#))
    });
    let [before, panicked, after] = registry.execute_all(calls).await.try_into().unwrap();
    for outcome in [
        before,
        after,
        registry.call(ToolCall::new("3", "brew", "{}")).await,
    ] {
        assert_eq!(outcome.result.text(), Some("coffee"));
        assert_eq!(outcome.failure, None);
    }
    row.check(&panicked);
}
