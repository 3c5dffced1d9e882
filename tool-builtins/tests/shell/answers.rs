//! Answers of `Bash`: output, exit codes, working directory, environment.

use std::fs;

use serde_json::json;
use tool_builtins::shell::Sandbox;
use tool_runtime::Context;
use tool_runtime::testing::assert_definitions;

use crate::lab::Lab;

#[tokio::test]
async fn answers_have_output_and_exit_code() {
    let lab = Lab::new();
    for (command, answer) in [
        ("echo hello", "hello"),
        ("true", "(no output)"),
        ("exit 3", "exit code 3\n(no output)"),
        ("echo out; exit 1", "exit code 1\nout"),
        ("exit 300", "exit code 44\n(no output)"),
        ("kill -9 $$", "ended by signal 9 (SIGKILL)\n(no output)"),
        (
            "echo x; kill -TERM $$; sleep 60",
            "ended by signal 15 (SIGTERM)\nx",
        ),
        ("bash -c 'kill -SEGV $$'", "exit code 139\n"),
        // Two streams, in the order in which they were written.
        (
            "for i in 1 2 3; do echo out $i; echo err $i >&2; done",
            "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3",
        ),
        // Standard input is empty.
        ("cat", "(no output)"),
        ("read x; echo \"$? [$x]\"", "1 []"),
        ("cat <<'END'\na $b\n  c\nEND", "a $b\n  c"),
        ("echo hi!! 'a\"b' \"c'd\"", "hi!! a\"b c'd"),
        ("printf 'a\\xff\\xfeb\\n'", "a\u{fffd}\u{fffd}b"),
        ("printf '\\033[31mred\\033[0m\\n10%%\\r20%%\\n'", "red\n20%"),
        // The command sees neither its own text nor other arguments.
        ("echo \"$# [$1] [$0]\"", "0 [] [bash]"),
        ("set -e; false; echo never", "exit code 1\n(no output)"),
        ("exec echo replaced", "replaced"),
        ("false | true; echo ${PIPESTATUS[0]}", "1"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye"),
        ("(exit 7)", "exit code 7\n(no output)"),
        ("echo 1 >> /dev/stderr; echo 2 >> /dev/stdout; echo 3", "1\n2\n3"),
    ] {
        let text = lab.bash(command).await;
        assert!(
            text.starts_with(answer) && (answer.ends_with('\n') || text == answer),
            "{command}: {text}"
        );
        lab.assert_no_processes();
    }
    // Outputs that were read completely are removed.
    assert!(lab.outputs().is_empty(), "{:?}", lab.outputs());
}

#[tokio::test]
async fn failure_is_an_error_result() {
    let lab = Lab::new();
    for (command, is_error) in [
        ("true", false),
        ("false", true),
        ("syntax (", true),
        ("kill -9 $$", true),
    ] {
        let outcome = lab
            .run("Bash", json!({ "command": command }), Context::new())
            .await;
        assert_eq!(outcome.result.is_error, is_error, "{command}");
    }
    let text = lab.bash("syntax (").await;
    assert!(text.contains("syntax error"), "{text}");
}

#[tokio::test]
async fn arguments_of_claude_code_are_accepted_without_a_warning() {
    let lab = Lab::new();
    let input = json!({
        "command": "echo a", "timeout": 5000, "description": "Print a", "run_in_background": false,
        "dangerouslyDisableSandbox": true,
    });
    let note = "a\n[`dangerouslyDisableSandbox` has no effect]";
    assert_eq!(lab.bash_with(input.clone()).await, note);
    assert_eq!(lab.bash_with(input).await, "a");
    let outcome = lab
        .run(
            "Bash",
            json!({ "command": "echo a", "timeout": "5000", "run_in_background": "false" }),
            Context::new(),
        )
        .await;
    assert_eq!((outcome.result.text(), outcome.warnings.len()), (Some("a"), 2));
    for wrong in [
        json!({ "command": " " }),
        json!({ "command": "x", "timeout": 0 }),
        json!({ "command": "x", "timeout": 600_001 }),
        json!({}),
    ] {
        let outcome = lab.run("Bash", wrong.clone(), Context::new()).await;
        assert!(outcome.result.is_error && !outcome.errors.is_empty(), "{wrong}");
    }
}

#[tokio::test]
async fn large_commands_run() {
    let lab = Lab::new();
    let command = format!("x='{}'; echo ${{#x}}", "a".repeat(60 << 10));
    assert_eq!(lab.bash(&command).await, "61440");
    let text = lab.bash(&"é".repeat(40_000)).await;
    assert!(
        text.starts_with("invalid_command: expected at most 64 KiB"),
        "{text}"
    );
    assert!(lab.bash("a\0b").await.starts_with("invalid_command"));
}

#[tokio::test]
async fn working_directory_persists_within_the_workspace() {
    let lab = Lab::new();
    let root = lab.work().canonicalize().unwrap();
    let root = root.display();
    assert_eq!(lab.bash("pwd").await, root.to_string());
    assert_eq!(
        lab.bash("cd 'sub folder'; X=1; f() { :; }; exit 4").await,
        "exit code 4\n(no output)"
    );
    assert_eq!(
        lab.bash("pwd; echo \"[$X]\"").await,
        format!("{root}/sub folder\n[]")
    );
    // Sessions do not share the directory.
    assert_eq!(lab.bash_in("other", "pwd").await, root.to_string());
    let text = lab.bash("cd /; pwd").await;
    assert_eq!(
        text,
        format!("/\n[/ is outside of the workspace; the next command starts in {root}]")
    );
    assert_eq!(lab.bash("pwd").await, root.to_string());
    // A subshell and a background command change nothing.
    lab.bash("(cd 'sub folder')").await;
    assert_eq!(lab.bash("pwd").await, root.to_string());
    lab.bash("mkdir -p gone; cd gone").await;
    assert_eq!(lab.bash("rmdir ../gone; echo x").await, "x");
    let text = lab.bash("pwd").await;
    assert_eq!(
        text,
        format!("{root}\n[the last working directory is gone; the command ran in {root}]")
    );
    // A link that leads out is not followed at the next start.
    lab.bash("mkdir real; cd real").await;
    fs::remove_dir(lab.work().join("real")).unwrap();
    std::os::unix::fs::symlink("/", lab.work().join("real")).unwrap();
    assert!(lab.bash("pwd").await.starts_with(&format!("{root}\n[")));
}

#[tokio::test]
async fn environment_is_an_allow_list() {
    let lab = Lab::with(|options| options.writable(true).variable("CARGO_HOME", "/cargo"));
    let text = lab.bash("env | cut -d= -f1 | sort").await;
    let allowed = [
        "CARGO_HOME",
        "GIT_EDITOR",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "LANG",
        "LOGNAME",
        "NO_COLOR",
        "OLDPWD",
        "PAGER",
        "PATH",
        "PWD",
        "SHELL",
        "SHLVL",
        "TERM",
        "TMPDIR",
        "TOOL_SHELL_MARK",
        "TZ",
        "USER",
        "_",
    ];
    for name in text.lines() {
        assert!(allowed.contains(&name) || name.starts_with("LC_"), "{name}");
    }
    // `cargo test` sets this for tests, and their commands must not have it.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(lab.bash("echo $CARGO_HOME").await, "/cargo");
    assert_eq!(
        lab.bash("touch \"$TMPDIR/x\" && ls \"$TMPDIR\" && mktemp >/dev/null && echo ok")
            .await,
        "x\nok"
    );
}

#[tokio::test]
async fn long_output_is_cut_and_its_file_is_named() {
    let lab = Lab::new();
    let text = lab
        .bash("for i in $(seq 1 20000); do echo line $i; done; exit 2")
        .await;
    assert!(
        text.starts_with("exit code 2\nline 1\nline 2\n") && text.ends_with("\nline 20000"),
        "{text}"
    );
    assert!(text.chars().count() < 30_500);
    let (_, rest) = text.split_once("the whole output is in ").unwrap();
    let file = rest.split_once("]\n").unwrap().0;
    let whole = fs::read_to_string(file).unwrap();
    assert_eq!(whole.lines().count(), 20_000);
    assert!(file.starts_with(&lab.shell().output_dir().display().to_string()));
}

/// The description of `Bash` depends on what the system enforces, so the file has the definitions without a sandbox.
#[tokio::test]
async fn definitions_equal_the_file() {
    let lab = Lab::with(|options| options.sandbox(Sandbox::Off));
    assert_definitions!(&lab.registry, "tests/shell/definitions.json");
}

#[tokio::test]
async fn definitions_are_short() {
    let lab = Lab::new();
    for definition in lab.registry.tool_definitions() {
        assert!(
            definition.description.chars().count() <= 600,
            "{}",
            definition.description
        );
    }
    let names: Vec<_> = lab
        .registry
        .tool_definitions()
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["Bash", "BashOutput", "KillShell"]);
}

