//! [`ServedProgram`]: `tool-gateway serve` as a process, with its address and its log.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

/// Lines of the program's log, which a thread reads.
#[derive(Clone, Default)]
struct Log(Arc<(Mutex<LogLines>, Condvar)>);

#[derive(Default)]
struct LogLines {
    lines: Vec<String>,
    is_complete: bool,
}

impl Log {
    /// Waits for a line, and returns it. The test runner's limit ends a test that waits forever.
    fn wait_for(&self, part: &str) -> String {
        let (lines, added) = &*self.0;
        let mut log = lines.lock().unwrap();
        loop {
            if let Some(line) = log.lines.iter().find(|line| line.contains(part)) {
                return line.clone();
            }
            assert!(!log.is_complete, "no line with {part}: {:#?}", log.lines);
            log = added.wait(log).unwrap();
        }
    }

    /// Waits for the end of the log, and returns all lines.
    fn whole(&self) -> Vec<String> {
        let (lines, added) = &*self.0;
        let log = added
            .wait_while(lines.lock().unwrap(), |log| !log.is_complete)
            .unwrap();
        log.lines.clone()
    }
}

/// The program, which is killed on drop. `TOOL_GATEWAY_TEST_LOG` shows its log.
pub(crate) struct ServedProgram {
    child: Child,
    pub(crate) address: String,
    log: Log,
}

impl ServedProgram {
    /// Starts the program with a configuration and environment variables, and waits until it listens. Port 0 is any free port.
    pub(crate) fn start(configuration: &Path, port: u16, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tool-gateway"))
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--config"])
            .arg(configuration)
            .env_remove("TOOL_GATEWAY_CLIENT_KEYS")
            .env_remove("RUST_LOG")
            .env_remove("NO_COLOR")
            .env("ANTHROPIC_API_KEY", "key")
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Log::default();
        let shared = log.clone();
        let shown = std::env::var_os("TOOL_GATEWAY_TEST_LOG").is_some();
        std::thread::spawn(move || {
            let (lines, added) = &*shared.0;
            for line in stderr.lines().map_while(Result::ok) {
                if shown {
                    eprintln!("{line}");
                }
                lines.lock().unwrap().lines.push(line);
                added.notify_all();
            }
            lines.lock().unwrap().is_complete = true;
            added.notify_all();
        });
        let line = log.wait_for("listening on http://");
        Self {
            address: line.trim_start_matches("listening on http://").to_owned(),
            child,
            log,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of the log, and returns it.
    pub(crate) fn log_line(&self, part: &str) -> String {
        self.log.wait_for(part)
    }

    /// Returns the lines of the log of a program that has been stopped.
    pub(crate) fn whole_log(&self) -> Vec<String> {
        self.log.whole()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(status.unwrap().success(), "{signal}");
    }

    /// Waits for the end of the program, and returns whether it ended in order.
    pub(crate) fn wait(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Returns whether the program has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for ServedProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
