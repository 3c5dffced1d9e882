//! Transient errors, and the number of attempts.

use std::error::Error;
use std::fmt;

use serde_json::Value;
use tool_builtins::AttemptLimit;
use tool_runtime::result::Failure;
use tool_runtime::{Context, ToolCall, ToolError, ToolOutcome, ToolOutput, ToolRegistry, tool, tool_set};

use crate::execution::tools::definition;

const NOTE: &str = "This may succeed when it is tried again.";

/// An error with another error as its source.
#[derive(Debug)]
struct Around(ToolError);

impl fmt::Display for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no seat was reserved")
    }
}

impl Error for Around {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn busy() -> ToolError {
    ToolError::retry("the booking system is busy")
}

/// Reserve a seat.
#[tool]
async fn itself() -> Result<(), ToolError> {
    Err(busy())
}

/// Reserve a seat.
#[tool]
async fn around() -> Result<(), Around> {
    Err(Around(busy()))
}

/// Reserve a seat.
#[tool(causes)]
async fn with_causes() -> Result<(), Around> {
    Err(Around(busy()))
}

/// Reserve a seat.
#[tool]
async fn boxed() -> Result<(), Box<dyn Error + Send + Sync>> {
    Err(Around(busy()).into())
}

/// Reserve a seat.
#[tool]
async fn anyhow_alone() -> anyhow::Result<()> {
    Err(busy())?
}

/// Reserve a seat.
#[tool]
async fn anyhow_with_context() -> anyhow::Result<()> {
    Err(anyhow::Error::from(busy()).context("no seat was reserved"))
}

/// Reserve a seat.
#[tool(causes)]
async fn anyhow_with_causes() -> anyhow::Result<()> {
    Err(anyhow::Error::from(Around(busy())).context("sorry"))
}

/// Reserve a seat.
#[tool]
async fn anyhow_for_good() -> anyhow::Result<()> {
    let error = ToolError::new("sold_out", "every seat is taken");
    Err(anyhow::Error::from(error).context("no seat was reserved"))
}

/// An error that displays as its source.
#[derive(Debug)]
struct Transparent(ToolError);

impl fmt::Display for Transparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Transparent {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Reserve a seat.
#[tool(causes)]
async fn transparent() -> Result<(), Transparent> {
    Err(Transparent(busy()))
}

/// Reserve a seat.
#[tool(blocking)]
fn output() -> ToolOutput {
    ToolOutput::retry("the booking system is busy")
}

/// Reserve a seat.
#[tool]
async fn for_good() -> Result<(), Around> {
    Err(Around(ToolError::new("sold_out", "every seat is taken")))
}

async fn outcome(registry: &ToolRegistry, tool: &str, context: Context) -> ToolOutcome {
    let call = ToolCall::new("toolu_1", tool, "{}").with_context(context);
    registry.call(call).await
}

#[tokio::test]
async fn transient_error_is_reported_to_model_and_host() {
    let mut registry = ToolRegistry::new();
    registry.register::<itself>().unwrap();
    registry.register::<around>().unwrap();
    registry.register::<with_causes>().unwrap();
    registry.register::<boxed>().unwrap();
    registry.register::<output>().unwrap();
    registry.register::<for_good>().unwrap();
    registry
        .register_all(tool_set![
            anyhow_alone,
            anyhow_with_context,
            anyhow_with_causes,
            anyhow_for_good,
            transparent
        ])
        .unwrap();
    let handler = async |_: Value, _: Context| Err::<String, _>(busy());
    registry.register_dynamic(definition("dynamic"), handler).unwrap();
    let handler = async |_: Value, _: Context| Err::<String, _>(anyhow::Error::from(busy()));
    registry
        .register_dynamic(definition("dynamic_anyhow"), handler)
        .unwrap();
    let handler = async |_: Value, _: Context| Err::<String, _>(anyhow::Error::from(busy()).context("sorry"));
    registry
        .register_dynamic(definition("dynamic_context"), handler)
        .unwrap();
    for (tool, text) in [
        ("itself", "the booking system is busy"),
        ("around", "no seat was reserved"),
        ("with_causes", "no seat was reserved: the booking system is busy"),
        ("boxed", "no seat was reserved"),
        ("output", "the booking system is busy"),
        ("dynamic", "the booking system is busy"),
        ("anyhow_alone", "the booking system is busy"),
        ("anyhow_with_context", "no seat was reserved"),
        (
            "anyhow_with_causes",
            "sorry: no seat was reserved: the booking system is busy",
        ),
        ("transparent", "the booking system is busy"),
        ("dynamic_anyhow", "the booking system is busy"),
        ("dynamic_context", "sorry"),
    ] {
        let outcome = outcome(&registry, tool, Context::new()).await;
        assert_eq!(outcome.failure, Some(Failure::Retryable), "{tool}");
        let whole = format!("{text}\n\n{NOTE}");
        assert_eq!(outcome.result.text(), Some(whole.as_str()), "{tool}");
        assert!(outcome.result.is_error);
    }
    for tool in ["for_good", "anyhow_for_good"] {
        let outcome = outcome(&registry, tool, Context::new()).await;
        assert_eq!(
            (outcome.failure, outcome.result.text()),
            (Some(Failure::Failed), Some("no seat was reserved")),
            "{tool}"
        );
    }
}

/// Reserve a seat, if the day is even.
#[tool]
async fn reserve(
    /// The day.
    day: u8,
) -> Result<&'static str, ToolError> {
    match day {
        0 => Err(ToolError::new("closed", "there is no day 0")),
        day if day % 2 == 0 => Ok("reserved"),
        _ => Err(busy()),
    }
}

#[tokio::test]
async fn result_asks_the_model_to_stop_at_the_limit() {
    let mut registry = ToolRegistry::new().layer(AttemptLimit::new(3));
    registry.register::<reserve>().unwrap();
    registry.register::<itself>().unwrap();
    let limit_note = async |session: &'static str, tool: &str, arguments: &'static str| {
        let context = Context::new().with_session(session);
        let call = ToolCall::new("toolu_1", tool, arguments).with_context(context);
        let outcome = registry.call(call).await;
        let text = outcome.result.text().unwrap().to_owned();
        let note = text.split("in a row that failed: do not call").nth(1);
        note.map(|note| {
            (
                note.starts_with(&format!(" `{tool}` again")),
                text.contains("attempt 3"),
            )
        })
    };
    // Rejected calls and transient errors count equally.
    assert_eq!(limit_note("a", "reserve", r#"{"day": 1}"#).await, None);
    assert_eq!(limit_note("a", "reserve", "{}").await, None);
    // Another session, and another tool.
    assert_eq!(limit_note("b", "reserve", "{}").await, None);
    assert_eq!(limit_note("a", "itself", "{}").await, None);
    assert_eq!(
        limit_note("a", "reserve", r#"{"day": "one"}"#).await,
        Some((true, true))
    );
    assert_eq!(
        limit_note("a", "reserve", r#"{"day": 1}"#).await,
        Some((true, false))
    );
    // A success or a permanent error resets the count.
    for other in [r#"{"day": 2}"#, r#"{"day": 0}"#] {
        assert_eq!(limit_note("a", "reserve", other).await, None);
        assert_eq!(limit_note("a", "reserve", "{}").await, None);
        assert_eq!(limit_note("a", "reserve", "{}").await, None);
        assert_eq!(limit_note("a", "reserve", "{}").await, Some((true, true)));
    }
    // Unknown tools are not counted.
    for _ in 0..5 {
        assert_eq!(limit_note("a", "reverse", "{}").await, None);
    }
}

#[tokio::test]
async fn attempts_are_counted_by_the_name_that_the_model_has() {
    let limit = AttemptLimit::new(2);
    let mut inner = ToolRegistry::new().layer(limit);
    inner.register::<itself>().unwrap();
    let mut registry = ToolRegistry::new();
    registry
        .nest("train", inner.clone())
        .unwrap()
        .nest("bus", inner)
        .unwrap();
    let text = async |tool: &str| {
        let outcome = outcome(&registry, tool, Context::new()).await;
        outcome.result.text().unwrap().to_owned()
    };
    assert!(!text("train__itself").await.contains("do not call"));
    assert!(!text("bus__itself").await.contains("do not call"));
    assert!(text("train__itself").await.ends_with(
        "attempt 2 in a row that failed: do not call `train__itself` again, and tell the user what went wrong."
    ));
}