/// Compares the time of a call with the time of the shell alone, as `tests/search/speed.rs` explains.
#[tokio::test]
#[ignore = "a measurement"]
async fn call_takes_little_time() {
    const CALLS: u32 = 300;
    let lab = Lab::new();
    lab.bash("true").await;
    let began = std::time::Instant::now();
    for _ in 0..CALLS {
        lab.bash("true").await;
    }
    let calls = began.elapsed() / CALLS;
    let began = std::time::Instant::now();
    for _ in 0..CALLS {
        std::process::Command::new("bash")
            .args(["-c", "true"])
            .output()
            .unwrap();
    }
    let shell = began.elapsed() / CALLS;
    let ratio = calls.as_secs_f64() / shell.as_secs_f64();
    let verdict = if ratio <= 1.5 { "met" } else { "MISSED" };
    eprintln!("Bash `true` {calls:?}, `bash -c true` {shell:?}: {ratio:.2} ×, target 1.5 ×: {verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_that_begins_with_a_dash_is_no_option() {
    let lab = Lab::new();
    for command in ["-x", "--", "--help"] {
        let text = lab.bash(command).await;
        assert!(
            text.starts_with("exit code 127\n")
                && text.contains(&format!("line 1: {command}: command not found")),
            "{text}"
        );
    }
}
