//! Properties of every request and of every upstream response. The fuzz targets of `fuzz/` search for counterexamples.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use serde_json::Value;
use serde_json::value::RawValue;
use tool_gateway::upstream::{ScriptUpstream, Upstream, UpstreamFuture};
use tool_gateway::{Gateway, Offer};
use tool_runtime::repair::FormatFixing;
use tool_runtime::{State, ToolRegistry, tool};
use tower::ServiceExt as _;

/// Count up.
#[tool]
async fn count(counter: State<Arc<AtomicUsize>>) -> String {
    counter.fetch_add(1, Ordering::Relaxed).to_string()
}

fn registry(counter: &Arc<AtomicUsize>) -> ToolRegistry {
    let mut registry = ToolRegistry::new().with_state(Arc::clone(counter));
    registry.register::<count>().unwrap();
    registry
}

fn ask(gateway: Gateway, path: &str, body: Vec<u8>) -> (StatusCode, Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let request = Request::post(path).body(Body::from(body)).unwrap();
        let response = gateway.router().oneshot(request).await.unwrap();
        let status = response.status();
        let answer = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, answer.into())
    })
}

/// Checks that a request is answered, or rejected in the API's form with a message. Returns whether it was answered.
pub(crate) fn request(path: &str, body: &[u8]) -> bool {
    let script = r#"{"turns":[{"content":[{"type":"text","text":"fine"}]}]}"#;
    let upstream = ScriptUpstream::from_json(script).unwrap();
    let (status, answer) = ask(
        Gateway::new(registry(&Arc::default()), upstream),
        path,
        body.to_vec(),
    );
    let text = || {
        format!(
            "{status} for {}: {}",
            String::from_utf8_lossy(body),
            String::from_utf8_lossy(&answer)
        )
    };
    if status == StatusCode::OK {
        return true;
    }
    assert_eq!(status, StatusCode::BAD_REQUEST, "{}", text());
    let error: Value = serde_json::from_slice(&answer).unwrap_or_else(|_| panic!("{}", text()));
    assert_eq!(error["error"]["type"], "invalid_request_error", "{}", text());
    assert!(
        error["error"]["message"]
            .as_str()
            .is_some_and(|message| message.len() > 10),
        "{}",
        text()
    );
    false
}

/// An upstream that always answers with these bytes.
struct Bytes(Vec<u8>, bool);

impl Upstream for Bytes {
    fn send(&self, _: Request<bytes::Bytes>) -> UpstreamFuture<'_> {
        let kind = if self.1 {
            "text/event-stream"
        } else {
            "application/json"
        };
        let response = Response::builder()
            .header("content-type", kind)
            .body(Body::from(self.0.clone()))
            .unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "bytes".to_owned()
    }
}

/// Asserts that the client's message ends or is an error, for any response of the upstream. Returns the number of calls that ran.
pub(crate) fn upstream(bytes: &[u8], is_stream: bool, wants_stream: bool) -> usize {
    let counter = Arc::new(AtomicUsize::new(0));
    let gateway = Gateway::new(registry(&counter), Bytes(bytes.to_vec(), is_stream))
        .with_offer(Offer::Always)
        .with_max_rounds(3);
    let body = format!(r#"{{"stream":{wants_stream},"messages":[{{"role":"user","content":"hi"}}]}}"#);
    let (status, answer) = ask(gateway, "/v1/messages", body.into_bytes());
    let answer = String::from_utf8_lossy(&answer);
    let text = || format!("{status} {}\n=>\n{answer}", String::from_utf8_lossy(bytes));
    if status != StatusCode::OK {
        assert!(answer.contains(r#""type":"error""#), "{}", text());
    } else if wants_stream {
        let last = answer.trim_end().rsplit("\n\n").next().unwrap_or_default();
        let is_end = last.starts_with("event: message_stop") || last.starts_with("event: error");
        assert!(is_end, "{}", text());
    } else {
        assert!(
            serde_json::from_str::<Value>(&answer).is_ok_and(|message| message.is_object()),
            "{}",
            text()
        );
    }
    counter.load(Ordering::Relaxed)
}

/// Checks that a response of `OpenAI`'s APIs passes. If the response is JSON, each call has its original arguments or JSON. Returns whether
/// any arguments were repaired.
pub(crate) fn whole_response(path: &str, bytes: &[u8]) -> bool {
    let gateway = Gateway::new(ToolRegistry::new(), Bytes(bytes.to_vec(), false))
        .with_format_fixing(FormatFixing::for_every_tool());
    let (status, answer) = ask(gateway, path, b"{}".to_vec());
    let text = || {
        format!(
            "{status} {}\n=>\n{}",
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&answer)
        )
    };
    assert_eq!(status, StatusCode::OK, "{}", text());
    if answer == bytes {
        return false;
    }
    let read = |bytes: &[u8]| {
        // JSON allows numbers of any size, but `Value` does not.
        let bytes = String::from_utf8(bytes.to_vec()).unwrap();
        let bytes = bytes.replace("e999", "e-9");
        let mut response: Value = serde_json::from_str(&bytes).unwrap_or_else(|_| panic!("{}", text()));
        let mut arguments = Vec::new();
        take_arguments(&mut response, &mut arguments);
        (response, arguments)
    };
    let ((came, before), (sent, after)) = (read(bytes), read(&answer));
    assert_eq!((came, before.len()), (sent, after.len()), "{}", text());
    for (before, after) in before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
    {
        let is_json = |value: &Value| {
            let text = value.as_str();
            text.is_some_and(|text| serde_json::from_str::<&RawValue>(text).is_ok())
        };
        assert!(!is_json(before) && is_json(after), "{}", text());
    }
    true
}

/// Removes all arguments from a response, and returns them.
fn take_arguments(value: &mut Value, taken: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| take_arguments(item, taken)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "arguments" {
                    taken.push(value.take());
                } else {
                    take_arguments(value, taken);
                }
            }
        }
        _ => {}
    }
}
