//! Conversations with the official SDKs for Python and JavaScript, through the program, before an upstream of the Messages API and one of Chat
//! Completions: mixed turns, streamed and not, echoed as objects
//! and as dictionaries. The upstream records its requests. Also repaired calls in responses of `OpenAI`'s APIs.
//!
//! `SDK_PYTHON` is an interpreter with the packages of `tests/sdks/requirements.txt` (default: `python3`), `SDK_NODE` a folder with the
//! `node_modules` of `tests/sdks/package.json`; `.ci/run programs` creates both. Without them, the tests are ignored with a message, or
//! fail if `REPAIR_TESTS=required` is set.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod openai;
#[path = "../server/test_script.rs"]
#[allow(dead_code, reason = "other suites use the rest")]
mod test_script;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use serde_json::Value;
use serde_json::value::RawValue;
use tool_gateway::upstream::Upstream as _;

use crate::test_script::{Recorded, TestScript};

/// A mixed turn with thinking, a turn with only the gateway's calls, and a mixed turn that begins with the client's call.
const SCRIPT: &str = r#"{ "turns": [
    { "content": [
        { "type": "thinking", "thinking": "", "signature": "sig-1" },
        { "type": "text", "text": "I note it and look it up." },
        { "type": "tool_use", "name": "TodoWrite", "input": { "todos": [{ "content": "Weather", "status": "pending", "activeForm": "Looking" }] } },
        { "type": "tool_use", "name": "get_weather", "input": { "city": "Paris", "n": 1.0, "big": 12345678901234567890 } }
    ] },
    { "content": [{ "type": "tool_use", "name": "TodoRead", "input": {} }] },
    { "content": [{ "type": "text", "text": "It is sunny." }] },
    { "content": [
        { "type": "tool_use", "name": "get_weather", "input": { "city": "Oslo" } },
        { "type": "text", "text": "And the list." },
        { "type": "tool_use", "name": "TodoRead", "input": {} }
    ] },
    { "content": [{ "type": "thinking", "thinking": "so", "signature": "sig-2" }, { "type": "text", "text": "One task." }] }
] }"#;

/// R-GW-1
#[test]
fn python_sdk_sees_a_conversation_without_the_gateways_calls() {
    let Some(program) = python() else { return };
    for way in ["create", "stream"] {
        for echo in ["objects", "dumps"] {
            for api in Api::ALL {
                converse(Command::new(&program).arg(script("converse.py")), way, echo, api);
            }
        }
    }
}

/// The tool runner begins with a message thread. The gateway rejects the thread, since the turn has hidden rounds.
#[test]
fn python_sdk_runs_tools_without_a_message_thread() {
    let Some(program) = python() else { return };
    for way in ["create", "stream"] {
        for api in Api::ALL {
            let place = format!("{api:?} {way}");
            let upstream = Arc::new(TestScript::from_json(SCRIPT).unwrap());
            let gateway = Gateway::start_with(&serve(Arc::clone(&upstream)), "127.0.0.1:0", api.options());
            let mut client = Command::new(&program);
            let client = client
                .arg(script("threads.py"))
                .args([&gateway.url, way])
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&client.stdout);
            let error = String::from_utf8_lossy(&client.stderr);
            assert_eq!(printed.trim_end(), "It is sunny.", "{place}: {error}");
            let bodies = requests_of(&upstream).into_iter();
            let bodies: Vec<Value> = bodies.map(|request| request.json().unwrap()).collect();
            assert!(
                bodies.iter().all(|body| body.get("thread").is_none()),
                "{place}: {bodies:?}"
            );
            assert_eq!(bodies.len(), 3, "{place}");
            let messages = bodies[2]["messages"].as_array().unwrap();
            let (calls, results) = match api {
                Api::Messages => messages_calls(messages),
                Api::ChatCompletions => chat_calls(messages),
            };
            let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
            assert_eq!(names, ["TodoWrite", "get_weather", "TodoRead"], "{place}");
            let call_ids: Vec<_> = calls.iter().map(|call| &call.id).collect();
            let result_ids: Vec<_> = results.iter().map(|result| &result.id).collect();
            assert_eq!(call_ids, result_ids, "{place}");
        }
    }
}

