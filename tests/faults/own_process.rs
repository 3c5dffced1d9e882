//! Runs a test of this suite again in a separate process, with limits or with a small disk. The gateway's suite uses this file, too.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variable with the directory of the child process; without it, the test starts the processes.
pub(crate) const CHILD_DIRECTORY: &str = "FAULT_CHILD_DIRECTORY";

/// Returns the directory of this process, if it was started to run one test.
pub(crate) fn child_directory() -> Option<PathBuf> {
    std::env::var_os(CHILD_DIRECTORY).map(PathBuf::from)
}

/// Runs a test of this suite below `command`, in a separate directory. Returns its output if it failed.
pub(crate) fn run_in_child(test: &str, command: &[&str]) -> Result<(), String> {
    let directory = directory_of(test);
    let mut below = Command::new(command[0]);
    below
        .args(&command[1..])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--quiet", "--nocapture"]);
    let output = below.env(CHILD_DIRECTORY, &directory).output();
    let _ = fs::remove_dir_all(&directory);
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err([output.stdout, output.stderr]
            .map(|output| String::from_utf8_lossy(&output).into_owned())
            .join("\n")),
        Err(error) => Err(error.to_string()),
    }
}

/// Creates an empty directory with this name.
pub(crate) fn directory_of(name: &str) -> PathBuf {
    let name = name.replace(':', "_");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults").join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Runs a test in a mount namespace with a separate disk, which ends with the process.
#[cfg(target_os = "linux")]
pub(crate) fn on_a_small_disk(test: &str, options: &str) {
    let mount = format!("mount -t tmpfs -o {options} tmpfs \"${CHILD_DIRECTORY}\"");
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let tried = format!("{mount} || exit 77");
    let ways: [&[&str]; 3] = [
        &["unshare", "--mount"],
        &["unshare", "--map-root-user", "--mount"],
        &[
            "sudo",
            "--non-interactive",
            "--preserve-env",
            "unshare",
            "--mount",
        ],
    ];
    for way in ways {
        let run = |shell: &str| run_in_child(test, &[way, &["sh", "-c", shell]].concat());
        if run(&tried).is_ok() {
            assert_eq!(run(&script), Ok(()));
            return;
        }
    }
    let ignored = format!("\nIGNORED: {test}, for want of the right to mount a small disk\n");
    assert!(
        std::env::var_os("FAULT_TESTS").is_none_or(|said| said != "required"),
        "{ignored}"
    );
    // Written directly to standard error, since the test harness captures printed output.
    io::stderr().write_all(ignored.as_bytes()).unwrap();
}
