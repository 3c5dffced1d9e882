//! `tool-gateway serve`, `tools` and `call`: results, and messages about wrong usage.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Directory, command, run};
use crate::serving::{Serving, response};

/// Creates a command of a server on a free port, with the default log and without client keys.
fn serve(arguments: &[&str]) -> Command {
    let mut command = command(&["serve"]);
    command
        .args(arguments)
        .env_remove("TOOL_GATEWAY_CLIENT_KEYS")
        .env_remove("RUST_LOG");
    command
}

const SCRIPT: [&str; 4] = ["--listen", "127.0.0.1:0", "--upstream-kind", "script"];

#[test]
fn startup_errors_state_the_solution() {
    for (arguments, wanted) in [
        (
            &["serve", "--listen", "0.0.0.0:0"][..],
            "there are no client keys: anyone could use the upstream and run tools; set TOOL_GATEWAY_CLIENT_KEYS",
        ),
        (
            &["serve", "--upstream-kind", "script", "--tools", "Todo,TodoRead"],
            "--tools: there is no tool `Todo`; the tools are TodoWrite, TodoRead",
        ),
        (
            &["serve", "--internal", "TodoRead"],
            "the option is called `--tools` now; write --tools TodoRead",
        ),
        (
            &[
                "serve",
                "--listen",
                "127.0.0.1:48123",
                "--upstream",
                "http://localhost:48123",
            ],
            "is this gateway itself",
        ),
        (
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                "ftp://example.com",
            ],
            "--upstream: invalid base URL ftp://example.com: unknown scheme; expected for example https://api.anthropic.com",
        ),
        (
            &["serve", "--listen", "127.0.0.1:0", "--script", "/nowhere.json"],
            "the script /nowhere.json cannot be read",
        ),
        (
            &["serve", "--upstream-kind", "anthropic", "--script", "a.json"],
            "--script is for --upstream-kind script",
        ),
        (
            &[
                "serve",
                "--upstream-kind",
                "script",
                "--upstream",
                "http://example.com",
            ],
            "--upstream is for --upstream-kind anthropic or openai; a script asks no server",
        ),
        (
            &["serve", "--upstream-kind", "script", "--store", "disk:/tmp"],
            "expected `memory`, `file:PATH` or `redis://HOST:PORT`",
        ),
        (
            &[
                "serve",
                "--upstream-kind",
                "script",
                "--store",
                "file:/proc/none/sessions",
            ],
            "--store: /proc/none/sessions: ",
        ),
        (
            &["call", "Todo"],
            "there is no tool `Todo`; the tools are TodoWrite, TodoRead",
        ),
    ] {
        let ran = run(arguments, "");
        assert_eq!((ran.status, ran.text()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_configuration_is_checked_with_file_and_line() {
    let folder = std::env::temp_dir().join(format!("tool-gateway-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("gateway.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(
            &["serve", "--config", file.to_str().unwrap(), "--check-config"],
            "",
        )
    };
    let right = check(include_str!("../../gateway.toml"));
    assert_eq!((right.status, right.text()), (0, ""), "{}", right.stderr);
    // The file is open in the running server.
    let sessions = folder.join("sessions.redb");
    let _running = tool_gateway::session::file::FileStore::open(&sessions).unwrap();
    let right = check(&format!("store = \"file:{}\"", sessions.display()));
    assert_eq!(right.status, 0, "{}", right.stderr);
    for (text, wanted) in [
        (
            "[tools]\nofer = \"always\"",
            "gateway.toml:2: tools.ofer: unknown key; expected one of",
        ),
        ("[tools]\nofer = \"always\"", "did you mean `offer`?"),
        (
            "[tools]\nnames = [\"Todo\"]",
            "there is no tool `Todo`; the tools are TodoWrite, TodoRead",
        ),
        (
            "[tools.alias]\nlist = \"Todo\"",
            "gateway.toml:2: tools.alias.list: there is no tool `Todo`",
        ),
        (
            "[tools]\ndeferred = [\"Todo\"]",
            "gateway.toml:2: tools.deferred: there is no tool `Todo`",
        ),
        (
            "[offload]\ndirectory = \"offload\"\nexclude = [\"Read\"]",
            "gateway.toml:3: offload.exclude: there is no tool `Read`; the tools are TodoWrite, TodoRead",
        ),
        (
            "[offload]\ndirectory = \"\"",
            "gateway.toml:2: offload.directory: the directory \"\" has no absolute UTF-8 path",
        ),
        ("listen = \"0.0.0.0:80\"", "there are no client keys"),
        (
            "[[clients]]\nname = \"ada\"\nkey_env = \"TOOL_GATEWAY_NO_SUCH_KEY\"",
            "the key of the client `ada` is not set: put it into the environment as TOOL_GATEWAY_NO_SUCH_KEY",
        ),
        (
            "[[clients]]\nname = \"ada\"",
            "the client `ada` needs one key: write either key_sha256 or key_env",
        ),
        (
            "[upstream]\nkind = \"anthropic\"\nscript = \"a.json\"",
            "gateway.toml:3: upstream.script: only for `kind = \"script\"`; leave one of the two out",
        ),
    ] {
        let wrong = check(text);
        assert_eq!(wrong.status, 2, "{text}");
        assert!(wrong.stderr.contains(wanted), "{}\n{wanted}", wrong.stderr);
    }
    // A check does not create the directory; the server does not start if it cannot be created.
    let offload = format!(
        "[offload]\ndirectory = \"{}/offload/here\"\n[upstream]\nkind = \"script\"",
        folder.display()
    );
    let right = check(&offload);
    assert!(
        right.status == 0 && !folder.join("offload").exists(),
        "{}",
        right.stderr
    );
    std::fs::write(folder.join("offload"), "a file").unwrap();
    let wrong = run(
        &[
            "serve",
            "--config",
            file.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
        ],
        "",
    );
    let wanted = format!("offload.directory: {}/offload/here: ", folder.display());
    assert!(
        wrong.status == 2 && wrong.stderr.contains(&wanted),
        "{}",
        wrong.stderr
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn tools_are_listed_in_the_form_of_each_api() {
    for (format, wanted) in [
        ("anthropic", r#""input_schema""#),
        ("openai", r#""parameters""#),
        ("mcp", r#""inputSchema""#),
    ] {
        let ran = run(&["tools", "--format", format], "");
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(
            ran.text().contains(wanted) && ran.text().contains("TodoWrite"),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn call_prints_its_result_and_its_warnings_separately() {
    let ran = run(&["call", "TodoWrite", "{'todos': []}"], "");
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.text(),
        "{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_cli\",\"content\":\"{\\\"success\\\":true,\\\"count\\\":0}\"}\n"
    );
    assert!(
        ran.stderr.starts_with("json_repaired: ") && ran.stderr.ends_with('\n'),
        "{}",
        ran.stderr
    );
    let ran = run(&["call", "TodoWrite", "{}"], "");
    assert_eq!(ran.status, 1);
    assert!(ran.text().contains("'todos' array is required"), "{}", ran.text());
}

/// The log of a turn is one line, in JSON since standard error is not a terminal, and without contents and keys.
///
/// R-GW-19
#[cfg(unix)]
#[test]
fn log_has_one_line_for_each_turn_without_content() {
    let server = Serving::start(serve(&SCRIPT).args(["--offer", "always"]), "upstream: ");
    let started: Vec<&str> = server.started.lines().skip(1).collect();
    assert_eq!(started[..2], ["tools: TodoWrite, TodoRead", "store: memory"]);
    let body = json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "secret question" }] });
    let headers = "x-api-key: secret-key\r\ncontent-type: application/json\r\n";
    let answer = server.ask("POST /v1/messages", headers, &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let line = server.log_line();
    let turn: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        [&turn["message"], &turn["found"], &turn["status"], &turn["tools"]],
        [&json!("turn"), &json!("new"), &json!(200), &json!("TodoWrite")],
        "{line}"
    );
    assert!(turn["session"].as_str().unwrap().starts_with("ses_"), "{line}");
    for number in ["rounds", "input_tokens", "output_tokens", "milliseconds"] {
        assert!(turn[number].is_u64(), "{number}: {line}");
    }
    // A graceful shutdown.
    server.terminate();
    assert_eq!(server.end(), [""; 0], "one line");
    assert!(!line.contains("secret"), "{line}");
}

/// Sends the request of the README's second `curl` to the server of its first console block.
#[test]
fn script_answers_chat_completions() {
    let readme = include_str!("../../README.md");
    let (_, after) = readme.split_once("/v1/chat/completions -H").unwrap();
    let body = after.split('\'').nth(3).unwrap();
    let server = Serving::start(&mut serve(&SCRIPT), "upstream: ");
    let answer = server.ask("POST /v1/chat/completions", "", body);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(r#""name":"TodoWrite""#), "{answer}");
    assert!(answer.contains("data: [DONE]"), "{answer}");
}

/// A supervisor may stop the program as soon as it listens.
#[cfg(unix)]
#[test]
fn ends_in_order_as_soon_as_it_listens() {
    for _ in 0..10 {
        let server = Serving::start(&mut serve(&SCRIPT), "listening on ");
        server.terminate();
        server.end();
    }
}

/// A build that sends no spans reports that a configured collector receives none.
#[test]
#[cfg(not(feature = "otlp"))]
fn logs_that_spans_are_not_sent() {
    let mut command = serve(&SCRIPT);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
    let server = Serving::start(&mut command, "traces: ");
    let expected = "\ntraces: not sent to http://collector:4318 (OTEL_EXPORTER_OTLP_ENDPOINT): this program was built without its feature `otlp`\n";
    assert!(server.started.ends_with(expected), "{}", server.started);
}

/// The log of a response of `OpenAI`'s APIs: a line for the repaired call, and a line for the response.
#[test]
fn log_of_repaired_responses_is_without_content() {
    let body = r#"{"choices":[{"message":{"tool_calls":[
        {"id":"call_1","function":{"name":"TodoWrite","arguments":"{'a': 'secret answer'}"}},
        {"id":"call_2","function":{"name":"Bash","arguments":"{'a': 'secret answer'}"}}]}}]}"#;
    let url = upstream("200 OK", body);
    let mut command = serve(&["--listen", "127.0.0.1:0", "--upstream", &url]);
    command.env("ANTHROPIC_API_KEY", "secret-key");
    let server = Serving::start(&mut command, "upstream: ");
    let body = r#"{"messages":[{"role":"user","content":"secret question"}]}"#;
    let answer = server.ask("POST /v1/chat/completions", "", body);
    assert!(answer.contains(r#"{\"a\": \"secret answer\"}"#), "{answer}");
    let mut lines = server.kill();
    lines.retain(|line| line.starts_with('{'));
    let [call, response] = [0, 1].map(|line| serde_json::from_str::<Value>(&lines[line]).unwrap());
    assert_eq!(
        [&call["message"], &call["tool"], &call["call"]],
        ["arguments were repaired", "TodoWrite", "call_1"]
    );
    assert_eq!(
        [&response["message"], &response["api"]],
        ["response", "chat"],
        "{lines:?}"
    );
    let numbers = ["status", "calls", "repaired", "truncated", "refused"].map(|name| response[name].as_u64());
    assert_eq!(numbers, [200, 2, 1, 0, 0].map(Some), "{lines:?}");
    assert!(response["milliseconds"].is_u64() && lines.len() == 2, "{lines:?}");
    assert!(!lines.concat().contains("secret"), "{lines:?}");
}

/// Starts an upstream that responds to one request. Returns its URL.
fn upstream(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        respond(connection, status, body);
    });
    url
}

/// Reads a request, and responds to it.
fn respond(mut connection: TcpStream, status: &str, body: &str) {
    let _ = connection.read(&mut [0; 4096]).unwrap();
    let head = "content-type: application/json\r\ncontent-length";
    write!(
        connection,
        "HTTP/1.1 {status}\r\n{head}: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
}

/// The start message has the source of the key, and the log the variable of a refused key, but never the key.
#[test]
fn refused_key_is_logged_with_its_variable() {
    for (kind, variable) in [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")] {
        let url = upstream("401 Unauthorized", "{}");
        let mut command = serve(&[
            "--listen",
            "127.0.0.1:0",
            "--upstream-kind",
            kind,
            "--upstream",
            &url,
        ]);
        command.env(variable, "secret-key");
        let server = Serving::start(&mut command, "upstream: ");
        let start = format!("upstream: {url}, key of {variable}\n");
        assert!(server.started.ends_with(&start), "{}", server.started);
        assert!(!server.started.contains("secret"), "{}", server.started);
        server.ask("GET /v1/models", "anthropic-version: 2023-06-01\r\n", "");
        let log = server.kill();
        let is_refused = |line: &&String| line.contains("the upstream refused the gateway's key");
        let refused = log.iter().find(is_refused).unwrap();
        let refused: Value = serde_json::from_str(refused).unwrap();
        assert_eq!(
            (&refused["level"], &refused["variable"], &refused["status"]),
            (&"WARN".into(), &variable.into(), &401.into())
        );
        assert!(!log.concat().contains("secret"), "{log:?}");
    }
}

#[cfg(unix)]
const REQUEST: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]}"#;

/// A load balancer that still sends requests here reads 503 instead of a refused connection.
#[cfg(unix)]
#[test]
fn listens_until_the_last_answer_when_it_is_stopped() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut command = serve(&["--listen", "127.0.0.1:0", "--upstream", &url]);
    let server = Serving::start(&mut command, "upstream: ");
    let open = server.send("POST /v1/messages", "", REQUEST);
    let (asked, _) = upstream.accept().unwrap();
    server.terminate();
    // Until the signal arrives.
    while server.ask("GET /readyz", "", "").starts_with("HTTP/1.1 200") {}
    for (head, body) in [("GET /readyz", ""), ("POST /v1/messages", REQUEST)] {
        let refused = server.ask(head, "", body);
        assert!(refused.starts_with("HTTP/1.1 503 "), "{head}: {refused}");
    }
    let message = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"late"}],"usage":{}}"#;
    respond(asked, "200 OK", message);
    let answered = response(open);
    assert!(answered.ends_with(message), "{answered}");
    server.end();
}

