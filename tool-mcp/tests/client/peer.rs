//! Scripted server. The test program starts itself as a server: the only test that runs there is `serve`.

use std::io::{BufRead, Write, stdin, stdout};
use std::process::exit;

use tool_runtime::serde_json::{Map, Value, from_str, json};

/// Environment variable with the script, a JSON object.
pub(crate) const SCRIPT: &str = "MCP_TEST_SCRIPT";

/// Runs the server, if this program was started as one.
#[test]
fn serve() {
    if let Ok(script) = std::env::var(SCRIPT) {
        Peer::new(from_str(&script).unwrap()).run();
        exit(0);
    }
}

/// Server that follows a script. Members of the script, each optional:
///
/// - `discover`: the answer to `server/discover`: an object with `result` or `error`, `"silent"` or `"exit"`. By default the
///   method is unknown.
/// - `initialize`: the answer to `initialize`, an object with `result` or `error`. By default 2025-11-25.
/// - `pages`: results of `tools/list` by cursor, the first with an empty one. By default the tools of `TOOLS`.
/// - `brew`: the tool that `brew` is.
/// - `endless`: every page has a new cursor.
/// - `list_bytes`: the description of the only tool has so many bytes.
/// - `banner`: text to write at the start; `stderr`: text to write there.
/// - `deaf`: neither the end of stdin nor SIGTERM end the server (the shell ignores the signal).
struct Peer {
    script: Value,
    received: Vec<Value>,
    pages: u64,
}

/// Tools of a server without `pages`. `answer` returns `result` as its result; `write` writes the texts `pieces`, each `count` times, in
/// which `ID` is the id of the call; `mute` stops reading; `set_page` changes the first page.
const TOOLS: [&str; 11] = [
    "brew",
    "mute",
    "echo",
    "pid",
    "variables",
    "received",
    "answer",
    "write",
    "silent",
    "exit",
    "set_page",
];

impl Peer {
    fn new(script: Value) -> Self {
        Self {
            script,
            received: Vec::new(),
            pages: 0,
        }
    }

    fn run(&mut self) {
        if let Some(banner) = self.script["banner"].as_str() {
            write(banner);
        }
        if let Some(text) = self.script["stderr"].as_str() {
            eprint!("{text}");
        }
        for line in stdin().lock().lines() {
            let Ok(message) = from_str::<Value>(&line.unwrap_or_default()) else {
                break;
            };
            self.received.push(message.clone());
            let answer = self.answer(&message);
            if let Some(mut answer) = answer {
                answer.insert("jsonrpc".to_owned(), "2.0".into());
                answer.insert("id".to_owned(), message["id"].clone());
                write(&format!("{}\n", Value::Object(answer)));
            }
        }
        if self.script["deaf"] == true {
            loop {
                std::thread::park();
            }
        }
    }

    /// Returns `result` or `error`.
    fn answer(&mut self, message: &Value) -> Option<Map<String, Value>> {
        message.get("id")?;
        let answer = match message["method"].as_str()? {
            "server/discover" => match &self.script["discover"] {
                Value::String(word) if word == "exit" => exit(3),
                Value::String(_) => return None,
                Value::Null => unknown_method(),
                answer => answer.clone(),
            },
            "initialize" => match &self.script["initialize"] {
                Value::Null => initialized("2025-11-25"),
                answer => answer.clone(),
            },
            "tools/list" => json!({ "result": self.page(&message["params"]) }),
            "tools/call" => self.call(message)?,
            _ => unknown_method(),
        };
        answer.as_object().cloned()
    }

    fn page(&mut self, params: &Value) -> Value {
        self.pages += 1;
        if self.script["endless"] == true {
            let tool = json!({ "name": format!("t{}", self.pages), "inputSchema": { "type": "object" } });
            return json!({ "tools": [tool], "nextCursor": format!("c{}", self.pages) });
        }
        if let Some(bytes) = self.script["list_bytes"].as_u64() {
            let description = "x".repeat(usize::try_from(bytes).unwrap());
            return json!({ "tools": [{ "name": "large", "inputSchema": {}, "description": description }] });
        }
        let cursor = params["cursor"].as_str().unwrap_or_default();
        match &self.script["pages"][cursor] {
            Value::Null => {
                let schema = json!({ "type": "object", "additionalProperties": true });
                let tools = TOOLS.map(|name| json!({ "name": name, "inputSchema": schema }));
                json!({ "tools": tools })
            }
            page => page.clone(),
        }
    }

    fn call(&mut self, message: &Value) -> Option<Value> {
        let arguments = &message["params"]["arguments"];
        let name = message["params"]["name"].as_str()?;
        let name = if name == "brew" {
            self.script["brew"].as_str()?
        } else {
            name
        };
        Some(match name {
            "echo" => text(&arguments.to_string()),
            "pid" => text(&std::process::id().to_string()),
            "variables" => {
                let variables: Map<_, _> = std::env::vars()
                    .map(|(name, value)| (name, value.into()))
                    .collect();
                text(&Value::Object(variables).to_string())
            }
            "received" => text(&Value::Array(self.received.clone()).to_string()),
            "answer" => json!({ "result": arguments["result"] }),
            "write" => {
                for piece in arguments["pieces"].as_array()? {
                    let text = piece["text"].as_str().or(piece.as_str())?;
                    let text = text.replace("ID", &message["id"].to_string());
                    for _ in 0..piece["count"].as_u64().unwrap_or(1) {
                        write(&text);
                    }
                }
                return None;
            }
            "silent" => return None,
            "exit" => exit(4),
            "mute" => loop {
                std::thread::park();
            },
            "set_page" => {
                self.script["pages"][""] = arguments["page"].clone();
                write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
                text("set")
            }
            _ => json!({ "error": { "code": -32602, "message": "unknown tool" } }),
        })
    }
}

/// Returns an answer to `initialize`.
pub(crate) fn initialized(version: &str) -> Value {
    json!({ "result": {
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "peer", "version": "1" },
    } })
}

/// Returns an answer to `server/discover`.
pub(crate) fn discovered(versions: &[&str]) -> Value {
    json!({ "result": {
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "ttlMs": 0,
        "cacheScope": "private",
    } })
}

fn unknown_method() -> Value {
    json!({ "error": { "code": -32601, "message": "unknown method" } })
}

fn text(text: &str) -> Value {
    json!({ "result": { "content": [{ "type": "text", "text": text }] } })
}

fn write(text: &str) {
    let mut stdout = stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    // A client that reads no more is no panic, whose text would be in the log of the client.
    if written.is_err() {
        exit(1);
    }
}
