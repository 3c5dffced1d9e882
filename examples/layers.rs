//! Layers of `tower` around every call, from the runtime or from any crate: a permission, a timeout and the offloading of long results, for
//! two tools that do not depend on them.

use std::time::Duration;

use examples::voice::{chapter, say, show};
use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::{Context, ToolCall, ToolRegistry, tool};
use tower::timeout::TimeoutLayer;

/// Read a web page.
#[tool(read_only)]
async fn fetch(
    /// Address.
    url: String,
) -> String {
    if url.contains("slow") {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let length = if url.contains("long") { 300 } else { 1 };
    format!("<p>{url}</p>\n").repeat(length)
}

/// Send an e-mail.
#[tool]
async fn send_mail(
    /// Recipient of the message.
    to: String,
    /// What.
    text: String,
) -> String {
    format!("sent {} characters to {to}", text.len())
}

/// Permissions of the user, which the host adds to the context of each call.
struct Allowed(&'static [&'static str]);

/// Denies calls before they reach the tool. The model receives the reason.
async fn permission(request: PermissionRequest) -> Decision {
    let name = request.call.name.as_str();
    match request.context.extension() {
        Some(Allowed(names)) if names.contains(&name) => Decision::Allow,
        _ => Decision::Deny(format!(
            "the user did not allow `{name}`; ask for it, or do without"
        )),
    }
}

#[tokio::main]
async fn main() {
    let files = MemoryWriter::new();
    let mut registry = ToolRegistry::new()
        // The last added layer is the outermost, so denied calls do not wait for a timeout.
        .layer(OffloadLayer::new(OffloadOptions::new("session-1", "/offloaded")).with_writer(files.clone()))
        .layer(TimeoutLayer::new(Duration::from_millis(100)))
        .layer(Permission::new(permission));
    registry
        .register::<fetch>()
        .and_then(ToolRegistry::register::<send_mail>)
        .expect("two tools without any state");

    chapter("All is well: the layers let it pass");
    call(&registry, "toolu_01", "fetch", r#"{"url":"https://example.org"}"#).await;

    chapter("Not allowed: the permission answers, the tool is not called");
    call(
        &registry,
        "toolu_02",
        "send_mail",
        r#"{"to":"everybody","text":"hello"}"#,
    )
    .await;

    chapter("Too slow: the timeout answers after 100 ms");
    call(
        &registry,
        "toolu_03",
        "fetch",
        r#"{"url":"https://slow.example.org"}"#,
    )
    .await;

    chapter("Too long: the model gets a pointer, the file has it all");
    call(
        &registry,
        "toolu_04",
        "fetch",
        r#"{"url":"https://long.example.org"}"#,
    )
    .await;
    for (file, content) in files.files() {
        say(
            "file",
            format!("{} has {} characters", file.display(), content.chars().count()),
        );
    }
}

async fn call(registry: &ToolRegistry, id: &str, name: &str, input: &str) {
    say(name, input);
    let context = Context::new().with_extension(Allowed(&["fetch"]));
    let outcome = registry
        .call(ToolCall::new(id, name, input).with_context(context))
        .await;
    show("tool_result", &outcome.result);
}
