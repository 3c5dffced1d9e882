//! `tool-gateway serve --workspace`: the gateway's tools read and write files of a folder.

use std::fs;

use serde_json::{Value, json};

use crate::http::post_messages;
use crate::program::{Directory, command, run};
use crate::serving::Serving;

/// Starts a gateway.
fn start(arguments: &[&str]) -> Serving {
    let mut command = command(&["serve", "--listen", "127.0.0.1:0"]);
    let command = command.args(arguments).env_remove("TOOL_GATEWAY_CLIENT_KEYS");
    Serving::start(command, "workspace: ")
}

/// Sends a streamed request with further headers, and returns the events of the response.
fn ask(server: &Serving, headers: &str) -> String {
    let message = json!({ "role": "user", "content": "Greet the world in a file." });
    let body = json!({ "model": "demo", "max_tokens": 1024, "stream": true, "messages": [message] });
    post_messages(&server.address, headers, &body)
}

fn script() -> String {
    format!("{}/examples/edit.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn script_of_the_example_edits_a_file_in_a_streamed_turn() {
    let directory = Directory::new();
    let folder = directory.path().to_str().unwrap();
    let server = start(&[
        "--workspace",
        folder,
        "--write",
        "--offer",
        "always",
        "--upstream-kind",
        "script",
        "--script",
        &script(),
    ]);
    assert!(
        server
            .started
            .contains(&format!("workspace: {folder}, for reading and writing")),
        "{}",
        server.started
    );
    let answer = ask(&server, "");
    assert!(answer.contains("event: message_stop"), "{answer}");
    assert!(!answer.contains("tool_use"), "the client sees no call: {answer}");
    let text = fs::read_to_string(directory.path().join("hello.txt")).unwrap();
    assert_eq!(text, "Hello,\nworld!\n");
    // The script may run again: it reads the file before it replaces the file.
    fs::write(directory.path().join("hello.txt"), "Something else\n").unwrap();
    ask(&server, "");
    let text = fs::read_to_string(directory.path().join("hello.txt")).unwrap();
    assert_eq!(text, "Hello,\nworld!\n");
}

#[test]
fn without_write_the_tools_only_read() {
    let directory = Directory::new();
    let folder = directory.path().to_str().unwrap();
    fs::write(directory.path().join("a.txt"), "one\n").unwrap();
    fs::write(directory.path().join(".env"), "KEY=1\n").unwrap();
    let names = |arguments: &[&str]| -> Vec<String> {
        let ran = run(arguments, "");
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let tools: Vec<Value> = serde_json::from_str(ran.text()).unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&["tools"]), ["TodoWrite", "TodoRead"]);
    let reading = names(&["tools", "--workspace", folder]);
    assert!(
        reading.contains(&"Read".to_owned()) && !reading.contains(&"Edit".to_owned()),
        "{reading:?}"
    );
    assert!(names(&["tools", "--workspace", folder, "--write"]).contains(&"Edit".to_owned()));
    let call = |name: &str, path: &str, options: &[&str]| {
        let arguments = json!({ "file_path": path, "old_string": "one", "new_string": "two" }).to_string();
        let arguments = if name == "Read" {
            json!({ "file_path": path }).to_string()
        } else {
            arguments
        };
        run(
            &[&["call", name, &arguments, "--workspace", folder], options].concat(),
            "",
        )
    };
    let ran = call("Read", "a.txt", &[]);
    assert!(
        ran.status == 0 && ran.text().contains("1\\tone"),
        "{} {}",
        ran.text(),
        ran.stderr
    );
    // The defaults of the program deny files that usually contain keys, and no sources or samples.
    for (name, is_denied) in [
        (".env", true),
        (".env.local", true),
        (".env.example", false),
        ("key.pem", true),
        ("id_rsa", true),
        ("id_ed25519.bak", true),
        ("id_map.rs", false),
    ] {
        fs::write(directory.path().join(name), "KEY=1\n").unwrap();
        let ran = call("Read", name, &[]);
        let expected = if is_denied {
            format!("denied: `{name}` is denied by the glob")
        } else {
            "1\\tKEY=1".to_owned()
        };
        assert!(
            ran.status == i32::from(is_denied) && ran.text().contains(&expected),
            "{}",
            ran.text()
        );
    }
    let ran = call("Edit", "a.txt", &[]);
    assert!(ran.stderr.contains("there is no tool `Edit`"), "{}", ran.stderr);
    fs::create_dir(directory.path().join(".git")).unwrap();
    fs::write(directory.path().join(".git/config"), "one\n").unwrap();
    let ran = call("Edit", ".git/config", &["--write"]);
    assert!(
        ran.text().contains("denied: writing to `.git/config` is denied"),
        "{}",
        ran.text()
    );
    let ran = call("Edit", "a.txt", &["--write"]);
    assert_eq!(ran.status, 0, "{}", ran.text());
    assert_eq!(
        fs::read_to_string(directory.path().join("a.txt")).unwrap(),
        "two\n"
    );
}

