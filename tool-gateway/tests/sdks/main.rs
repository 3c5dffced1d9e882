//! Conversations with the official SDKs for Python and JavaScript, through the program: mixed turns, streamed and not, echoed as objects
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

use crate::test_script::TestScript;

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
            converse(Command::new(&program).arg(script("converse.py")), way, echo);
        }
    }
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
        converse(
            Command::new("node")
                .arg(script("converse.mjs"))
                .env("SDK_NODE", &modules),
            way,
            "objects",
        );
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
        killed(&program, way, milliseconds);
    }
}

/// Runs a conversation for each of these delays after each of the upstream's five requests, at which the gateway is killed.
#[cfg(unix)]
fn killed(program: &Path, way: &str, milliseconds: &[u64]) {
    let mut script: Value = serde_json::from_str(SCRIPT).unwrap();
    for turn in script["turns"].as_array_mut().unwrap() {
        turn["delay_ms"] = 10.into();
        turn["event_delay_ms"] = 1.into();
    }
    let upstream = Arc::new(TestScript::from_json(&script.to_string()).unwrap());
    let address = serve(Arc::clone(&upstream));
    let folder = std::env::temp_dir().join(format!("tool-gateway-killed-{way}-{}", std::process::id()));
    let store = format!("file:{}", folder.join("sessions.redb").display());
    let mut gateway = Gateway::start_with(&address, "127.0.0.1:0", &["--store", &store]);
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
    let requests_of = |number: usize| {
        let first = format!("Conversation {number}:");
        let requests = upstream.requests().into_iter();
        let mine = requests.filter(|request| String::from_utf8_lossy(&request.body).contains(&first));
        mine.collect::<Vec<_>>()
    };
    // A late kill may occur after the conversation.
    let mut was_met = false;
    for (number, (request, after)) in moments.into_iter().enumerate() {
        let place = format!("{way}, conversation {number}: {after} ms after request {request}");
        let began = Instant::now();
        while requests_of(number).len() < request {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{place}: no such request"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(after));
        drop(gateway);
        let kills = 1 + usize::from(was_met);
        was_met = !requests_of(number + 1).is_empty();
        gateway = Gateway::start_with(&address, &listen, &["--store", &store]);
        let seen: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(
            seen,
            serde_json::json!([
                ["tool_use", "thinking", "text", "get_weather"],
                ["end_turn", "text"],
                ["tool_use", "get_weather", "text"],
                ["end_turn", "thinking", "text"],
            ]),
            "{place}"
        );
        let requests = requests_of(number);
        // The results of a round are stored beside the next request, so a crash may repeat both requests.
        assert!(
            (5..=5 + 2 * kills).contains(&requests.len()),
            "{place}: more than two rounds are asked for again: {}",
            requests.len()
        );
        let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
        complete(body["messages"].as_array().unwrap(), &place);
    }
    assert!(client.wait().unwrap().success());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Each call has one result, in order, and the list of tasks is the written list.
#[cfg(unix)]
fn complete(messages: &[Value], place: &str) {
    let blocks = |kind: &'static str| {
        let blocks = messages
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten();
        blocks.filter(move |block| block["type"] == kind)
    };
    let calls: Vec<&Value> = blocks("tool_use").collect();
    let results: Vec<&Value> = blocks("tool_result").collect();
    let names: Vec<_> = calls.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["TodoWrite", "get_weather", "TodoRead", "get_weather", "TodoRead"],
        "{place}"
    );
    let ids =
        |blocks: &[&Value], key: &str| blocks.iter().map(|block| block[key].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&calls, "id"), ids(&results, "tool_use_id"), "{place}");
    for (name, result) in names.into_iter().zip(results) {
        let wanted = match name {
            "TodoWrite" => r#""success":true"#,
            "TodoRead" => r#""content":"Weather","status":"pending""#,
            _ => "21 degrees",
        };
        let text = result["content"].to_string().replace('\\', "");
        assert!(text.contains(wanted), "{place}: {name} {text}");
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
fn converse(client: &mut Command, way: &str, echo: &str) {
    let upstream = Arc::new(TestScript::from_json(SCRIPT).unwrap());
    let address = serve(Arc::clone(&upstream));
    let gateway = Gateway::start(&address);
    let output = client.args([&gateway.url, way, echo]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{way} {echo}: {text}\n{}",
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
    assert_eq!(
        answers.iter().map(shape).collect::<Vec<_>>(),
        [
            vec!["tool_use", "thinking", "text", "get_weather"],
            vec!["end_turn", "text"],
            vec!["tool_use", "get_weather", "text"],
            vec!["end_turn", "thinking", "text"],
        ],
        "{way} {echo}: what the client sees",
    );
    unbroken(&upstream, way, echo);
}

/// Checks that each request continues the previous one, byte for byte, and that every call has its result.
fn unbroken(upstream: &TestScript, way: &str, echo: &str) {
    let mut before: Vec<String> = Vec::new();
    let requests = upstream.requests();
    assert_eq!(requests.len(), 5, "{way} {echo}");
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
            "{way} {echo}: the prefix is the same"
        );
        before = messages;
    }
    let whole = before.join("\n");
    for (text, count) in [
        ("sig-1", 1),
        (r#""n":1.0,"big":12345678901234567890"#, 1),
        (r#"\"success\":true"#, 1),
        ("21 degrees", 2),
    ] {
        let whole = whole.replace(": ", ":").replace(", ", ",");
        assert_eq!(
            whole.matches(text).count(),
            count,
            "{way} {echo}: {text} in {whole}"
        );
    }
    for message in before.iter().filter(|message| message.contains("tool_result")) {
        let message: Value = serde_json::from_str(message).unwrap();
        let ids: Vec<&str> = message["content"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|block| block["tool_use_id"].as_str())
            .collect();
        assert!(
            ids.iter().all(|id| id.starts_with("toolu_script")),
            "{way} {echo}: the upstream's own ids, not {ids:?}"
        );
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
