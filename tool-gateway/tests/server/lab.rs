//! A gateway with four tools in front of a script, and a client.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool_builtins::todo::{todo_read, todo_write};
use tool_gateway::Gateway;
use tool_gateway::upstream::{Upstream, UpstreamFuture};
use tool_runtime::{Context, ToolDefinition, ToolRegistry, tool_set};
use tower::ServiceExt as _;

#[cfg(all(unix, feature = "redis"))]
use crate::gateway_processes;
use crate::protocol::{Scripted, is_chat, messages_request};
use crate::reply::Reply;
use crate::shared_store::Instances;
use crate::subscriber;
use crate::test_script::TestScript;

/// The gateway, its upstream, and the records of its tools.
pub(crate) struct Lab {
    pub(crate) app: Router,
    pub(crate) script: TestScript,
    pub(crate) runs: Runs,
}

/// The calls that began, and those that ended, in order.
#[derive(Clone, Default)]
pub(crate) struct Runs {
    begun: Arc<Mutex<Vec<String>>>,
    ended: Arc<Mutex<Vec<String>>>,
    /// File that several processes write.
    file: Option<Arc<RunsFile>>,
    next_begin: Arc<Mutex<Option<NextBegin>>>,
}

/// Action at the beginning of the next call.
type NextBegin = Box<dyn FnOnce() + Send>;

/// A file that is removed with its last user in the process of the test.
#[derive(Debug)]
struct RunsFile(PathBuf);

impl Drop for RunsFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Runs {
    #[cfg(all(unix, feature = "redis"))]
    pub(crate) fn in_file(file: PathBuf) -> Self {
        Self {
            file: Some(Arc::new(RunsFile(file))),
            ..Self::default()
        }
    }

    pub(crate) fn begun(&self) -> Vec<String> {
        self.calls(&self.begun, "begin ")
    }

    /// Waits until this number of calls has begun.
    pub(crate) async fn until_begun(&self, number: usize) {
        while self.begun().len() < number {
            wait(5).await;
        }
    }

    pub(crate) fn begin(&self, call: String) {
        self.add(&self.begun, "begin ", call);
        let next_begin = self.next_begin.lock().unwrap().take();
        if let Some(next_begin) = next_begin {
            next_begin();
        }
    }

    /// Sets an action of the next call at its beginning.
    #[cfg(all(unix, feature = "redis"))]
    pub(crate) fn at_the_next_begin(&self, done: impl FnOnce() + Send + 'static) {
        *self.next_begin.lock().unwrap() = Some(Box::new(done));
    }

    pub(crate) fn end(&self, call: String) {
        self.add(&self.ended, "end ", call);
    }

    pub(crate) fn ended(&self) -> Vec<String> {
        self.calls(&self.ended, "end ")
    }

    fn add(&self, calls: &Mutex<Vec<String>>, prefix: &str, call: String) {
        match &self.file {
            Some(file) => {
                let mut file = File::options().append(true).create(true).open(&file.0).unwrap();
                // One write, so that lines of several processes are not mixed.
                file.write_all(format!("{prefix}{call}\n").as_bytes()).unwrap();
            }
            None => calls.lock().unwrap().push(call),
        }
    }

    fn calls(&self, calls: &Mutex<Vec<String>>, prefix: &str) -> Vec<String> {
        let Some(file) = &self.file else {
            return calls.lock().unwrap().clone();
        };
        let text = std::fs::read_to_string(&file.0).unwrap_or_default();
        let calls = text.lines().filter_map(|line| line.strip_prefix(prefix));
        calls.map(str::to_owned).collect()
    }
}

/// `lookup` reads, `write` and `later` have side effects; `later` is deferred. All tools take a `key`, and `ms` to wait.
pub(crate) fn registry(runs: &Runs) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for name in ["lookup", "write", "later"] {
        let mut definition = ToolDefinition::new(name, format!("The tool {name}."), schema());
        definition.hints.read_only = (name == "lookup").then_some(true);
        let (runs, slowness) = (runs.clone(), scaled(1));
        registry
            .register_dynamic(definition, move |arguments: Value, _: Context| {
                let runs = runs.clone();
                async move {
                    let key = arguments["key"].as_str().unwrap_or("none").to_owned();
                    runs.begin(format!("{name} {key}"));
                    let ms = slowness * arguments["ms"].as_u64().unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    runs.end(format!("{name} {key}"));
                    Ok::<_, String>(format!("{name} of {key}"))
                }
            })
            .unwrap();
    }
    registry.register_all(tool_set![todo_write, todo_read]).unwrap();
    registry
}