/// API of the upstream.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Api {
    Messages,
    ChatCompletions,
}

impl Api {
    const ALL: [Self; 2] = [Self::Messages, Self::ChatCompletions];

    /// Returns the options of the gateway for an upstream with this API.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Messages => &[],
            Self::ChatCompletions => &["--upstream-kind", "openai"],
        }
    }

    /// Returns the stop reasons and blocks of the answers that the client receives. The script sends thinking only in the Messages API.
    fn answers(self) -> Value {
        let mut answers = serde_json::json!([
            ["tool_use", "thinking", "text", "get_weather"],
            ["end_turn", "text"],
            ["tool_use", "get_weather", "text"],
            ["end_turn", "thinking", "text"],
        ]);
        if self == Self::ChatCompletions {
            for answer in answers.as_array_mut().unwrap() {
                answer.as_array_mut().unwrap().retain(|block| block != "thinking");
            }
            // The script sends the text of a completion before its calls.
            answers[2].as_array_mut().unwrap().swap(1, 2);
        }
        answers
    }
}

/// Returns the requests for messages that the upstream received, without lookups of models.
fn requests_of(upstream: &TestScript) -> Vec<Recorded> {
    let mut requests = upstream.requests();
    requests.retain(|request| !request.body.is_empty());
    requests
}

/// Returns the interpreter, if it has the SDK.
fn python() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("SDK_PYTHON").unwrap_or_else(|| "python3".into()));
    let has = Command::new(&program)
        .args(["-c", "import anthropic, openai"])
        .output();
    if !has.is_ok_and(|output| output.status.success()) {
        ignored("an interpreter with tests/sdks/requirements.txt installed, named by SDK_PYTHON");
        return None;
    }
    Some(program)
}

#[test]
fn javascript_sdk_sees_a_conversation_without_the_gateways_calls() {
    let Some(modules) =
        std::env::var_os("SDK_NODE").filter(|folder| PathBuf::from(folder).join("node_modules").exists())
    else {
        return ignored("a folder with the packages of tests/sdks/package.json, named by SDK_NODE");
    };
    for way in ["create", "stream"] {
        for api in Api::ALL {
            converse(
                Command::new("node")
                    .arg(script("converse.mjs"))
                    .env("SDK_NODE", &modules),
                way,
                "objects",
                api,
            );
        }
    }
}

/// Kills the gateway with `SIGKILL` at moments throughout a conversation, in which the SDK retries. The result equals an uninterrupted
/// conversation.
#[cfg(unix)]
#[test]
fn python_sdk_continues_after_the_gateway_was_killed() {
    let Some(program) = python() else { return };
    let milliseconds: &[u64] = if std::env::var_os("GATEWAY_LONG").is_some() {
        &[0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 35, 40, 50]
    } else {
        &[1, 12, 28]
    };
    for way in ["create", "stream"] {
        for api in Api::ALL {
            killed(&program, way, milliseconds, api);
        }
    }
}

