//! Bodies of many small values, and a gateway before an upstream that answers with such a body.

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tool_gateway::upstream::{Upstream, UpstreamFuture};
use tool_gateway::{Gateway, Offer};
use tool_runtime::{Context, ToolDefinition, ToolRegistry};

/// Size of the bodies, in bytes.
pub(crate) fn size() -> usize {
    let mebibytes = std::env::var("GATEWAY_BODY_MB").ok();
    mebibytes.map_or(1 << 19, |text| text.parse::<usize>().unwrap() << 20)
}

/// Returns a list of equal items with this size.
pub(crate) fn list(item: &str, size: usize) -> String {
    let mut list = format!("[{item}");
    list.reserve_exact(size);
    while list.len() < size {
        list.push(',');
        list.push_str(item);
    }
    list.push(']');
    list
}

/// The shape of a request's body.
pub(crate) struct Shape {
    pub(crate) name: String,
    /// The body, with `LIST` in place of a long list.
    body: &'static str,
    item: &'static str,
}

impl Shape {
    /// Returns all shapes.
    pub(crate) fn all() -> Vec<Self> {
        const BODIES: [(&str, &str); 9] = [
            (
                "blocks",
                r#"{"model":"m","messages":[{"role":"user","content":LIST}]}"#,
            ),
            (
                "begun answer",
                r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":LIST}]}"#,
            ),
            (
                "tool result",
                r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":LIST}]}]}"#,
            ),
            (
                "arguments",
                r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"a":LIST}}]},{"role":"user","content":"a"}]}"#,
            ),
            (
                "system message",
                r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"system","content":LIST}]}"#,
            ),
            (
                "tools",
                r#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":LIST}"#,
            ),
            (
                "schema",
                r#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"name":"lookup","input_schema":{"enum":LIST}}]}"#,
            ),
            (
                "metadata",
                r#"{"model":"m","messages":[{"role":"user","content":"a"}],"metadata":{"user_id":LIST}}"#,
            ),
            (
                "system",
                r#"{"model":"m","messages":[{"role":"user","content":"a"}],"system":LIST}"#,
            ),
        ];
        const MESSAGES: [(&str, &str); 5] = [
            (
                "messages",
                r#"{"role":"user","content":""},{"role":"assistant","content":[]}"#,
            ),
            ("messages of one role", r#"{"role":"user","content":""}"#),
            ("system messages", r#"{"role":"system","content":""}"#),
            (
                "messages and system messages",
                r#"{"role":"user","content":""},{"role":"system","content":""}"#,
            ),
            (
                "messages of other roles",
                r#"{"role":"x","content":""},{"role":"y","content":""}"#,
            ),
        ];
        let items = ["{}", "1", r#"{"type":"text","text":"abc"}"#];
        let lists = BODIES.into_iter().flat_map(|(name, body)| {
            items.map(|item| Self {
                name: format!("{item} as {name}"),
                body,
                item,
            })
        });
        let fields = ["metadata", "messages.0.content.0"].map(|place| Self {
            name: format!("fields of {place}"),
            body: if place == "metadata" {
                r#"{"model":"m","messages":[{"role":"user","content":"a"}],"metadata":FIELDS}"#
            } else {
                r#"{"model":"m","messages":[{"role":"user","content":[FIELDS]}]}"#
            },
            item: r#""":1"#,
        });
        let messages = MESSAGES.map(|(name, item)| Self {
            name: name.to_owned(),
            body: r#"{"model":"m","messages":LIST}"#,
            item,
        });
        let tools = Self {
            name: "small tools".to_owned(),
            body: r#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":LIST}"#,
            item: r#"{"name":"a","input_schema":{"type":"object","properties":{}}}"#,
        };
        lists.chain(fields).chain(messages).chain([tools]).collect()
    }

    pub(crate) fn body(&self) -> String {
        self.with_list(&list(self.item, size()))
    }

    /// Returns a body within the caps on bytes and JSON values: a long text takes the place of the items that are too many.
    pub(crate) fn accepted_body(&self) -> String {
        const MAX_ITEMS: usize = 1_900_000;
        let size = size().min((32 << 20) - 1024);
        let items = size.min(MAX_ITEMS * (self.item.len() + 1));
        let mut list = list(self.item, items);
        list.pop();
        list.push_str(&format!(",\"{}\"]", "a".repeat(size - items)));
        self.with_list(&list)
    }

    fn with_list(&self, list: &str) -> String {
        if self.body.contains("FIELDS") {
            let fields = list.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
            return self.body.replace("FIELDS", &format!("{{{fields}}}"));
        }
        self.body.replace("LIST", list)
    }
}

/// Returns a message of the model with this content.
pub(crate) fn message(content: &str) -> String {
    format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":"end_turn","usage":{{"output_tokens":1}}}}"#
    )
}

/// Returns the stream of a message of the model with these blocks.
pub(crate) fn streamed(blocks: &[&str]) -> String {
    let mut text = String::new();
    let mut push = |name: &str, fields: &str| {
        text.push_str(&format!(
            "event: {name}\ndata: {{\"type\":\"{name}\"{fields}}}\n\n"
        ));
    };
    push(
        "message_start",
        r#","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{}}"#,
    );
    for (index, block) in blocks.iter().enumerate() {
        push(
            "content_block_start",
            &format!(r#","index":{index},"content_block":{block}"#),
        );
        push("content_block_stop", &format!(r#","index":{index}"#));
    }
    push(
        "message_delta",
        r#","delta":{"stop_reason":"end_turn"},"usage":{}"#,
    );
    push("message_stop", "");
    text
}

/// An upstream that answers each request with one body.
struct Constant {
    kind: &'static str,
    body: Bytes,
}

impl Upstream for Constant {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let response = Response::builder().header("content-type", self.kind);
        let response = response.body(pieces(self.body.clone())).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "constant".to_owned()
    }
}

/// Returns a body whose bytes arrive in pieces.
fn pieces(bytes: Bytes) -> Body {
    Body::from_stream(stream::unfold(bytes, |mut rest| async move {
        let piece = rest.split_to(rest.len().min(64 << 10));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), rest))
    }))
}

/// Returns a gateway whose tool `lookup` takes part in each turn if `is_turn`; otherwise messages pass through it.
pub(crate) fn gateway(is_turn: bool, response: impl Into<Bytes>) -> Gateway {
    let mut registry = ToolRegistry::new();
    if is_turn {
        let schema = json!({ "type": "object", "properties": { "key": { "type": "string" } } });
        let definition = ToolDefinition::new("lookup", "Looks up a key.", schema);
        let lookup = |_: Value, _: Context| async { Ok::<_, String>("found") };
        registry.register_dynamic(definition, lookup).unwrap();
    }
    let body: Bytes = response.into();
    let kind = if body.starts_with(b"event:") {
        "text/event-stream"
    } else {
        "application/json"
    };
    Gateway::new(registry, Constant { kind, body }).with_offer(Offer::Always)
}

/// Sends a request whose body arrives in pieces. Returns the status, and the size of the response.
pub(crate) async fn send(app: &Router, body: Bytes) -> (u16, usize) {
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;
    let request = Request::post("/v1/messages").header("content-type", "application/json");
    let request = request.body(pieces(body)).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        read += frame.unwrap().data_ref().map_or(0, Bytes::len);
    }
    (status, read)
}