pub(crate) fn schema() -> Value {
    json!({ "type": "object", "properties": { "key": { "type": "string" }, "ms": { "type": "integer" } } })
}

impl Lab {
    pub(crate) fn new(turns: Value) -> Self {
        Self::without_settings(json!({ "turns": turns }))
    }

    /// The turns answer requests in order, without a comparison of the requests.
    pub(crate) fn in_order(turns: Value) -> Self {
        Self::without_settings(json!({ "turns": turns, "order": "requests" }))
    }

    fn without_settings(script: Value) -> Self {
        #[cfg(all(unix, feature = "redis"))]
        if let Some(redis) = gateway_processes::redis() {
            let script = TestScript::from_json(&script.to_string()).unwrap();
            return gateway_processes::default_lab(&script, redis, 2);
        }
        Self::with_each(script, |gateway| gateway)
    }

    /// Builds a lab whose gateways have these settings: one gateway, or in the tests of `two_gateways` and `two_processes` two over one store, to
    /// which requests go in turn.
    pub(crate) fn with_each(script: Value, configure: impl Fn(Gateway) -> Gateway) -> Self {
        #[cfg(all(unix, feature = "redis"))]
        {
            let script = TestScript::from_json(&script.to_string()).unwrap();
            let gateway = |runs: &Runs, upstream: Scripted| {
                let gateway = Gateway::new(registry(runs), upstream);
                configure(gateway.with_deferred(["later"]).unwrap())
            };
            if let Ok(lab) = gateway_processes::lab(&script, gateway_processes::redis(), 2, gateway) {
                return lab;
            }
        }
        if !has_two_gateways() {
            return Self::with(script, configure);
        }
        let Instances { one, two, .. } = Instances::with(&script, configure);
        Self {
            app: in_turn([one.app, two.app]),
            ..two
        }
    }

