//! `tool-gateway serve` with `[tools.bash]`: commands have no keys, are logged, and end with the program.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::post_messages;
use crate::program::{Directory, command, run};
use crate::serving::Serving;

/// Secrets of the gateway's environment.
const SECRETS: [&str; 3] = ["sk-upstream-4711", "client-key-4712", "other-4713"];

/// A running program with a workspace, a script of commands, and its temporary files in one directory.
struct Server(Serving);

impl Server {
    /// Starts the program. The model runs the commands, or writes the files, one in each round.
    fn start(directory: &Directory, settings: &str, inputs: &[Value]) -> Self {
        let calls = inputs.iter().map(|input| {
            let is_file = input["file_path"].is_string();
            (if is_file { "Write" } else { "Bash" }, input.clone())
        });
        Self::with_calls(directory, settings, calls)
    }

    /// Starts the program. The model calls these tools, one in each round.
    fn with_calls(
        directory: &Directory,
        settings: &str,
        calls: impl Iterator<Item = (&'static str, Value)>,
    ) -> Self {
        let path = directory.path();
        fs::create_dir_all(path.join("work")).unwrap();
        fs::create_dir_all(path.join("tmp")).unwrap();
        let mut turns: Vec<Value> = calls
            .map(|(name, input)| json!({ "content": [{ "type": "tool_use", "name": name, "input": input }] }))
            .collect();
        turns.push(json!({ "content": [{ "type": "text", "text": "Done." }] }));
        let script = directory.file("script.json", json!({ "turns": turns }).to_string());
        let config = format!(
            "[workspace]\nroot = \"{}\"\nwrite = true\n[tools]\noffer = \"always\"\n[tools.bash]\nenabled = true\nallow_root = true\n{settings}",
            path.join("work").display()
        );
        let config = directory.file("gateway.toml", config);
        let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
        command
            .args(["--upstream-kind", "script", "--script", &script])
            .env("ANTHROPIC_API_KEY", SECRETS[0])
            .env("TOOL_GATEWAY_CLIENT_KEYS", format!("ada={}", SECRETS[1]))
            .env("SOME_TOKEN", SECRETS[2])
            .env("TMPDIR", path.join("tmp"));
        Self(Serving::start(&mut command, "sandbox: "))
    }

    /// Runs the script, and returns the response.
    fn ask(&self) -> String {
        let body =
            json!({ "model": "demo", "max_tokens": 64, "messages": [{ "role": "user", "content": "Run." }] });
        let headers = format!("x-api-key: {}\r\n", SECRETS[1]);
        let answer = post_messages(&self.0.address, &headers, &body);
        assert!(answer.contains("Done."), "{answer}");
        answer
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.0.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits for the end of the program, and returns its log.
    fn end(self) -> String {
        self.0.until_end().join("\n")
    }
}

/// Returns the running processes whose environment has the folder for temporary files of a test.
fn processes(directory: &Directory) -> Vec<String> {
    let folder = directory.path().join("tmp").display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let is_command = environment.contains("TOOL_SHELL_MARK=") && environment.contains(&folder);
        is_command.then(|| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default())
    })
    .collect()
}

fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "the condition was not satisfied in time");
        sleep(Duration::from_millis(5));
    }
}

/// Returns the contents of all files below a folder.
fn contents(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                contents(&path)
            } else {
                String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
            }
        })
        .collect()
}

#[test]
fn keys_of_the_gateway_are_in_no_environment_output_or_log() {
    let directory = Directory::new();
    let commands = [
        json!({ "command": "env > env.txt; cat /proc/$PPID/environ > parent.txt 2> refused.txt; cat /proc/*/environ > all.txt 2>/dev/null; echo $SOME_TOKEN" }),
        json!({ "command": "set; seq 100000; env", "run_in_background": true }),
    ];
    let server = Server::start(&directory, "", &commands);
    server.ask();
    let work = directory.path().join("work");
    assert!(
        fs::read_to_string(work.join("env.txt"))
            .unwrap()
            .contains("TERM=dumb")
    );
    if server.0.started.contains("no signals to other processes") {
        assert_eq!(fs::read_to_string(work.join("parent.txt")).unwrap(), "");
        assert!(
            fs::read_to_string(work.join("refused.txt"))
                .unwrap()
                .contains("denied")
        );
    } else {
        eprintln!(
            "SKIPPED: this kernel does not confine commands completely: {}",
            server.0.started
        );
    }
    until(|| processes(&directory).is_empty());
    let files = contents(&work) + &contents(&directory.path().join("tmp"));
    server.signal(rustix::process::Signal::TERM);
    let started = server.0.started.clone();
    let log = server.end();
    for secret in SECRETS {
        assert!(
            !files.contains(secret) && !log.contains(secret) && !started.contains(secret),
            "{secret}"
        );
    }
    assert!(!log.contains("env.txt"), "{log}");
}

