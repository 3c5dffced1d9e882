//! [`Program`]: `tool-gateway serve` with a configuration.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::http;

/// Folder of a test, which is removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tool-gateway-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running program, which is killed on drop.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
}

impl Program {
    /// Starts the program. Port 0 is any free port.
    pub(crate) fn start(configuration: &Path, port: u16) -> Self {
        Self::start_with(configuration, port, &[])
    }

    /// Starts the program with further variables of the environment.
    pub(crate) fn start_with(configuration: &Path, port: u16, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tool-gateway"))
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--config"])
            .arg(configuration)
            .env_remove("TOOL_GATEWAY_CLIENT_KEYS")
            .env("ANTHROPIC_API_KEY", "key")
            .env("RUST_LOG", "warn")
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map_while(Result::ok);
        let mut before = Vec::new();
        let address = lines.find_map(|line| {
            let address = line.strip_prefix("listening on http://").map(str::to_owned);
            before.push(line);
            address
        });
        let address = address.unwrap_or_else(|| panic!("the program does not start: {before:?}"));
        let shown = std::env::var_os("TOOL_GATEWAY_TEST_LOG").is_some();
        std::thread::spawn(move || {
            for line in lines.filter(|_| shown) {
                eprintln!("{line}");
            }
        });
        Self { child, address }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Returns the status of a page, or 0 without a response.
    pub(crate) async fn status(&self, path: &str) -> u16 {
        let reply = http::send(&self.address, "GET", path, &[], b"").await;
        reply.map_or(0, |reply| reply.status)
    }

    /// Waits until the program admits requests.
    pub(crate) async fn ready(&self) {
        while self.status("/readyz").await != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGTERM, and waits for the end of the program.
    pub(crate) async fn stop(&mut self) {
        let killed = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        while self.child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
