//! An agent with a tool, on a real server of the Messages API or of Chat Completions. The text is printed as it arrives.
//!
//!     LIVE_KEY=sk-.. LIVE_MODEL=claude-sonnet-5 cargo run -- "How warm is it in Oslo?"
//!     LIVE_API=chat LIVE_URL=http://localhost:11434 LIVE_MODEL=qwen3 cargo run -- "How warm is it in Oslo?"

use std::env::{args, var};
use std::error::Error;
use std::io::Write;

use reqwest::{Client, RequestBuilder};
use tool_runtime::format::openai::chat;
use tool_runtime::format::{Delta, anthropic};
use tool_runtime::message::Message;
use tool_runtime::serde_json::{Value, json};
use tool_runtime::{ToolRegistry, tool};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Look up the weather of a city.
#[tool(read_only)]
async fn get_weather(
    /// The city, for example `Oslo`.
    city: String,
) -> String {
    format!("{city}: 21 °C, a light breeze from the west")
}

#[tokio::main]
async fn main() -> Result<()> {
    // Fails only if another provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let question = args().nth(1).unwrap_or("How warm is it in Oslo?".to_owned());
    let mut registry = ToolRegistry::new();
    registry.register::<get_weather>()?;
    match var("LIVE_API").as_deref() {
        Ok("chat") => run_chat(&registry, &question).await,
        _ => run_messages(&registry, &question).await,
    }
}

async fn run_messages(registry: &ToolRegistry, question: &str) -> Result<()> {
    let mut messages = vec![Message::user_text(question)];
    loop {
        let request = post("https://api.anthropic.com", "/v1/messages")?
            .header("x-api-key", var("LIVE_KEY").unwrap_or_default())
            .header("anthropic-version", "2023-06-01")
            .json(&json!({
                "model": var("LIVE_MODEL")?,
                "max_tokens": 4096,
                "stream": true,
                "tools": registry.tool_definitions(),
                "messages": messages,
            }));
        let mut reader = anthropic::ResponseReader::new();
        stream(request, |bytes| Ok(reader.push(bytes)?)).await?;
        let response = reader.finish()?;
        match response.stop_reason.as_str() {
            "tool_use" | "pause_turn" if !response.message.is_empty() => messages.push(response.message),
            "end_turn" | "stop_sequence" => return Ok(()),
            other => return Err(format!("the model stopped early: {other}").into()),
        }
        if response.stop_reason == "tool_use" {
            let outcomes = registry.execute_all(response.calls).await;
            messages.push(anthropic::results(outcomes.iter().map(|outcome| &outcome.result)));
        }
    }
}

async fn run_chat(registry: &ToolRegistry, question: &str) -> Result<()> {
    let tools: Vec<Value> = registry.tool_definitions().into_iter().map(chat::tool).collect();
    let mut messages = vec![json!({ "role": "user", "content": question })];
    loop {
        let request = post("https://api.openai.com", "/v1/chat/completions")?
            .bearer_auth(var("LIVE_KEY").unwrap_or_default())
            .json(
                &json!({ "model": var("LIVE_MODEL")?, "stream": true, "tools": tools, "messages": messages }),
            );
        let mut reader = chat::ResponseReader::new();
        stream(request, |bytes| Ok(reader.push(bytes)?)).await?;
        let response = reader.finish()?;
        if response.is_cut_off() {
            return Err(format!("the model stopped early: {:?}", response.finish_reason).into());
        }
        if response.calls.is_empty() {
            return Ok(());
        }
        messages.push(response.message);
        for outcome in registry.execute_all(response.calls).await {
            messages.push(chat::result(&outcome.result)?);
        }
    }
}

/// Builds a request to the server of `LIVE_URL`, or to the default server.
fn post(server: &str, path: &str) -> Result<RequestBuilder> {
    let server = var("LIVE_URL").unwrap_or(server.to_owned());
    Ok(Client::builder()
        .build()?
        .post(format!("{}{path}", server.trim_end_matches('/'))))
}

/// Sends a request, and prints the text of the response while it is read.
async fn stream(request: RequestBuilder, mut read: impl FnMut(&[u8]) -> Result<Vec<Delta>>) -> Result<()> {
    let mut response = request.send().await?;
    if !response.status().is_success() {
        return Err(format!("{}: {}", response.status(), response.text().await?).into());
    }
    while let Some(bytes) = response.chunk().await? {
        for delta in read(&bytes)? {
            match delta {
                Delta::Text(text) => print!("{text}"),
                Delta::Call { name } => println!("\n[{name}]"),
                _ => {}
            }
            std::io::stdout().flush()?;
        }
    }
    println!();
    Ok(())
}
