//! Upstream that answers requests in order, and keeps them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Upstream of the Messages API, on a thread.
pub(crate) struct Upstream {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Upstream {
    /// Starts an upstream with the contents of its messages.
    pub(crate) fn start(messages: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<Value>>>::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for content in messages {
                let (connection, _) = listener.accept().unwrap();
                let request = read(&connection);
                let is_stream = request["stream"] == true;
                kept.lock().unwrap().push(request);
                answer(connection, &content, is_stream);
            }
        });
        Self { url, requests }
    }

    /// Returns the bodies of the requests.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the names of the tools of each request.
    pub(crate) fn tools(&self) -> Vec<Vec<String>> {
        let requests = self.requests();
        requests.iter().map(names).collect()
    }

    /// Returns the last result of a tool that the upstream received.
    pub(crate) fn last_result(&self) -> Value {
        let requests = self.requests();
        let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"][0].clone()
    }
}

/// Returns the names of the tools of a request.
fn names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

fn read(connection: &TcpStream) -> Value {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn answer(mut connection: TcpStream, content: &Value, is_stream: bool) {
    let has_call = content
        .as_array()
        .unwrap()
        .iter()
        .any(|block| block["type"] == "tool_use");
    let stop_reason = if has_call { "tool_use" } else { "end_turn" };
    let mut message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let (kind, body) = if is_stream {
        message["content"] = json!([]);
        message["stop_reason"] = Value::Null;
        ("text/event-stream", events(&message, content, stop_reason))
    } else {
        ("application/json", message.to_string())
    };
    // The client may have disconnected.
    let _ = write!(
        connection,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
}

fn events(message: &Value, content: &Value, stop_reason: &str) -> String {
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in content.as_array().unwrap().iter().enumerate() {
        let mut start = block.clone();
        let delta = if block["type"] == "text" {
            start["text"] = "".into();
            json!({ "type": "text_delta", "text": block["text"] })
        } else {
            start["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop_reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 1 } }));
    events.push(json!({ "type": "message_stop" }));
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

/// Returns a message with a call.
pub(crate) fn call(name: &str, input: &Value) -> Value {
    json!([{ "type": "tool_use", "id": format!("toolu_{name}"), "name": name, "input": input }])
}

/// Returns a message with a text.
pub(crate) fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}
