//! [`StrictServer`]: an HTTP server on a local port.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::{chat, messages, responses};

/// A server of `/v1/messages`, `/v1/chat/completions` and `/v1/responses`. An invalid request is answered with status 400, a valid one with
/// the next stream of the script.
#[derive(Debug)]
pub struct StrictServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    script: VecDeque<String>,
    requests: Vec<Value>,
    /// Reasoning fields in the script, which compatible servers require in later requests.
    reasoning: Vec<&'static str>,
}

impl StrictServer {
    /// Starts a server that answers with these streams of server-sent events, in order.
    pub fn start(script: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script: VecDeque<String> = script.into_iter().map(Into::into).collect();
        let written = |field: &&str| {
            script
                .iter()
                .any(|stream| stream.contains(&format!("\"{field}\"")))
        };
        let reasoning = REASONING.into_iter().filter(written).collect();
        let state = Arc::new(Mutex::new(State {
            script,
            requests: Vec::new(),
            reasoning,
        }));
        let shared = Arc::clone(&state);
        // The thread ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || answer(stream, &shared));
            }
        });
        Self { address, state }
    }

    /// Returns the base URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the bodies of all valid requests.
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().unwrap().requests.clone()
    }
}

/// Answers one request, and closes the connection. A disconnect of the client is not an error.
fn answer(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let Some((path, body)) = request(&mut reader) else {
        return;
    };
    let answer = respond(&path, &body, state);
    let (status, kind, body) = match answer {
        Ok(events) => ("200 OK", "text/event-stream", events),
        Err(message) => {
            let error = json!({ "type": "invalid_request_error", "message": message });
            (
                "400 Bad Request",
                "application/json",
                json!({ "type": "error", "error": error }).to_string(),
            )
        }
    };
    let mut stream = reader.into_inner();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
    );
    for piece in body.as_bytes().chunks(37) {
        if stream.write_all(piece).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// Reads the path and the body of a request.
fn request(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}

fn respond(path: &str, body: &[u8], state: &Mutex<State>) -> Result<String, String> {
    let request: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut state = state.lock().unwrap();
    check(
        path.split('?').next().unwrap_or_default(),
        &request,
        &state.reasoning,
    )?;
    if request["stream"] != true {
        return Err("stream: this server only streams".to_owned());
    }
    state.requests.push(request);
    state
        .script
        .pop_front()
        .ok_or("the script has no more answers".to_owned())
}

/// Checks a request. `extra` are fields that a compatible server itself writes into messages.
///
/// # Errors
///
/// If the request is invalid; the error has the text of the API's error.
pub fn check(path: &str, request: &Value, extra: &[&str]) -> Result<(), String> {
    match path {
        "/v1/messages" => messages::check(request),
        "/v1/chat/completions" => chat::check(request, extra),
        "/v1/responses" => responses::check(request),
        other => Err(format!("unknown path {other}")),
    }
}

/// Returns the fields in which compatible servers send reasoning and require it in later requests.
pub const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];