    pub(crate) fn with(script: Value, configure: impl FnOnce(Gateway) -> Gateway) -> Self {
        subscriber::keep();
        let script = TestScript::from_json(&script.to_string()).unwrap();
        let runs = Runs::default();
        let gateway = Gateway::new(registry(&runs), Scripted::new(&script))
            .with_deferred(["later"])
            .unwrap();
        Self {
            app: configure(gateway).router(),
            script,
            runs,
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.app.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn ask(&self, body: &Value) -> Reply {
        self.ask_with(body, &[]).await
    }

    pub(crate) async fn ask_with(&self, body: &Value, headers: &[(&str, &str)]) -> Reply {
        Reply::read(self.send(post("/v1/messages", body, headers)).await).await
    }

    /// Returns the bodies that the upstream received at `/v1/messages`.
    pub(crate) fn seen(&self) -> Vec<Value> {
        let requests = self.script.requests().into_iter();
        let bodies = requests.filter_map(|request| match request.path.split('?').next() {
            Some("/v1/messages") => Some(request.json().unwrap()),
            Some("/v1/chat/completions") if is_chat() => Some(messages_request(&request.json().unwrap())),
            _ => None,
        });
        bodies.collect()
    }

    /// Returns the messages of each body, with the text of each message.
    pub(crate) fn seen_messages(&self) -> Vec<Vec<String>> {
        #[derive(serde::Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            messages: Vec<&'a RawValue>,
        }
        let requests = self.script.requests();
        let bodies = requests.iter().map(|request| {
            let body: Body<'_> = serde_json::from_slice(&request.body).unwrap();
            body.messages
                .iter()
                .map(|message| message.get().to_owned())
                .collect()
        });
        bodies.collect()
    }

    pub(crate) fn last_seen(&self) -> Value {
        self.seen().pop().unwrap()
    }

    /// Checks that every body for the upstream is a conversation that the API accepts.
    #[track_caller]
    pub(crate) fn assert_well_formed(&self) {
        for body in self.seen() {
            well_formed(body["messages"].as_array().unwrap());
        }
    }

    /// Checks that each body begins with the messages of the previous one, byte for byte.
    #[track_caller]
    pub(crate) fn assert_one_prefix(&self) {
        for pair in self.seen_messages().windows(2) {
            assert!(
                pair[1].starts_with(&pair[0]),
                "another prefix:\n{}\n\n{}",
                pair[0].join("\n"),
                pair[1].join("\n")
            );
        }
    }
}

/// Returns whether the running test is one of `two_gateways` or `two_processes`. The test harness names the thread of a test after the test.
pub(crate) fn has_two_gateways() -> bool {
    let thread = std::thread::current();
    thread
        .name()
        .is_some_and(|name| name.starts_with("two_gateways::") || name.starts_with("two_processes::"))
}

/// Returns whether the gateways of the running test are processes, whose time is real.
pub(crate) fn has_two_processes() -> bool {
    #[cfg(all(unix, feature = "redis"))]
    {
        gateway_processes::has_two_processes()
    }
    #[cfg(not(all(unix, feature = "redis")))]
    {
        false
    }
}

/// Returns the milliseconds of a call or a pause in a test, which are more for gateways in processes.
pub(crate) fn scaled(milliseconds: u64) -> u64 {
    #[cfg(all(unix, feature = "redis"))]
    {
        gateway_processes::scaled(milliseconds)
    }
    #[cfg(not(all(unix, feature = "redis")))]
    {
        milliseconds
    }
}

/// Sends each request to the next gateway.
fn in_turn(gateways: [Router; 2]) -> Router {
    let requests = Arc::<AtomicUsize>::default();
    Router::new().fallback(move |request: Request<Body>| {
        let number = requests.fetch_add(1, Ordering::Relaxed);
        let gateway = gateways[number % gateways.len()].clone();
        async move { gateway.oneshot(request).await.unwrap() }
    })
}

/// Checks a conversation: adjacent messages of one role count as one, and each call has its result at the beginning of the next message, in
/// the order of the calls.
#[track_caller]
pub(crate) fn well_formed(messages: &[Value]) {
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap();
        let blocks = match &message["content"] {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            content => content.as_array().unwrap().clone(),
        };
        assert!(!blocks.is_empty(), "an empty message: {messages:#?}");
        match groups.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => groups.push((role, blocks)),
        }
    }
    assert_eq!(groups.last().unwrap().0, "user", "{messages:#?}");
    let ids = |blocks: &[Value], kind: &str, field: &str| -> Vec<String> {
        let blocks = blocks.iter().filter(|block| block["type"] == kind);
        blocks
            .map(|block| block[field].as_str().unwrap().to_owned())
            .collect()
    };
    for (place, (role, blocks)) in groups.iter().enumerate() {
        let calls = if *role == "assistant" {
            ids(blocks, "tool_use", "id")
        } else {
            Vec::new()
        };
        let next = groups
            .get(place + 1)
            .map(|(_, blocks)| blocks.as_slice())
            .unwrap_or_default();
        let results = ids(next, "tool_result", "tool_use_id");
        if *role == "assistant" {
            assert_eq!(calls, results, "{messages:#?}");
            let first = next.iter().take(results.len());
            assert!(
                first.into_iter().all(|block| block["type"] == "tool_result"),
                "{messages:#?}"
            );
        }
    }
}

/// Header of a retry, as the official SDKs send it.
pub(crate) const RETRY: (&str, &str) = ("x-stainless-retry-count", "1");

/// Waits for a time.
pub(crate) async fn wait(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(scaled(milliseconds))).await;
}

pub(crate) fn post(path: &str, body: impl ToString, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_string())).unwrap()
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn thinking(signature: &str) -> Value {
    json!({ "type": "thinking", "thinking": "", "signature": signature })
}

/// Builds a call with the id `up_KEY`.
pub(crate) fn call(name: &str, key: &str) -> Value {
    json!({ "type": "tool_use", "id": format!("up_{key}"), "name": name, "input": { "key": key } })
}

pub(crate) fn slow_call(name: &str, key: &str, ms: u64) -> Value {
    json!({ "type": "tool_use", "id": format!("up_{key}"), "name": name, "input": { "key": key, "ms": ms } })
}

