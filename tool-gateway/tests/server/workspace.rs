//! Tools that touch the machine, in turns: the model of a session knows what it has read, also in another process.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tool_builtins::workspace::Workspace;
use tool_builtins::{files, search};
use tool_gateway::session::file::FileStore;
use tool_gateway::{Gateway, Offer};
use tool_runtime::ToolRegistry;

use crate::lab::{Chat, Lab, Runs, call, result, says, text, user};
use crate::protocol::Scripted;
use crate::test_script::TestScript;

/// A folder with a workspace and a file of sessions.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("work")).unwrap();
        Self(folder)
    }

    fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    fn registry(&self) -> ToolRegistry {
        let workspace = Workspace::open(self.work()).unwrap();
        let mut registry = ToolRegistry::new().with_state(workspace);
        registry.register_all(files::tools()).unwrap();
        registry.register_all(search::tools()).unwrap();
        registry
    }

    /// Builds a gateway with the sessions of the file, which answers in the order of the requests.
    fn open(&self, turns: &[Value]) -> Lab {
        let store = FileStore::open(self.0.join("sessions.redb")).unwrap();
        lab(self.registry(), turns, |gateway| gateway.with_store(store))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lab(registry: ToolRegistry, turns: &[Value], configure: impl FnOnce(Gateway) -> Gateway) -> Lab {
    crate::subscriber::keep();
    let script = json!({ "turns": turns, "order": "requests" });
    let script = TestScript::from_json(&script.to_string()).unwrap();
    let gateway = Gateway::new(registry, Scripted::new(&script)).with_offer(Offer::Always);
    Lab {
        app: configure(gateway).router(),
        script,
        runs: Runs::default(),
    }
}

fn uses(name: &str, input: &Value) -> Value {
    says(&[json!({ "type": "tool_use", "id": "up_1", "name": name, "input": input })])
}

fn done() -> Value {
    says(&[text("Done.")])
}

/// Returns the result of the last call in the model's view.
fn last_result(lab: &Lab) -> Value {
    let sent = lab.last_seen();
    let blocks = &sent["messages"].as_array().unwrap().last().unwrap()["content"];
    blocks[0].clone()
}

fn assert_result(lab: &Lab, expected: &str) {
    let result = last_result(lab);
    let content = result["content"].to_string();
    assert!(content.contains(expected), "{expected}: {result}");
}

fn write(path: &str) -> Value {
    uses("Write", &json!({ "file_path": path, "content": "new\n" }))
}

fn content(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.work().join(name)).unwrap()
}

/// Runs a step of a conversation in a runtime which then ends, as a process does.
fn process<T>(lab: Lab, step: impl AsyncFnOnce(&Lab) -> T) -> T {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answer = runtime.block_on(step(&lab));
    drop(lab);
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    answer
}