/// A load balancer removes the gateway before a request is rejected. A second signal ends the program.
#[cfg(unix)]
#[test]
fn serves_requests_for_a_time_after_the_signal() {
    let directory = Directory::new();
    let file = directory.file(
        "gateway.toml",
        "listen = \"127.0.0.1:0\"\nupstream.kind = \"script\"\nlimits.drain_seconds = 3600\n",
    );
    let server = Serving::start(&mut serve(&["--config", &file]), "upstream: ");
    let has_status = |status: &str, head: &str, body: &str| {
        let answer = server.ask(head, "", body);
        answer.starts_with(&format!("HTTP/1.1 {status} "))
    };
    server.terminate();
    while has_status("200", "GET /readyz", "") {}
    assert!(has_status("503", "GET /readyz", ""));
    assert!(has_status("200", "POST /v1/messages", REQUEST));
    server.terminate();
    server.end();
}

/// A client that sends only a part of a request's headers does not keep its connection.
#[test]
fn a_connection_without_a_request_is_closed() {
    let directory = Directory::new();
    let file = directory.file(
        "gateway.toml",
        "listen = \"127.0.0.1:0\"\nupstream.kind = \"script\"\n[limits]\nclient_idle_seconds = 1\nkeep_alive_seconds = 1\n",
    );
    let server = Serving::start(&mut serve(&["--config", &file]), "upstream: ");
    for (sent, answer) in [
        ("", ""),
        ("GET /healthz HTTP/1.1\r\nho", ""),
        // The connection stays open for another request for a limited time.
        (
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
            "HTTP/1.1 200 OK",
        ),
    ] {
        let begun = Instant::now();
        let mut connection = TcpStream::connect(&server.address).unwrap();
        connection
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        connection.write_all(sent.as_bytes()).unwrap();
        let text = response(connection);
        assert!(text.starts_with(answer), "{sent:?}: {text}");
        assert!(
            begun.elapsed().as_millis() > 900,
            "{sent:?}: {:?}",
            begun.elapsed()
        );
    }
}
