//! Contestants: processes between the load generator and the upstream.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::process::{Process, free_address};

pub struct Contestant {
    pub name: String,
    pub address: SocketAddr,
    pub process: Process,
}

impl Contestant {
    fn start(name: &str, command: impl FnOnce(SocketAddr) -> Command) -> Result<Self, String> {
        let address = free_address();
        let process =
            Process::start(&mut command(address), address).map_err(|error| format!("{name}: {error}"))?;
        Ok(Self {
            name: name.to_owned(),
            address,
            process,
        })
    }
}

pub const DIRECT: usize = 0;
pub const FLOOR: usize = 1;
pub const PASSES: usize = 2;
pub const OFFERS: usize = 3;
pub const OFFERS_QUIETLY: usize = 4;

/// Starts all of them. The indexes above are always present.
pub fn all() -> Vec<Contestant> {
    let upstream = upstream();
    let address = upstream.address;
    let mut all = vec![
        upstream,
        floor(address),
        gateway("tool-gateway", address, &[]),
        gateway("tool-gateway, tools offered", address, &["--offer", "always"]),
        quiet_gateway(
            "tool-gateway, tools offered, only warnings",
            address,
            &["--offer", "always"],
        ),
    ];
    all.extend(peers(address));
    all
}

/// Starts what translates between the Messages API and Chat Completions, after the upstream and the floor.
pub fn translators() -> Vec<Contestant> {
    let upstream = upstream();
    let address = upstream.address;
    let options = ["--upstream-kind", "openai"];
    let mut all = vec![
        upstream,
        floor(address),
        gateway("tool-gateway, kind openai", address, &options),
    ];
    all.extend(installed_peers(&[("litellm", litellm)], address));
    all
}

pub fn upstream() -> Contestant {
    let start = |listen: SocketAddr| own(&["upstream", &listen.to_string()]);
    Contestant::start("no proxy", start).expect("the upstream starts")
}

pub fn floor(upstream: SocketAddr) -> Contestant {
    Contestant::start(FLOOR_NAME, |listen| floor_command(listen, upstream)).expect("the floor starts")
}

pub const FLOOR_NAME: &str = "floor: hyper-util and axum";

pub fn floor_command(listen: SocketAddr, upstream: SocketAddr) -> Command {
    own(&["floor", &listen.to_string(), &upstream.to_string()])
}

/// Runs this program as another process.
fn own(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program's path"));
    command.args(arguments);
    command
}

/// Starts the gateway with all of its tools.
pub fn gateway(name: &str, upstream: SocketAddr, options: &[&str]) -> Contestant {
    Contestant::start(name, |listen| gateway_command(listen, upstream, options)).expect("the gateway starts")
}

/// Starts the gateway with the log of the peers, which has no line for a request.
fn quiet_gateway(name: &str, upstream: SocketAddr, options: &[&str]) -> Contestant {
    let start = |listen| {
        let mut command = gateway_command(listen, upstream, options);
        command.env("RUST_LOG", "warn");
        command
    };
    Contestant::start(name, start).expect("the gateway starts")
}

pub fn gateway_command(listen: SocketAddr, upstream: SocketAddr, options: &[&str]) -> Command {
    let mut command = Command::new(&*GATEWAY);
    command.args(["serve", "--listen", &listen.to_string()]);
    command
        .args(["--upstream", &format!("http://{upstream}")])
        .args(options);
    for variable in ["ANTHROPIC_API_KEY", "TOOL_GATEWAY_CLIENT_KEYS", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Builds the gateway program from the sources of this repository.
static GATEWAY: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from(root).join("target"), PathBuf::from);
    let target = std::path::absolute(target).expect("a path");
    let built = Command::new("cargo")
        .args([
            "build",
            "--locked",
            "--release",
            "--package",
            "tool-gateway",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(root)
        // Would reduce inlining.
        .env("CARGO_INCREMENTAL", "0")
        .status();
    assert!(built.expect("cargo").success(), "the gateway cannot be built");
    target.join("release/tool-gateway")
});

/// Returns the command of a peer for its programs' folder, its address and its upstream.
type PeerCommand = fn(PathBuf, SocketAddr, SocketAddr) -> Command;

fn peers(upstream: SocketAddr) -> Vec<Contestant> {
    installed_peers(&[("agentic-api", agentic_api), ("smg", smg)], upstream)
}

/// Starts the peers that are installed with the Python of `PEERS_PYTHON`.
fn installed_peers(known: &[(&str, PeerCommand)], upstream: SocketAddr) -> Vec<Contestant> {
    let mut peers = Vec::new();
    for &(package, command) in known {
        let started = installed(package).and_then(|(programs, version)| {
            let name = format!("{package} {version}");
            Contestant::start(&name, |listen| command(programs, listen, upstream))
        });
        match started {
            Ok(contestant) => peers.push(contestant),
            Err(why) => eprintln!("NOT MEASURED: {why}"),
        }
    }
    peers
}

/// Returns the folder of that Python's programs, and the package's version.
fn installed(package: &str) -> Result<(PathBuf, String), String> {
    let python = env::var_os("PEERS_PYTHON").map(PathBuf::from).ok_or_else(|| {
        format!(
            "{package}: set PEERS_PYTHON to the python of an environment into which peers.txt is installed"
        )
    })?;
    let script = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
    let output = Command::new(&python).args(["-c", script, package]).output();
    let output = output.map_err(|error| format!("{package}: {} cannot be run: {error}", python.display()))?;
    if !output.status.success() {
        return Err(format!(
            "{package}: {} does not have it installed",
            python.display()
        ));
    }
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let programs = python.parent().ok_or("PEERS_PYTHON is not a path")?;
    Ok((programs.to_owned(), version))
}

fn agentic_api(programs: PathBuf, listen: SocketAddr, upstream: SocketAddr) -> Command {
    let mut command = Command::new(programs.join("agentic-server"));
    command
        .args([
            "--gateway-host",
            "127.0.0.1",
            "--gateway-port",
            &listen.port().to_string(),
        ])
        .args([
            "--llm-api-base",
            &format!("http://{upstream}"),
            "--skip-llm-ready-check",
        ])
        .args(["--db-url", "sqlite::memory:"])
        .env("RUST_LOG", "warn");
    command
}

fn smg(programs: PathBuf, listen: SocketAddr, upstream: SocketAddr) -> Command {
    let mut command = Command::new(programs.join("smg"));
    command
        .args(["launch", "--backend", "anthropic", "--log-level", "warn"])
        .args(["--host", "127.0.0.1", "--port", &listen.port().to_string()])
        .args(["--prometheus-port", &free_address().port().to_string()])
        .args(["--worker-urls", &format!("http://{upstream}")]);
    command
}

/// Starts `LiteLLM` with the configuration of `benches/peers/chat_completions.yaml` for this upstream.
fn litellm(programs: PathBuf, listen: SocketAddr, upstream: SocketAddr) -> Command {
    let configured =
        include_str!("../../peers/chat_completions.yaml").replace("127.0.0.1:18010", &upstream.to_string());
    let file = env::temp_dir().join(format!("tool-gateway-bench-{}.yaml", std::process::id()));
    std::fs::write(&file, configured).expect("a folder for temporary files");
    let mut command = Command::new(programs.join("litellm"));
    command
        .arg("--config")
        .arg(file)
        .args(["--host", "127.0.0.1", "--port", &listen.port().to_string()])
        .env("LITELLM_LOG", "ERROR")
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true");
    command
}
