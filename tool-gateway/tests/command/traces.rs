//! Spans that `serve` sends to a collector.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::command;
use crate::serving::Serving;

/// A request to a collector, with its head and its body.
type Sent = (String, Vec<u8>);

/// Starts a collector that accepts all requests.
fn collector() -> (String, Receiver<Sent>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, sent) = mpsc::channel();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (mut connection, sender) = (connection.unwrap(), sender.clone());
            thread::spawn(move || {
                while let Some(request) = request(&mut connection) {
                    let _ = sender.send(request);
                    let answer =
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    connection.write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (url, sent)
}

fn request(connection: &mut TcpStream) -> Option<Sent> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).ok()?;
        head.push(char::from(byte[0]));
    }
    let head = head.to_lowercase();
    let length = head.split_once("content-length: ").unwrap().1;
    let length = length.split_once("\r\n").unwrap().0.parse().unwrap();
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    Some((head, body))
}

/// Starts a gateway whose spans are sent to a collector.
fn start(variables: &[(&str, &str)]) -> Serving {
    let mut command = command(&["serve", "--listen", "127.0.0.1:0"]);
    command
        .args(["--upstream-kind", "script", "--offer", "always"])
        .envs(variables.iter().copied());
    Serving::start(&mut command, "traces: ")
}

/// Runs a turn with a call of the gateway, for a client with a trace.
fn take_a_turn(server: &Serving, parent: &str) {
    let body = json!({ "model": "claude-x", "max_tokens": 9, "messages": [{ "role": "user", "content": "secret question" }] });
    let headers =
        format!("x-api-key: secret-key\r\ntraceparent: {parent}\r\ncontent-type: application/json\r\n");
    let answer = server.ask("POST /v1/messages", &headers, &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Shuts a gateway down gracefully. Returns the rest of its log.
fn end(server: Serving) -> String {
    server.terminate();
    server.end().join("\n")
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT: &str = "00f067aa0ba902b7";

fn attribute<'s>(span: &'s Value, name: &str) -> &'s Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    let value = found.unwrap_or_else(|| panic!("{name}: {span}"))["value"]
        .as_object()
        .unwrap();
    value.values().next().unwrap()
}

#[test]
fn a_turn_is_a_part_of_its_clients_trace() {
    let (url, sent) = collector();
    let server = start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=abc"),
    ]);
    take_a_turn(&server, &format!("00-{TRACE}-{CLIENT}-01"));
    let log = end(server);
    let mut spans = Vec::new();
    while let Ok((head, body)) = sent.recv_timeout(Duration::from_millis(10)) {
        assert!(
            head.starts_with("post /v1/traces ") && head.contains("x-collector-key: abc"),
            "{head}"
        );
        let body: Value = serde_json::from_slice(&body).unwrap();
        for resource in body["resourceSpans"].as_array().unwrap() {
            assert_eq!(attribute(&resource["resource"], "service.name"), "tool-gateway");
            for scope in resource["scopeSpans"].as_array().unwrap() {
                spans.extend(scope["spans"].as_array().unwrap().clone());
            }
        }
    }
    let named = |name: &str| {
        let found: Vec<_> = spans.iter().filter(|span| span["name"] == name).collect();
        assert!(!found.is_empty(), "{name}: {spans:#?}");
        found
    };
    let request = named("POST /v1/messages")[0];
    assert_eq!(request["parentSpanId"], CLIENT);
    assert_eq!(request["kind"], 2, "a server's: {request}");
    assert_eq!(attribute(request, "http.response.status_code"), "200");
    let turn = named("invoke_agent")[0];
    assert_eq!(turn["parentSpanId"], request["spanId"]);
    assert!(
        attribute(turn, "gen_ai.conversation.id")
            .as_str()
            .unwrap()
            .starts_with("ses_")
    );
    for inside in [named("chat claude-x"), named("execute_tool TodoWrite")].concat() {
        assert_eq!(inside["parentSpanId"], turn["spanId"], "{inside}");
    }
    assert!(spans.iter().all(|span| span["traceId"] == TRACE), "{spans:#?}");
    assert!(!json!(spans).to_string().contains("secret"), "{spans:#?}");
    assert_eq!(log.lines().count(), 1, "the line of the turn: {log}");
}

#[test]
fn spans_are_sent_as_the_variables_say() {
    let (url, sent) = collector();
    let traces = format!("{url}/otlp");
    let server = start(&[
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &traces),
        ("OTEL_SERVICE_NAME", "front-gateway"),
    ]);
    take_a_turn(&server, &format!("00-{TRACE}-{CLIENT}-01"));
    end(server);
    let (head, body) = sent.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(head.starts_with("post /otlp "), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    let text = String::from_utf8_lossy(&body);
    assert!(
        text.contains("front-gateway") && text.contains("execute_tool TodoWrite"),
        "{text}"
    );
    // The client decides whether its trace is recorded.
    let server = start(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    take_a_turn(&server, &format!("00-{TRACE}-{CLIENT}-00"));
    end(server);
    assert!(sent.try_recv().is_err());
}

#[test]
fn credentials_of_a_collector_are_not_shown() {
    let (url, _sent) = collector();
    let url = url.replace("http://", "http://user:secret@");
    let server = start(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    assert!(!server.started.contains("secret"), "{}", server.started);
    take_a_turn(&server, &format!("00-{TRACE}-{CLIENT}-01"));
    end(server);
}

#[test]
fn wrong_variables_are_errors_and_a_collector_that_is_down_is_a_warning() {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--upstream-kind", "script"];
    for (variable, value, expected) in [
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "grpc",
            "OTEL_EXPORTER_OTLP_PROTOCOL: expected `http/protobuf` or `http/json`, found `grpc`; collectors have OTLP over HTTP on port 4318",
        ),
        (
            "OTEL_EXPORTER_OTLP_TIMEOUT",
            "soon",
            "OTEL_EXPORTER_OTLP_TIMEOUT: expected milliseconds, found `soon`",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "no url",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: expected a URL such as `http://127.0.0.1:4318`, found `no url`",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "127.0.0.1:4318",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: expected a URL such as `http://127.0.0.1:4318`, found `127.0.0.1:4318`",
        ),
    ] {
        let output = command(&arguments)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
            .env(variable, value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{error}");
    }
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let server = start(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    take_a_turn(&server, &format!("00-{TRACE}-{CLIENT}-01"));
    let log = end(server);
    let warning =
        r#""level":"WARN","message":"the collector did not accept the spans","error":"connection refused""#;
    assert!(log.contains(warning), "{log}");
}
