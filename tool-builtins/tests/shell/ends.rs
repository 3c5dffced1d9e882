//! Ends of commands: after each, no process is left and none is a zombie.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use tool_builtins::shell::ShellOptions;
use tool_runtime::{CancellationToken, Context, ToolRegistry};

use crate::lab::{LONG, Lab, has_file, until};

/// Commands that do not end by themselves, or leave processes.
const STUBBORN: [&str; 10] = [
    "sleep 600 & echo started > ready; wait",
    "setsid sleep 600 & echo started > ready; wait",
    "nohup sleep 600 >/dev/null 2>&1 & echo started > ready; wait",
    "trap '' TERM; echo started > ready; sleep 600; sleep 600",
    "trap '' TERM; setsid bash -c \"trap '' TERM; sleep 600; sleep 600\" & echo started > ready; wait",
    "for i in $(seq 50); do (setsid sleep 600 &) ; done; echo started > ready; sleep 600",
    "f() { sleep 0.05; f & f & }; (for i in 1 2 3; do sleep 600 & done); echo started > ready; sleep 600",
    "exec 1>/dev/null 2>/dev/null; (sleep 600 &) ; echo started > ready; sleep 600",
    "bash -c 'env -i sleep 600' & echo started > ready; wait",
    "sleep 600 & kill -STOP $!; echo started > ready; wait",
];

fn ready(lab: &Lab) -> bool {
    has_file(&lab.work().join("ready"))
}