/// Runs a conversation for each of these delays after each of the upstream's five requests, at which the gateway is killed.
#[cfg(unix)]
fn killed(program: &Path, way: &str, milliseconds: &[u64], api: Api) {
    let mut script: Value = serde_json::from_str(SCRIPT).unwrap();
    for turn in script["turns"].as_array_mut().unwrap() {
        turn["delay_ms"] = 10.into();
        turn["event_delay_ms"] = 1.into();
    }
    let upstream = Arc::new(TestScript::from_json(&script.to_string()).unwrap());
    let address = serve(Arc::clone(&upstream));
    let folder = std::env::temp_dir().join(format!(
        "tool-gateway-killed-{way}-{api:?}-{}",
        std::process::id()
    ));
    let store = format!("file:{}", folder.join("sessions.redb").display());
    let options: Vec<&str> = ["--store", &store].iter().chain(api.options()).copied().collect();
    let mut gateway = Gateway::start_with(&address, "127.0.0.1:0", &options);
    let listen = gateway.url.strip_prefix("http://").unwrap().to_owned();
    let moments: Vec<(usize, u64)> = (1..=5)
        .flat_map(|request| milliseconds.iter().map(move |after| (request, *after)))
        .collect();
    let mut client = Command::new(program)
        .arg(self::script("survive.py"))
        .args([&gateway.url, way, &moments.len().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(client.stdout.take().unwrap()).lines();
    let requests_in = |number: usize| {
        let first = format!("Conversation {number}:");
        let requests = requests_of(&upstream).into_iter();
        let mine = requests.filter(|request| String::from_utf8_lossy(&request.body).contains(&first));
        mine.collect::<Vec<_>>()
    };
    // A late kill may occur after the conversation.
    let mut was_met = false;
    for (number, (request, after)) in moments.into_iter().enumerate() {
        let place = format!("{api:?}, {way}, conversation {number}: {after} ms after request {request}");
        let began = Instant::now();
        while requests_in(number).len() < request {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{place}: no such request"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(after));
        drop(gateway);
        let kills = 1 + usize::from(was_met);
        was_met = !requests_in(number + 1).is_empty();
        gateway = Gateway::start_with(&address, &listen, &options);
        let seen: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(seen, api.answers(), "{place}");
        let requests = requests_in(number);
        // The results of a round are stored beside the next request, so a crash may repeat both requests.
        assert!(
            (5..=5 + 2 * kills).contains(&requests.len()),
            "{place}: more than two rounds are asked for again: {}",
            requests.len()
        );
        let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
        complete(body["messages"].as_array().unwrap(), api, &place);
    }
    assert!(client.wait().unwrap().success());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Each call has one result, in order, and the list of tasks is the written list.
fn complete(messages: &[Value], api: Api, place: &str) {
    let (calls, results) = match api {
        Api::Messages => messages_calls(messages),
        Api::ChatCompletions => chat_calls(messages),
    };
    let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
    assert_eq!(
        names,
        ["TodoWrite", "get_weather", "TodoRead", "get_weather", "TodoRead"],
        "{place}"
    );
    let call_ids: Vec<_> = calls.iter().map(|call| &call.id).collect();
    let result_ids: Vec<_> = results.iter().map(|result| &result.id).collect();
    assert_eq!(call_ids, result_ids, "{place}");
    for (name, result) in names.into_iter().zip(&results) {
        let wanted = match name {
            "TodoWrite" => r#""success":true"#,
            "TodoRead" => r#""content":"Weather","status":"pending""#,
            _ => "21 degrees",
        };
        let text = result.text.replace('\\', "");
        assert!(text.contains(wanted), "{place}: {name} {text}");
    }
}

/// A call in a request to the upstream.
struct SentCall {
    id: String,
    name: String,
}

/// A result in a request to the upstream.
struct SentResult {
    id: String,
    text: String,
}

fn messages_calls(messages: &[Value]) -> (Vec<SentCall>, Vec<SentResult>) {
    let blocks = |kind: &'static str| {
        let contents = messages
            .iter()
            .filter_map(|message| message["content"].as_array());
        contents.flatten().filter(move |block| block["type"] == kind)
    };
    let calls = blocks("tool_use").map(|block| sent_call(&block["id"], &block["name"]));
    let results = blocks("tool_result").map(|block| sent_result(&block["tool_use_id"], &block["content"]));
    (calls.collect(), results.collect())
}

fn chat_calls(messages: &[Value]) -> (Vec<SentCall>, Vec<SentResult>) {
    let calls = messages
        .iter()
        .filter_map(|message| message["tool_calls"].as_array());
    let calls = calls
        .flatten()
        .map(|call| sent_call(&call["id"], &call["function"]["name"]));
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let results = results.map(|message| sent_result(&message["tool_call_id"], &message["content"]));
    (calls.collect(), results.collect())
}

fn sent_call(id: &Value, name: &Value) -> SentCall {
    let [id, name] = [id, name].map(|text| text.as_str().unwrap().to_owned());
    SentCall { id, name }
}

fn sent_result(id: &Value, content: &Value) -> SentResult {
    SentResult {
        id: id.as_str().unwrap().to_owned(),
        text: content.to_string(),
    }
}

#[track_caller]
fn ignored(label: &str) {
    assert!(
        std::env::var_os("REPAIR_TESTS").is_none_or(|wanted| wanted != "required"),
        "missing: {label}"
    );
    eprintln!("IGNORED: this test needs {label}");
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sdks")
        .join(name)
}

/// Runs a conversation, and checks the views of the client and of the upstream.
fn converse(client: &mut Command, way: &str, echo: &str, api: Api) {
    let upstream = Arc::new(TestScript::from_json(SCRIPT).unwrap());
    let address = serve(Arc::clone(&upstream));
    let gateway = Gateway::start_with(&address, "127.0.0.1:0", api.options());
    let place = format!("{api:?} {way} {echo}");
    let output = client.args([&gateway.url, way, echo]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{place}: {text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let answers: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shape = |answer: &Value| -> Vec<String> {
        let blocks = answer["content"].as_array().unwrap().iter();
        let names = blocks.map(|block| {
            block["name"]
                .as_str()
                .or(block["type"].as_str())
                .unwrap()
                .to_owned()
        });
        std::iter::once(answer["stop_reason"].as_str().unwrap().to_owned())
            .chain(names)
            .collect()
    };
    let shapes = answers.iter().map(shape).collect::<Vec<_>>();
    assert_eq!(
        serde_json::json!(shapes),
        api.answers(),
        "{place}: what the client sees"
    );
    unbroken(&upstream, api, &place);
}

/// Checks that each request continues the previous one, byte for byte, and that every call has its result.
fn unbroken(upstream: &TestScript, api: Api, place: &str) {
    let mut before: Vec<String> = Vec::new();
    let requests = requests_of(upstream);
    assert_eq!(requests.len(), 5, "{place}");
    for request in requests {
        let body: std::collections::HashMap<String, Box<RawValue>> =
            serde_json::from_slice(&request.body).unwrap();
        let messages: Vec<&RawValue> = serde_json::from_str(body["messages"].get()).unwrap();
        let messages: Vec<String> = messages
            .into_iter()
            .map(|message| message.get().to_owned())
            .collect();
        assert_eq!(
            messages[..before.len()],
            before,
            "{place}: the prefix is the same"
        );
        before = messages;
    }
    let whole = before.join("\n");
    for (text, count) in [
        ("sig-1", usize::from(api == Api::Messages)),
        (r#""n":1.0,"big":12345678901234567890"#, 1),
        (r#""success":true"#, 1),
        ("21 degrees", 2),
    ] {
        let whole = whole.replace(": ", ":").replace(", ", ",").replace('\\', "");
        assert_eq!(whole.matches(text).count(), count, "{place}: {text} in {whole}");
    }
    let messages: Vec<Value> = before
        .iter()
        .map(|message| serde_json::from_str(message).unwrap())
        .collect();
    complete(&messages, api, place);
    let ids = match api {
        Api::Messages => messages_calls(&messages).0,
        Api::ChatCompletions => chat_calls(&messages).0,
    };
    for call in ids {
        let is_own = call.id.starts_with("toolu_script") || call.id.starts_with("call_script");
        assert!(is_own, "{place}: the upstream's own ids, not {}", call.id);
    }
}

/// Serves a script on loopback.
fn serve(upstream: Arc<TestScript>) -> String {
    let answer = move |request: Request| {
        let upstream = Arc::clone(&upstream);
        async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let response: Response<Body> = upstream.send(Request::from_parts(head, body)).await.unwrap();
            response
        }
    };
    serve_router(Router::new().fallback(answer))
}

fn serve_router(router: Router) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    format!("http://{address}")
}

/// The running program, which is killed on drop.
struct Gateway {
    child: Child,
    url: String,
}

impl Gateway {
    fn start(upstream: &str) -> Self {
        Self::start_with(upstream, "127.0.0.1:0", &[])
    }

    fn start_with(upstream: &str, listen: &str, options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tool-gateway"))
            .args([
                "serve",
                "--listen",
                listen,
                "--offer",
                "always",
                "--upstream",
                upstream,
            ])
            .args(options)
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("ANTHROPIC_BASE_URL")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let url = first
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("{first}"))
            .to_owned();
        // The rest is read, so that the program never blocks on its output.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
