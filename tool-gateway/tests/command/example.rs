//! The examples: `gateway` shows the views of the client and of the model, and `chat_server` is a server of Chat Completions for the program.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http::post_messages;
use crate::program::command;

/// Returns the program of an example.
fn example(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_tool-gateway"))
        .with_file_name("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
    let changed = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
    assert!(
        changed(&program) >= changed(&source),
        "the example was not built since it was changed; `cargo test -p tool-gateway` builds it",
    );
    program
}

/// A running server, which is stopped when it is dropped.
struct Listening {
    process: Child,
    address: String,
}

impl Listening {
    /// Reads the address from the first line of a server's output.
    fn new(process: Child, output: impl Read) -> Self {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { process, address }
    }

    /// Posts a request of the Messages API, and returns the body of the response.
    fn ask(&self, messages: &[Value], is_stream: bool) -> String {
        let tools = json!([{ "name": "get_weather", "input_schema": { "type": "object" } }]);
        let body = json!({ "model": "demo", "max_tokens": 1024, "stream": is_stream, "tools": tools, "messages": messages });
        post_messages(&self.address, "", &body)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The README names both commands.
#[test]
fn chat_server_plays_the_model_of_a_conversation() {
    let mut server = Command::new(example("chat_server"))
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = server.stdout.take().unwrap();
    let server = Listening::new(server, output);
    let upstream = format!("http://{}", server.address);
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--upstream-kind",
        "openai",
        "--upstream",
    ];
    let mut gateway = command(&arguments)
        .args([&upstream, "--offer", "always"])
        .env_remove("TOOL_GATEWAY_CLIENT_KEYS")
        .env_remove("OPENAI_API_KEY")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = gateway.stderr.take().unwrap();
    let gateway = Listening::new(gateway, output);

    let mut messages = vec![json!({ "role": "user", "content": "How is Oslo?" })];
    let answer: Value = serde_json::from_str(&gateway.ask(&messages, false)).unwrap();
    // The call of TodoWrite, a Python dict, ran in the gateway.
    let shown: Vec<_> = answer["content"].as_array().unwrap().iter().collect();
    let [first, second, call] = shown.as_slice() else {
        panic!("{answer}")
    };
    assert_eq!(
        (&first["text"], &second["text"]),
        (&json!("I call TodoWrite."), &json!("I call get_weather."))
    );
    assert_eq!(
        (&call["name"], &call["input"]),
        (&json!("get_weather"), &json!({ "city": "Oslo" }))
    );
    assert_eq!(answer["stop_reason"], "tool_use");
    let streamed = gateway.ask(&messages, true);
    assert!(
        streamed.contains("I call get_weather.") && streamed.contains("message_stop"),
        "{streamed}"
    );
    let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "21 °C" });
    messages.push(json!({ "role": "assistant", "content": answer["content"] }));
    messages.push(json!({ "role": "user", "content": [result] }));
    let answer: Value = serde_json::from_str(&gateway.ask(&messages, false)).unwrap();
    let text = answer["content"][0]["text"].as_str().unwrap();
    let expected = r#"I have read: {"success":true,"count":1}; 21 °C"#;
    assert_eq!(text, expected);
}

#[test]
fn client_and_model_see_their_own_conversation() {
    let program = example("gateway");
    let output = Command::new(program).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    let mut rest = printed.as_str();
    for expected in [
        // The client sees only its own call,
        r#"the client sees  [{"type":"text","text":"I look at both."},{"type":"tool_use","id":"toolu_"#,
        r#""name":"get_weather","input":{"city":"Oslo"}}]"#,
        r#"the client sees  [{"type":"text","text":"Noon, and 21 °C."}]"#,
        // and the model sees both results, in the order of its calls.
        r#""content":"It is noon in Oslo."},{"type":"tool_result","tool_use_id":"#,
        r#""content":"21 °C"}]"#,
    ] {
        let found = rest.split_once(expected);
        let (_, behind) = found.unwrap_or_else(|| panic!("`{expected}` is missing in:\n{printed}"));
        rest = behind;
    }
}