fn not_ready(lab: &Lab) {
    let _ = fs::remove_file(lab.work().join("ready"));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_call_leaves_no_process() {
    let lab = Lab::new();
    for command in STUBBORN {
        let call = lab.call("Bash", json!({ "command": command }));
        let registry = lab.registry.clone();
        let running = tokio::spawn(async move { registry.call(call).await });
        until(|| ready(&lab)).await;
        running.abort();
        assert!(running.await.is_err());
        lab.assert_no_processes();
        not_ready(&lab);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_call_leaves_no_process_and_has_its_output() {
    let lab = Lab::new();
    for command in STUBBORN {
        let token = CancellationToken::new();
        let context = Context::new().with_cancellation(token.clone());
        let command = format!("echo begun; {command}");
        let call = lab
            .call("Bash", json!({ "command": command }))
            .with_context(context);
        let registry = lab.registry.clone();
        let running = tokio::spawn(async move { registry.call(call).await });
        until(|| ready(&lab)).await;
        token.cancel();
        let outcome = running.await.unwrap();
        let text = outcome.result.text().unwrap();
        assert!(outcome.result.is_error, "{text}");
        // A slow machine does not read the output in the grace period.
        if !command.contains("exec") {
            assert!(
                text.starts_with("cancelled: the command was ended\nbegun")
                    || text.starts_with("the call of `Bash` was cancelled"),
                "{command}: {text}"
            );
        }
        lab.assert_no_processes();
        not_ready(&lab);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn timed_out_call_leaves_no_process_and_has_its_output() {
    let lab = Lab::new();
    for command in STUBBORN {
        let command = format!("echo begun; {command}");
        let text = lab.bash_with(json!({ "command": command, "timeout": 400 })).await;
        assert!(
            text.starts_with("timed out: the command was ended after 400 ms\nbegun"),
            "{text}"
        );
        lab.assert_no_processes();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_session_leaves_no_process() {
    let lab = Lab::new();
    for command in STUBBORN {
        let context = Context::new().with_session("s");
        let input = json!({ "command": command, "run_in_background": true });
        lab.run("Bash", input, context).await;
        until(|| ready(&lab)).await;
        assert_eq!(lab.shell().sessions(), ["s"]);
        lab.shell().end_session(Some("s")).await;
        lab.assert_no_processes();
        assert!(lab.outputs().is_empty());
        not_ready(&lab);
    }
    assert!(lab.shell().sessions().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_shell_leaves_no_process() {
    let lab = Lab::new();
    for command in STUBBORN {
        lab.bash_with(json!({ "command": command, "run_in_background": true }))
            .await;
        until(|| ready(&lab)).await;
        let shell = lab.shell().clone();
        tokio::task::spawn_blocking(move || shell.end()).await.unwrap();
        lab.assert_no_processes();
        not_ready(&lab);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_registry_leaves_no_process() {
    let mut lab = Lab::new();
    for command in STUBBORN {
        lab.bash_with(json!({ "command": command, "run_in_background": true }))
            .await;
        until(|| ready(&lab)).await;
        lab.registry = ToolRegistry::new();
        lab.shell = None;
        lab.assert_no_processes();
        not_ready(&lab);
        let folder = lab.folder.clone();
        // The old lab must not remove the folder.
        let old = std::mem::replace(&mut lab, Lab::open(folder, |options| options.writable(true)));
        std::mem::forget(old);
    }
}

/// The runtime of a call ends while its command runs.
#[test]
fn ended_runtime_leaves_no_process() {
    let lab = Lab::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let call = lab.call("Bash", json!({ "command": STUBBORN[3] }));
    let registry = lab.registry.clone();
    runtime.spawn(async move { registry.call(call).await });
    runtime.block_on(until(|| ready(&lab)));
    runtime.shutdown_timeout(LONG);
    lab.assert_no_processes();
}

/// A process that was killed leaves its commands. The next process that opens the output folder ends them.
#[tokio::test(flavor = "multi_thread")]
async fn opened_folder_ends_commands_of_an_earlier_process() {
    let lab = Lab::new();
    let mark = fs::read_to_string(lab.folder.join("output/lock")).unwrap();
    let folder = lab.folder.join("second");
    fs::create_dir_all(folder.join("work")).unwrap();
    fs::create_dir_all(folder.join("output")).unwrap();
    fs::set_permissions(
        folder.join("output"),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let other_mark = mark.chars().rev().collect::<String>();
    fs::write(folder.join("output/lock"), &other_mark).unwrap();
    let mut left = std::process::Command::new("sleep")
        .arg("600")
        .env("TOOL_SHELL_MARK", format!("{other_mark}-session-1"))
        .spawn()
        .unwrap();
    let other = ShellOptions::new(folder.join("work"), folder.join("output")).allow_root(true);
    let _shell = tool_builtins::shell::Shell::new(&other).unwrap();
    let status = left.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}

/// The folder may be one that the user had before.
#[tokio::test]
async fn opened_folder_keeps_other_folders() {
    let lab = Lab::new();
    let output = lab.folder.join("mine");
    let old = std::time::SystemTime::now() - Duration::from_secs(48 * 3600);
    let session = "0123456789abcdef0123456789abcdef";
    for name in ["documents", session] {
        fs::create_dir_all(output.join(name)).unwrap();
        let folder = fs::File::open(output.join(name)).unwrap();
        folder.set_modified(old).unwrap();
    }
    fs::set_permissions(&output, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let options = ShellOptions::new(lab.work(), &output).allow_root(true);
    drop(tool_builtins::shell::Shell::new(&options).unwrap());
    assert!(output.join("documents").exists() && output.join(session).exists());
    // Now the folder has a mark.
    drop(tool_builtins::shell::Shell::new(&options).unwrap());
    assert!(output.join("documents").exists() && !output.join(session).exists());
}

#[tokio::test]
async fn output_folder_belongs_to_one_process_and_one_user() {
    let lab = Lab::new();
    let options = ShellOptions::new(lab.work(), lab.folder.join("output")).allow_root(true);
    let error = tool_builtins::shell::Shell::new(&options)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("another process uses the folder; name another one"),
        "{error}"
    );
    let open = lab.folder.join("open");
    fs::create_dir(&open).unwrap();
    let options = ShellOptions::new(lab.work(), &open).allow_root(true);
    let error = tool_builtins::shell::Shell::new(&options)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("other users may use the folder; run `chmod 700` on it"),
        "{error}"
    );
}

#[tokio::test]
async fn link_to_a_private_folder_is_no_output_folder() {
    let lab = Lab::new();
    let private = lab.folder.join("private");
    fs::create_dir(&private).unwrap();
    fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    fs::write(private.join("key"), "secret").unwrap();
    let link = lab.folder.join("link");
    std::os::unix::fs::symlink(&private, &link).unwrap();
    let missing = lab.folder.join("dangling");
    std::os::unix::fs::symlink(lab.folder.join("none"), &missing).unwrap();
    for path in [link.clone(), link.join(""), link.join("."), missing] {
        let options = ShellOptions::new(lab.work(), &path).allow_root(true);
        assert!(
            tool_builtins::shell::Shell::new(&options).is_err(),
            "{}",
            path.display()
        );
    }
    let names: Vec<_> = fs::read_dir(&private)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["key"]);
    assert!(!lab.folder.join("none").exists());
    // A link in front of the folder is the host's.
    let options = ShellOptions::new(lab.work(), link.join("output")).allow_root(true);
    assert_eq!(
        tool_builtins::shell::Shell::new(&options).unwrap().output_dir(),
        private.join("output").canonicalize().unwrap()
    );
}

/// The limit that SECURITY.md names: a process that has neither the group nor the mark of its command is not found.
#[tokio::test(flavor = "multi_thread")]
async fn process_without_group_and_mark_is_not_found() {
    let lab = Lab::new();
    let text = lab.bash("env -i setsid sleep 30 & echo $!").await;
    let id: u32 = text.lines().next().unwrap().parse().unwrap();
    let lives = || fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep"));
    until(lives).await;
    lab.shell().end_session(None).await;
    assert!(lives(), "the process is found now: correct SECURITY.md");
    let id = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
}

/// An agent that reads a pipe to its end waits for the processes in the background.
#[tokio::test(flavor = "multi_thread")]
async fn processes_that_continue_do_not_delay_the_answer() {
    let lab = Lab::new();
    let began = Instant::now();
    let text = lab.bash("sleep 600 & setsid sleep 601 & echo done").await;
    assert!(began.elapsed() < Duration::from_secs(30));
    let note =
        "); they are bash_1 for BashOutput and KillShell, and end with the session or after 30 minutes]";
    assert!(
        text.starts_with("done\n[2 processes continue (") && text.ends_with(note),
        "{text}"
    );
    let text = lab.text("BashOutput", json!({ "bash_id": "bash_1" })).await;
    assert!(
        text.starts_with("state: exit code 0; 2 processes continue (")
            && text.ends_with(")\n(no new output)"),
        "{text}"
    );
    let text = lab.text("KillShell", json!({ "shell_id": "bash_1" })).await;
    assert_eq!(text, "bash_1: ended by KillShell");
    lab.assert_no_processes();
}

#[tokio::test(flavor = "multi_thread")]
async fn output_above_64_mib_ends_the_command() {
    let lab = Lab::new();
    for (command, start) in [
        ("yes", "y\ny\n"),
        ("head -c 1000000000 /dev/zero | tr '\\0' x", "xxxx"),
        ("yes & sleep 600", "y\ny\n"),
    ] {
        let text = lab.bash(command).await;
        let first = "the command was ended, since its output exceeds 64 MiB\n";
        assert!(
            text.starts_with(&format!("{first}{start}")),
            "{}",
            &text[..200.min(text.len())]
        );
        assert!(text.chars().count() < 31_000);
        lab.assert_no_processes();
    }
    for output in lab.outputs() {
        assert_eq!(fs::metadata(output).unwrap().len(), 64 << 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_processes_that_continue_is_limited() {
    let lab = Lab::new();
    let text = lab.bash("(sleep 0.3; yes) & echo started").await;
    assert!(
        text.starts_with("started\n[1 process") || text.starts_with("started\n[2 processes"),
        "{text}"
    );
    until(|| lab.processes().is_empty()).await;
    let text = lab.text("BashOutput", json!({ "bash_id": "bash_1" })).await;
    assert!(
        text.starts_with("state: the command was ended, since its output exceeds 64 MiB\ny\n"),
        "{}",
        &text[..200]
    );
    for output in lab.outputs() {
        assert!(fs::metadata(output).unwrap().len() <= 64 << 20);
    }
}