/// Each call has one line with client, session, tool, path or digest of the command, and outcome.
#[test]
fn calls_that_touch_the_machine_are_logged() {
    let directory = Directory::new();
    let work = directory.path().join("work");
    fs::create_dir_all(work.join("sub")).unwrap();
    fs::write(work.join("a.txt"), "one\n").unwrap();
    let command = "sleep 600";
    let digest = format!("blake3 {}", &blake3::hash(command.as_bytes()).to_hex()[..32]);
    let back = json!({ "old_string": "two", "new_string": "one" });
    let other = json!({ "old_string": "one", "new_string": "three" });
    let rows = [
        ("Read", json!({ "file_path": "a.txt" }), "a.txt", "ok"),
        (
            "Read",
            json!({ "file_path": "none.txt" }),
            "none.txt",
            "tool_error",
        ),
        (
            "Read",
            json!({ "file_path": ["a.txt", "b.txt"] }),
            "",
            "invalid_arguments",
        ),
        (
            "Write",
            json!({ "file_path": "sub/b.txt", "content": "secret text" }),
            "sub/b.txt",
            "ok",
        ),
        (
            "Write",
            json!({ "file_path": ".git/config", "content": "x" }),
            ".git/config",
            "tool_error",
        ),
        (
            "Edit",
            json!({ "file_path": "./a.txt", "old_string": "one", "new_string": "two" }),
            "./a.txt",
            "ok",
        ),
        (
            "MultiEdit",
            json!({ "file_path": "a.txt", "edits": [back, other] }),
            "a.txt",
            "ok",
        ),
        ("LS", json!({ "path": "sub" }), "sub", "ok"),
        ("Glob", json!({ "pattern": "*.txt", "path": "sub" }), "sub", "ok"),
        ("Grep", json!({ "pattern": "secret", "path": "sub" }), "sub", "ok"),
        // The whole workspace.
        ("Grep", json!({ "pattern": "secret" }), "", "ok"),
        (
            "Bash",
            json!({ "command": command, "run_in_background": true }),
            digest.as_str(),
            "ok",
        ),
        ("BashOutput", json!({ "bash_id": "bash_1" }), "bash_1", "ok"),
        ("KillShell", json!({ "shell_id": "bash_1" }), "bash_1", "ok"),
        (
            "KillShell",
            json!({ "shell_id": "bash_2" }),
            "bash_2",
            "tool_error",
        ),
    ];
    let calls = rows.iter().map(|(tool, input, ..)| (*tool, input.clone()));
    let server = Server::with_calls(&directory, "", calls);
    server.ask();
    server.signal(rustix::process::Signal::TERM);
    let log = server.end();
    let lines: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["message"] == "a tool touched the machine")
        .collect();
    let logged: Vec<_> = lines
        .iter()
        .map(|line| ["tool", "subject", "outcome"].map(|field| line[field].as_str().unwrap()))
        .collect();
    let expected: Vec<_> = rows
        .iter()
        .map(|(tool, _, subject, outcome)| [*tool, subject, outcome])
        .collect();
    assert_eq!(logged, expected);
    for line in &lines {
        assert_eq!(line["client"], "ada", "{line}");
        assert!(line["session"].as_str().unwrap().starts_with("ses_"), "{line}");
    }
    assert!(!log.contains("secret") && !log.contains(command), "{log}");
}

#[test]
fn ended_program_leaves_no_command() {
    let directory = Directory::new();
    let commands = [
        json!({ "command": "trap '' TERM; sleep 600; sleep 600", "run_in_background": true }),
        json!({ "command": "setsid sleep 600 & sleep 600 & echo done" }),
    ];
    let server = Server::start(&directory, "", &commands);
    server.ask();
    until(|| processes(&directory).len() >= 4);
    server.signal(rustix::process::Signal::TERM);
    server.end();
    assert_eq!(processes(&directory), Vec::<String>::new());
}

