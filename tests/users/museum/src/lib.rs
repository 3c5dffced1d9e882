//! A user who migrates from another library and uses its features: structured answers, progress, blocking functions, nested registries,
//! limited attempts, patches, tools of an MCP server, definitions in a file.

#![deny(warnings)]

use std::error::Error;
use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_builtins::AttemptLimit;
use tool_runtime::format::mcp;
use tool_runtime::serde_json::{Value, json};
use tool_runtime::{
    Context, Patch, Progress, RegistryError, State, Structured, ToolError, ToolRegistry, tool, tool_set,
};

/// The visitors of a year.
#[derive(Serialize, JsonSchema)]
pub struct Visitors {
    /// How many there were.
    total: u32,
    /// The day with most of them.
    busiest: Option<String>,
}

/// Count the visitors of a year.
#[tool(blocking, read_only)]
pub fn count_visitors(
    /// The year.
    year: u16,
    progress: Progress,
) -> Result<Structured<Visitors>, ToolError> {
    if year > 2025 {
        return Err(ToolError::retry("the year is not over"));
    }
    for month in 1..=12 {
        progress.report(month, 12, "months");
    }
    Ok(Structured(Visitors {
        total: 7175,
        busiest: None,
    }))
}

/// A painting.
#[derive(Debug, Default)]
pub struct Painting {
    place: Option<String>,
    loan: Option<Loan>,
}

/// A loan.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Loan {
    /// To whom; `null` for nobody in particular.
    #[serde(default)]
    pub to: Patch<String>,
}

/// Change what is known of a painting.
#[tool]
pub async fn change_painting(
    /// Where it hangs; `null` if it is in the depot.
    #[arg(length = 1..=20)]
    place: Patch<String>,
    /// The loan; `null` if it is back.
    loan: Patch<Loan>,
    painting: State<Mutex<Painting>>,
) -> Result<String, ToolError> {
    let mut painting = painting
        .lock()
        .map_err(|_| ToolError::new("broken", "restart the server"))?;
    place.apply(&mut painting.place);
    loan.apply(&mut painting.loan);
    Ok(format!("{:?}, {:?}", painting.place, painting.loan))
}

/// Registers the tools of the museum.
///
/// # Errors
///
/// If a definition is invalid.
pub fn museum() -> Result<ToolRegistry, RegistryError> {
    let mut museum = ToolRegistry::new().with_state(Mutex::new(Painting::default()));
    museum.register_all(tool_set![count_visitors, change_painting])?;
    Ok(museum)
}

/// Registers the tools of a server.
///
/// # Errors
///
/// If a definition is invalid.
pub fn shop(listed: &[Value]) -> Result<ToolRegistry, Box<dyn Error>> {
    let definitions = listed
        .iter()
        .map(mcp::definition)
        .collect::<Result<Vec<_>, _>>()?;
    let mut shop = ToolRegistry::new();
    shop.register_source(definitions, async |name: String, arguments: Value, _: Context| {
        // The result of `tools/call`.
        mcp::output(&json!({
            "content": [
                { "type": "text", "text": format!("{name} {arguments}") },
                { "type": "audio", "data": "UklGRgAAAAA=", "mimeType": "audio/wav" },
            ],
            "structuredContent": { "cents": 1200 },
        }))
    })?;
    Ok(shop)
}

/// Registers all tools, with a limit of two unsuccessful attempts in a row.
///
/// # Errors
///
/// If a definition is invalid.
pub fn registry() -> Result<ToolRegistry, Box<dyn Error>> {
    let listed = [json!({
        "name": "posters.price",
        "description": "Tell what a poster costs.",
        "inputSchema": {
            "type": "object",
            "properties": { "size": { "type": "integer", "description": "In centimetres." } },
        },
        "outputSchema": { "type": "object", "properties": { "cents": { "type": "integer" } } },
    })];
    let mut registry = ToolRegistry::new().layer(AttemptLimit::new(2));
    registry.nest("museum", museum()?)?.nest("shop", shop(&listed)?)?;
    Ok(registry)
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;
    use tool_runtime::result::Failure;
    use tool_runtime::{ProgressReport, ToolCall, testing};

    use super::*;

    #[test]
    fn the_model_reads_this() {
        testing::assert_definitions!(registry().unwrap(), "tools.json");
    }

    #[tokio::test]
    async fn a_blocking_function_reports_and_answers_with_a_value() {
        let (sender, latest) = watch::channel(ProgressReport::default());
        let call = ToolCall::new("toolu_01", "museum__count_visitors", r#"{"year": "2025"}"#)
            .with_context(Context::new().with_progress(sender));
        let outcome = testing::run_call(&registry().unwrap(), call).await;
        assert_eq!(outcome.result.structured.as_ref().unwrap()["total"], 7175);
        assert_eq!(latest.borrow().to_string(), "12 of 12: months");
        outcome.assert_text(r#"{"total":7175,"busiest":null}"#);
    }

    #[tokio::test]
    async fn attempts_in_vain_end() {
        let registry = registry().unwrap();
        let call = || {
            ToolCall::new("toolu_01", "museum__count_visitors", r#"{"year": 2030}"#)
                .with_context(Context::new().with_session("Ada"))
        };
        let first = registry.call(call()).await;
        assert_eq!((first.failure, first.notes.len()), (Some(Failure::Retryable), 0));
        let second = registry.call(call()).await;
        assert!(
            second.notes[0].contains("do not call `museum__count_visitors` again"),
            "{second:?}"
        );
    }

    #[tokio::test]
    async fn patches_keep_clear_and_set() {
        let registry = registry().unwrap();
        for (sent, answer) in [
            (
                r#"{"place": "Hall 1", "loan": {"to": "Oslo"}}"#,
                r#"Some("Hall 1"), Some(Loan { to: Set("Oslo") })"#,
            ),
            (r#"{"loan": {}}"#, r#"Some("Hall 1"), Some(Loan { to: Keep })"#),
            (
                r#"{"loan": {"to": null}}"#,
                r#"Some("Hall 1"), Some(Loan { to: Clear })"#,
            ),
            (r#"{"place": null}"#, r#"None, Some(Loan { to: Clear })"#),
            ("{}", r#"None, Some(Loan { to: Clear })"#),
        ] {
            let call = testing::run_in(&registry, "museum__change_painting", sent).await;
            call.assert_no_warnings().assert_text(answer);
        }
    }

    #[tokio::test]
    async fn a_server_is_called_by_its_own_names_and_read() {
        let outcome = testing::run_in(&registry().unwrap(), "shop__posters_price", r#"{"size": "50"}"#).await;
        assert_eq!(
            mcp::result(&outcome.result).unwrap(),
            json!({
                "content": [
                    { "type": "text", "text": r#"posters.price {"size":50}"# },
                    { "type": "text", "text": "audio (audio/wav, 8 bytes)" },
                ],
                "structuredContent": { "cents": 1200 },
            })
        );
    }
}
