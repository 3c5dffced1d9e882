//! Scripts that read streams with the SDKs of a language.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::repair::stream::Dialect;

/// A program with the SDKs of a language, and its script.
pub struct Sdk {
    program: PathBuf,
    arguments: Vec<PathBuf>,
}

/// Reading of a stream by an SDK, in one mode.
#[derive(Debug, Deserialize)]
pub struct Reading {
    pub way: String,
    pub calls: Vec<ReadCall>,
    /// Reports of completed calls before the end of the stream.
    pub done: Vec<ReadCall>,
    pub stop: Option<String>,
    /// Raised error, with its name first.
    pub error: Option<String>,
}

/// One call, with the fields that the mode reports.
#[derive(Debug, Deserialize)]
pub struct ReadCall {
    pub id: Option<String>,
    pub name: String,
    pub arguments: Option<String>,
    pub input: Option<Value>,
}

impl Sdk {
    /// Returns `None`, with a message, if Python or its SDKs are missing.
    pub fn python() -> Option<Self> {
        let program = PathBuf::from(std::env::var_os("SDK_PYTHON").unwrap_or_else(|| "python3".into()));
        let has = Command::new(&program)
            .args(["-c", "import openai, anthropic"])
            .output();
        if !has.is_ok_and(|output| output.status.success()) {
            return ignored("an interpreter with tests/sdks/requirements.txt installed, named by SDK_PYTHON");
        }
        Some(Self {
            program,
            arguments: vec![script("read.py")],
        })
    }

    /// Returns `None`, with a message, if Node or its SDKs are missing.
    pub fn javascript() -> Option<Self> {
        let folder = node_folder(&["openai", "@anthropic-ai/sdk"])?;
        Some(Self {
            program: "node".into(),
            arguments: vec![script("read.mjs"), folder],
        })
    }

    /// Reads every stream in every mode.
    pub fn read(&self, streams: &[(Dialect, &str)]) -> Vec<Vec<Reading>> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env("PYTHONUTF8", "1")
            .env("NO_PROXY", "127.0.0.1") // the tested server is local
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The scripts read all input before they write output.
        let mut input = child.stdin.take().unwrap();
        for (dialect, stream) in streams {
            let dialect = match dialect {
                Dialect::ChatCompletions => "chat",
                Dialect::Responses => "responses",
                _ => "anthropic",
            };
            writeln!(input, "{}", json!({"dialect": dialect, "stream": stream})).unwrap();
        }
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{:?} failed", self.arguments);
        let output = String::from_utf8(output.stdout).unwrap();
        let (readings, versions) = output.trim_end().rsplit_once('\n').unwrap();
        let readings: Vec<Vec<Reading>> = readings
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(readings.len(), streams.len(), "{versions}");
        to_stderr(&format!("{} streams read by {versions}\n", readings.len()));
        readings
    }
}

/// Returns the folder whose `node_modules` have these packages. Returns `None`, with a message, if Node or a package is missing.
pub fn node_folder(packages: &[&str]) -> Option<PathBuf> {
    let wanted = "Node, and a folder with tests/sdks/package.json installed, named by SDK_NODE";
    let Some(folder) = std::env::var_os("SDK_NODE").map(PathBuf::from) else {
        return ignored(wanted);
    };
    let version = Command::new("node").arg("--version").output();
    let has = |name: &&str| folder.join("node_modules").join(name).is_dir();
    if version.is_ok_and(|output| output.status.success()) && packages.iter().all(has) {
        Some(folder)
    } else {
        ignored(wanted)
    }
}

pub fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sdks").join(name)
}

fn ignored<T>(wanted: &str) -> Option<T> {
    let ignored = format!(
        "\nIGNORED: what the official SDKs read, for want of {wanted}.\n\
         `.ci/run programs` installs them under target/sdks, and `.ci/run test` uses them.\n"
    );
    assert!(
        std::env::var_os("REPAIR_TESTS").is_none_or(|said| said != "required"),
        "{ignored}"
    );
    to_stderr(&ignored);
    None
}

/// Writes directly to standard error, since the test harness captures printed output.
fn to_stderr(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}