pub(crate) fn says(blocks: &[Value]) -> Value {
    json!({ "content": blocks, "usage": { "input_tokens": 10, "output_tokens": 5 } })
}

pub(crate) fn user(content: impl Into<Value>) -> Value {
    json!({ "role": "user", "content": content.into() })
}

pub(crate) fn assistant(content: impl Into<Value>) -> Value {
    json!({ "role": "assistant", "content": content.into() })
}

pub(crate) fn result(id: &str, content: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content })
}

/// Builds the tools of a client: the gateway's tools by name, and its own tool.
pub(crate) fn tools() -> Value {
    json!([
        { "name": "lookup" }, { "name": "write" }, { "name": "later" }, { "name": "TodoWrite" }, { "name": "TodoRead" },
        { "name": "weather", "description": "The weather.", "input_schema": { "type": "object" } },
        { "name": "clock", "description": "The time.", "input_schema": { "type": "object" } },
    ])
}

/// Conversation of a client.
#[derive(Debug, Clone)]
pub(crate) struct Chat {
    pub(crate) body: Value,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Chat {
    pub(crate) fn new(is_stream: bool) -> Self {
        let body =
            json!({ "model": "m", "max_tokens": 100, "stream": is_stream, "tools": tools(), "messages": [] });
        Self {
            body,
            headers: Vec::new(),
        }
    }

    pub(crate) fn messages(&mut self) -> &mut Vec<Value> {
        self.body["messages"].as_array_mut().unwrap()
    }

    /// Sends the conversation, without adding a message.
    pub(crate) async fn ask(&self, lab: &Lab) -> Reply {
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        lab.ask_with(&self.body, &headers).await
    }

    /// Adds a user message, sends the conversation, and adds the answer.
    pub(crate) async fn say(&mut self, lab: &Lab, content: impl Into<Value>) -> Reply {
        self.messages().push(user(content));
        let reply = self.ask(lab).await;
        if !reply.is_error() {
            self.messages().push(assistant(reply.message["content"].clone()));
        }
        reply
    }

    /// Answers all calls of the last message.
    pub(crate) async fn answer(&mut self, lab: &Lab, last: &Reply) -> Reply {
        let results: Vec<_> = last
            .ids()
            .iter()
            .map(|id| result(id, "from the client"))
            .collect();
        assert!(!results.is_empty(), "no calls: {}", last.message);
        self.say(lab, results).await
    }
}

/// Creates a chat with the message `go`, which is not streamed.
pub(crate) fn go() -> Chat {
    let mut chat = Chat::new(false);
    chat.messages().push(user("go"));
    chat
}

impl Lab {
    /// Asserts that requests without their system messages are well-formed, and that no system message is between a call and its result.
    #[track_caller]
    pub(crate) fn assert_well_formed_without_systems(&self) {
        for body in self.seen() {
            let messages = body["messages"].as_array().unwrap();
            for pair in messages.windows(2) {
                let calls = pair[0]["content"].to_string().contains("\"tool_use\"");
                assert!(!calls || pair[1]["role"] == "user", "{messages:#?}");
            }
            let others: Vec<_> = messages
                .iter()
                .filter(|message| message["role"] != "system")
                .cloned()
                .collect();
            well_formed(&others);
        }
    }
}

impl Lab {
    /// Asserts the conditions of `assert_one_prefix` from a request on.
    #[track_caller]
    pub(crate) fn assert_one_prefix_of(&self, first: usize) {
        for pair in self.seen_messages()[first..].windows(2) {
            assert!(
                pair[1].starts_with(&pair[0]),
                "{}\n\n{}",
                pair[0].join("\n"),
                pair[1].join("\n")
            );
        }
    }
}

/// An upstream that answers with whole messages, in order.
pub(crate) struct Whole(Mutex<Vec<Value>>);

impl Whole {
    pub(crate) fn new(messages: impl IntoIterator<Item = Value>) -> Self {
        Self(Mutex::new(messages.into_iter().collect()))
    }
}

impl Upstream for Whole {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        let message = self.0.lock().unwrap().remove(0);
        let response = Response::builder().header("content-type", "application/json");
        let response = response.body(Body::from(message.to_string())).unwrap();
        Box::pin(async { Ok(response) })
    }

    fn name(&self) -> String {
        "whole".to_owned()
    }
}