/// Clients of a shared folder have the tools that `[[clients]] tools` and `[[permissions]] clients` leave them.
#[test]
fn clients_of_a_shared_folder_have_their_own_tools() {
    let directory = Directory::new();
    let work = directory.path().join("work");
    fs::create_dir(&work).unwrap();
    let writes = |name: &str| json!({ "type": "tool_use", "name": name, "input": { "file_path": "a.txt", "content": "written" } });
    let script = json!({ "turns": [
        { "content": [writes("Write")] },
        { "content": [{ "type": "text", "text": "Done." }] },
    ] });
    let script = directory.file("script.json", script.to_string());
    let client = |name: &str, key: &str, tools: &str| {
        format!("[[clients]]\nname = \"{name}\"\nkey_sha256 = \"{key}\"\n{tools}")
    };
    let config = format!(
        "[workspace]\nroot = \"{}\"\nwrite = true\nshared = true\n[tools]\noffer = \"always\"\n{}{}{}\
         [[permissions]]\ntool = \"Edit\"\nclients = [\"bob\"]\ndecision = \"deny\"\nmessage = \"not for you\"\n",
        work.display(),
        // The digest of `key-ada`.
        client(
            "ada",
            "70b76273e483b572d0434e1b7e43ea0a7f7e737bc7bb33b2eb382fe59976c72d",
            ""
        ),
        // The digest of `key-bob`.
        client(
            "bob",
            "f031fc74d10cf0c1284dc15f679c18b1e8e05f9d1966adefba6c6463cdcef658",
            ""
        ),
        // The digest of `key-eve`.
        client(
            "eve",
            "c387cd665db8e96fde95cc0e9697e6141586c74a131470f78a78ca28c55bdf47",
            "tools = [\"Read\"]\n"
        ),
    );
    let config = directory.file("gateway.toml", config);
    let server = start(&[
        "--config",
        &config,
        "--upstream-kind",
        "script",
        "--script",
        &script,
    ]);
    for (name, is_allowed) in [("bob", false), ("eve", false), ("ada", true)] {
        ask(&server, &format!("x-api-key: key-{name}\r\n"));
        assert_eq!(work.join("a.txt").exists(), is_allowed, "{name}");
    }
}

#[test]
fn mistakes_in_the_workspace_are_startup_errors() {
    let directory = Directory::new();
    let file = directory.path().join("gateway.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        run(
            &["serve", "--config", file.to_str().unwrap(), "--check-config"],
            "",
        )
    };
    let folder = directory.path().display();
    for (text, wanted) in [
        (
            "[workspace]\nroot = \"/nowhere\"".to_owned(),
            "gateway.toml:2: workspace.root: the folder \"/nowhere\" cannot be opened",
        ),
        (
            "[workspace]\nwrite = true".to_owned(),
            "gateway.toml:2: workspace.write: there is no folder to write in",
        ),
        (
            format!("[workspace]\nroot = \"{folder}\"\ndeny = [\"[\"]"),
            "workspace.deny: invalid glob",
        ),
        (
            format!(
                "[workspace]\nroot = \"{folder}\"\n[[clients]]\nname = \"ada\"\nkey_sha256 = \"{}\"\n[[clients]]\nname = \"bob\"\nkey_sha256 = \"{}\"",
                "0".repeat(64),
                "1".repeat(64)
            ),
            "workspace.root: 2 clients would read and write the same files",
        ),
        #[cfg(feature = "redis")]
        (
            format!("store = \"redis://127.0.0.1:1\"\n[workspace]\nroot = \"{folder}\""),
            "workspace.root: several gateways use the store, and a session may move to a gateway with another folder",
        ),
    ] {
        let wrong = check(&text);
        assert_eq!(wrong.status, 2, "{text}");
        assert!(wrong.stderr.contains(wanted), "{}\n{wanted}", wrong.stderr);
    }
    let right = check(&format!(
        "[workspace]\nroot = \"{folder}\"\nwrite = true\nshared = true\nexact_edits = true"
    ));
    assert_eq!(right.status, 0, "{}", right.stderr);
}