#[test]
fn read_files_are_known_after_a_restart_and_in_a_resumed_turn() {
    let folder = Folder::new("ledger");
    for name in ["a.txt", "b.txt"] {
        fs::write(folder.work().join(name), "old\n").unwrap();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _context = runtime.enter();
    let read = |path: &str| json!({ "type": "tool_use", "id": "up_1", "name": "Read", "input": { "file_path": path } });
    let mut chat = Chat::new(true);
    // The process ends in the middle of a turn, while the client has an open call.
    let waits = says(&[read("b.txt"), call("weather", "w")]);
    let turns = [says(&[read("a.txt")]), done(), waits];
    let suspended = process(folder.open(&turns), async |lab| {
        chat.say(lab, "read").await;
        chat.say(lab, "read the other one").await
    });
    let ids = suspended.ids();
    assert_eq!(ids.len(), 1, "{}", suspended.message);
    process(
        folder.open(&[write("b.txt"), write("a.txt"), done()]),
        async |lab| {
            chat.messages().push(user(json!([result(&ids[0], "rain")])));
            let reply = chat.ask(lab).await;
            assert_eq!(reply.text(), "Done.", "{}", reply.message);
            assert_result(lab, "replaced");
        },
    );
    assert_eq!(
        (content(&folder, "a.txt"), content(&folder, "b.txt")),
        ("new\n".to_owned(), "new\n".to_owned())
    );
    // Another session has read nothing.
    let mut other = Chat::new(true);
    process(folder.open(&[write("a.txt"), done()]), async |lab| {
        other.say(lab, "write").await;
        assert_result(lab, "not_read: ");
    });
    // A file that was changed since it was read is not replaced.
    fs::write(folder.work().join("a.txt"), "changed\n").unwrap();
    process(folder.open(&[write("a.txt"), done()]), async |lab| {
        chat.messages()
            .push(json!({ "role": "assistant", "content": [text("Done.")] }));
        chat.say(lab, "write again").await;
        assert_result(lab, "changed: ");
    });
    assert_eq!(content(&folder, "a.txt"), "changed\n");
}

/// The model reads, edits, searches and runs the tests of a checkout.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn model_works_in_a_checkout() {
    use tool_builtins::shell::{self, Shell, ShellOptions};

    let folder = Folder::new("checkout");
    let work = folder.work();
    fs::write(work.join("add.sh"), "add() {\n    echo $(($1 - $2))\n}\n").unwrap();
    fs::write(
        work.join("test.sh"),
        ". ./add.sh\ntest \"$(add 2 3)\" = 5 && echo passed\n",
    )
    .unwrap();
    let options = ShellOptions::new(&work, folder.0.join("output")).allow_root(true);
    let shell = Shell::new(&options).unwrap();
    let tools = shell::tools(&shell);
    let registry = folder.registry().with_state(shell).with_tools(tools).unwrap();
    let run = uses("Bash", &json!({ "command": "sh test.sh" }));
    let edit = json!({ "file_path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 + $2" });
    let turns = [
        run.clone(),
        uses(
            "Grep",
            &json!({ "pattern": "add\\(\\)", "output_mode": "content" }),
        ),
        uses("Read", &json!({ "file_path": "add.sh" })),
        uses("Edit", &edit),
        run,
        done(),
    ];
    let lab = lab(registry, &turns, |gateway| gateway);
    let reply = Chat::new(true).say(&lab, "fix the test").await;
    assert_eq!(reply.text(), "Done.", "{}", reply.message);
    let seen = lab.last_seen();
    let results: Vec<String> = seen["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["content"].as_array().into_iter().flatten())
        .filter(|block| block["type"] == "tool_result")
        .map(|block| block["content"].to_string())
        .collect();
    for (result, expected) in results.iter().zip([
        "exit code 1",
        "add.sh:1:add() {",
        "2\\t    echo",
        "edited",
        "passed",
    ]) {
        assert!(result.contains(expected), "{expected}: {result}");
    }
    assert_eq!(results.len(), 5, "{results:?}");
    assert_eq!(content(&folder, "add.sh"), "add() {\n    echo $(($1 + $2))\n}\n");
}

/// Claude Code declares tools with these names and its own schemas: their calls are the client's, and others are the gateway's.
#[tokio::test]
async fn tools_that_the_client_declares_with_its_schemas_stay_its_own() {
    let folder = Folder::new("claude-code");
    fs::write(folder.work().join("a.txt"), "one\n").unwrap();
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    let calls = says(&[
        json!({ "type": "tool_use", "id": "up_1", "name": "LS", "input": {} }),
        json!({ "type": "tool_use", "id": "up_2", "name": "Edit", "input": edit }),
    ]);
    let lab = lab(folder.registry(), &[calls, done()], |gateway| gateway);
    let mut chat = Chat::new(true);
    let path = json!({ "description": "The absolute path to the file to modify", "type": "string" });
    let text = json!({ "type": "string" });
    chat.body["tools"] = json!([{
        "name": "Edit",
        "description": "Performs exact string replacements in files.",
        "input_schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "file_path": path, "old_string": text, "new_string": text,
                "replace_all": { "description": "Replace all occurrences", "default": false, "type": "boolean" },
            },
            "required": ["file_path", "old_string", "new_string"],
            "additionalProperties": false,
        },
    }]);
    let mut reply = chat.say(&lab, "change one to two").await;
    let content = reply.content();
    let visible: Vec<&Value> = content
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .collect();
    assert_eq!(visible.len(), 1, "{}", reply.message);
    assert_eq!(
        (&visible[0]["name"], &visible[0]["input"]),
        (&json!("Edit"), &edit)
    );
    assert_eq!(self::content(&folder, "a.txt"), "one\n");
    // The echo of Claude Code has the default.
    let echo = chat.messages().last_mut().unwrap()["content"]
        .as_array_mut()
        .unwrap();
    echo.last_mut().unwrap()["input"]["replace_all"] = false.into();
    reply = chat.answer(&lab, &reply).await;
    assert_eq!(reply.text(), "Done.", "{}", reply.message);
    let sent = lab.last_seen().to_string();
    assert!(
        sent.contains("\"name\":\"LS\"") && sent.contains("from the client"),
        "{sent}"
    );
    lab.assert_well_formed();
}