#[test]
fn next_start_ends_the_commands_of_a_killed_program() {
    let directory = Directory::new();
    let commands = [
        json!({ "command": "trap '' TERM; sleep 600 & setsid sleep 600 & wait; wait", "run_in_background": true }),
    ];
    let server = Server::start(&directory, "", &commands);
    server.ask();
    until(|| processes(&directory).len() >= 3);
    server.signal(rustix::process::Signal::KILL);
    server.end();
    assert!(processes(&directory).len() >= 3);
    let _server = Server::start(&directory, "", &[]);
    until(|| processes(&directory).is_empty());
}

#[test]
fn permission_rules_are_about_commands() {
    let directory = Directory::new();
    let rules = "[[permissions]]\ntool = \"Bash(touch allowed*)\"\ndecision = \"allow\"\n\
                 [[permissions]]\ntool = \"Bash\"\ndecision = \"deny\"\nmessage = \"only touch\"\n";
    let commands = [
        json!({ "command": "touch allowed" }),
        json!({ "command": "touch allowed2; touch denied" }),
        json!({ "command": "touch denied" }),
        json!({ "command": "touch allowed3 && touch denied" }),
        json!({ "command": ["touch allowed4"] }),
    ];
    let server = Server::start(&directory, rules, &commands);
    server.ask();
    let entries = fs::read_dir(directory.path().join("work")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["allowed"]);
    server.signal(rustix::process::Signal::TERM);
    let log = server.end();
    assert_eq!(
        log.matches("\"outcome\":\"permission_denied\"").count(),
        3,
        "{log}"
    );
}

#[test]
fn permission_rules_are_about_paths() {
    let directory = Directory::new();
    let work = directory.path().join("work");
    fs::create_dir_all(work.join("src")).unwrap();
    fs::write(work.join("other"), "").unwrap();
    std::os::unix::fs::symlink("../other", work.join("src/link")).unwrap();
    let rules = "[[permissions]]\ntool = \"Edit(src/**)\"\ndecision = \"allow\"\n\
                 [[permissions]]\ntool = \"Edit\"\ndecision = \"deny\"\nmessage = \"only src\"\n";
    let paths = ["src/a", "b", "src/../c", "src/link", "./src/sub/d"];
    let calls = paths.map(|path| json!({ "file_path": path, "content": "x" }));
    let server = Server::start(&directory, rules, &calls);
    server.ask();
    let is_written = |path: &str| fs::read_to_string(work.join(path)).is_ok_and(|text| text == "x");
    assert!(is_written("src/a") && is_written("src/sub/d"));
    assert!(!is_written("b") && !is_written("c") && !is_written("other"));
    server.signal(rustix::process::Signal::TERM);
    let log = server.end();
    assert_eq!(
        log.matches("\"outcome\":\"permission_denied\"").count(),
        3,
        "{log}"
    );
    assert!(log.contains("\"subject\":\"src/link\""), "{log}");
}

#[test]
fn mistakes_in_the_settings_of_commands_are_startup_errors() {
    let directory = Directory::new();
    let folder = directory.path().display();
    let check = |text: &str| {
        let file = directory.file("gateway.toml", text);
        run(&["serve", "--config", &file, "--check-config"], "")
    };
    let is_root = rustix::process::geteuid().is_root();
    for (text, wanted) in [
        (
            "[tools.bash]\nenabled = true".to_owned(),
            "gateway.toml:2: tools.bash.enabled: there is no folder to run commands in; set `root` in [workspace], or use --workspace DIR",
        ),
        (
            "[tools.bash]\nsandbox = \"none\"".to_owned(),
            "gateway.toml:2: tools.bash.sandbox: invalid value \"none\"; expected one of `auto`, `required`, `off`",
        ),
        (
            format!("[workspace]\nroot = \"{folder}\"\n[tools.bash]\nenabled = true"),
            "tools.bash.allow_root: commands would run as root; run the process as another user, or allow root",
        ),
    ] {
        if !is_root && wanted.contains("allow_root") {
            eprintln!("SKIPPED: the tests do not run as root");
            continue;
        }
        let wrong = check(&text);
        assert_eq!(wrong.status, 2, "{text}");
        assert!(wrong.stderr.contains(wanted), "{}\n{wanted}", wrong.stderr);
    }
    let right = check(&format!(
        "[workspace]\nroot = \"{folder}\"\n[tools.bash]\nenabled = true\nallow_root = true\nsandbox = \"off\"\nnetwork = true"
    ));
    assert_eq!(right.status, 0, "{}", right.stderr);
}
