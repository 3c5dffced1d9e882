//! [`Program`]: `tool-gateway serve` with a configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::http;
use crate::served_program::ServedProgram;

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
pub(crate) struct Program(ServedProgram);

impl Program {
    /// Starts the program. Port 0 is any free port.
    pub(crate) fn start(configuration: &Path, port: u16) -> Self {
        Self::start_with(configuration, port, &[])
    }

    /// Starts the program with further variables of the environment.
    pub(crate) fn start_with(configuration: &Path, port: u16, variables: &[(&str, &str)]) -> Self {
        let variables = [&[("RUST_LOG", "warn")][..], variables].concat();
        Self(ServedProgram::start(configuration, port, &variables))
    }

    pub(crate) fn address(&self) -> &str {
        &self.0.address
    }

    pub(crate) fn port(&self) -> u16 {
        self.address().rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Returns the status of a page, or 0 without a response.
    pub(crate) async fn status(&self, path: &str) -> u16 {
        let reply = http::send(self.address(), "GET", path, &[], b"").await;
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
        self.0.signal("-TERM");
        while !self.0.has_ended() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
