use tool_runtime::{ToolRegistry, serde_json, tool};

/// Find trains between two stations.
#[tool]
async fn find_trains(
    /// Where from, for example `Oslo S`.
    from: String,
    /// Where to.
    to: String,
    /// Only trains after this time, as `HH:MM`.
    #[arg(pattern = "^[0-2][0-9]:[0-5][0-9]$")]
    after: Option<String>,
    /// The most trains to return.
    #[arg(default = 3, range = 1..=10)]
    limit: u8,
) -> Result<Vec<String>, String> {
    if from == to {
        return Err(format!("`from` and `to` are both `{from}`; send two stations"));
    }
    let after = after.unwrap_or_default();
    let times = ["08:03", "09:03", "10:03", "11:03"];
    let later = times.into_iter().filter(|time| *time > after.as_str());
    let trains = later.map(|time| format!("{time} {from} → {to}"));
    Ok(trains.take(limit.into()).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = ToolRegistry::new();
    registry.register::<find_trains>()?;

    // Send these with your request to the model ...
    println!("{}", serde_json::to_string_pretty(&registry.tool_definitions())?);

    // ... and answer each `tool_use` that comes back.
    let input = r#"{ "from": "Oslo S", "to": "Bergen", "limit": "2" }"#;
    let result = registry.execute_tool("toolu_01", "find_trains", input).await;
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
