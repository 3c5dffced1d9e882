//! [`RedisServer`]: a server of Redis that a test starts.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server without persistence, on a free port. The server ends with this value, and with the process of the test.
#[derive(Debug)]
pub struct RedisServer {
    /// A shell that kills the server at the end of its standard input.
    shell: Child,
    port: u16,
    directory: PathBuf,
}

/// Reply of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisReply {
    Nil,
    Number(i64),
    Text(String),
    Error(String),
    List(Vec<RedisReply>),
}

impl RedisReply {
    /// Returns the text of a reply with one.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("expected a text, got {other:?}"),
        }
    }

    /// Returns the texts of a list.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::List(list) => list.iter().map(Self::text).collect(),
            other => panic!("expected a list, got {other:?}"),
        }
    }
}

/// Time for the start of a server.
const START: Duration = Duration::from_secs(60);

/// Returns the program: `$TOOL_GATEWAY_REDIS_SERVER`, or else `redis-server` or `valkey-server`. Without a program, the calling test is ignored
/// with a message, or fails if `REDIS_TESTS=required` is set.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("TOOL_GATEWAY_REDIS_SERVER").map(PathBuf::from);
    let mut programs = named
        .into_iter()
        .chain(["redis-server".into(), "valkey-server".into()]);
    let starts = |program: &PathBuf| {
        let version = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    };
    let found = programs.find(starts);
    if found.is_none() {
        let message = "no redis-server; `.ci/run programs` installs it, or set TOOL_GATEWAY_REDIS_SERVER";
        assert!(
            std::env::var_os("REDIS_TESTS").is_none_or(|tests| tests != "required"),
            "{message}"
        );
        eprintln!("IGNORED: {message}");
    }
    found
}

/// Offset of the cluster bus port from the client port. Redis 6.2 has no `cluster-port`.
const CLUSTER_BUS_OFFSET: u16 = 10_000;

/// Returns a free port whose cluster bus port is free, too.
pub fn free_port() -> u16 {
    // Below the ports that the system gives to connections, of which one may take the port before the server does. Processes with close ids
    // have other ports.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(31);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    loop {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(10_000 + number % u32::from(CLUSTER_BUS_OFFSET)).unwrap();
        if is_free(port) && is_free(port + CLUSTER_BUS_OFFSET) {
            return port;
        }
    }
}

impl RedisServer {
    /// Starts a server with all slots of a cluster, so that a script with keys of several slots fails.
    pub fn start() -> Option<Self> {
        let server = Self::start_with(&["--cluster-enabled", "yes"])?;
        server.add_slots(0..16_384);
        server.wait(|server| {
            server
                .run(&["CLUSTER", "INFO"])
                .text()
                .contains("cluster_state:ok")
        });
        Some(server)
    }

    /// Starts a server with further options.
    pub fn start_with(options: &[&str]) -> Option<Self> {
        let port = free_port();
        Self::start_on(port, options)
    }

    /// Starts a server on a port.
    pub fn start_on(port: u16, options: &[&str]) -> Option<Self> {
        let program = program()?;
        let directory = std::env::temp_dir().join(format!("redis-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let shell = Command::new("sh")
            .args([
                "-c",
                "\"$0\" \"$@\" & server=$!; read -r _; kill -KILL $server; wait $server 2>/dev/null",
            ])
            .arg(program)
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .arg("--dir")
            .arg(&directory)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            shell,
            port,
            directory,
        };
        server.wait(|server| server.try_run(&["PING"]).is_ok());
        Some(server)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Waits until the server has a property.
    pub fn wait(&self, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + START;
        while !is_so(self) {
            assert!(
                Instant::now() < end,
                "the server on port {} does not answer",
                self.port
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Executes a command. An error of the server is a reply.
    pub fn run(&self, command: &[&str]) -> RedisReply {
        self.try_run(command).unwrap()
    }

    /// Assigns slots of the cluster to the server.
    pub fn add_slots(&self, slots: Range<u16>) {
        // `ADDSLOTSRANGE` needs Redis 7.
        let slots: Vec<_> = slots.map(|slot| slot.to_string()).collect();
        let mut command = vec!["CLUSTER", "ADDSLOTS"];
        command.extend(slots.iter().map(String::as_str));
        assert_eq!(self.run(&command), RedisReply::Text("OK".to_owned()));
    }

    /// Returns the process id of the server.
    pub fn process(&self) -> i32 {
        let info = self.run(&["INFO", "server"]);
        let line = info
            .text()
            .lines()
            .find_map(|line| line.strip_prefix("process_id:"));
        line.unwrap().trim().parse().unwrap()
    }

    fn try_run(&self, command: &[&str]) -> io::Result<RedisReply> {
        run(self.port, command)
    }
}

/// Executes a command on the server of this port.
pub fn run(port: u16, command: &[&str]) -> io::Result<RedisReply> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(START))?;
    let mut request = format!("*{}\r\n", command.len());
    for part in command {
        request.push_str(&format!("${}\r\n{part}\r\n", part.len()));
    }
    stream.write_all(request.as_bytes())?;
    read_reply(&mut BufReader::new(stream))
}

fn read_reply(stream: &mut BufReader<TcpStream>) -> io::Result<RedisReply> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (kind, rest) = line.trim_end().split_at(1);
    let length = || rest.parse::<usize>().ok();
    Ok(match kind {
        "+" => RedisReply::Text(rest.to_owned()),
        "-" => RedisReply::Error(rest.to_owned()),
        ":" => RedisReply::Number(rest.parse().unwrap()),
        "$" => match length() {
            None => RedisReply::Nil,
            Some(length) => {
                let mut bytes = vec![0; length + 2];
                stream.read_exact(&mut bytes)?;
                bytes.truncate(length);
                RedisReply::Text(String::from_utf8_lossy(&bytes).into_owned())
            }
        },
        "*" => match length() {
            None => RedisReply::Nil,
            Some(length) => RedisReply::List(
                (0..length)
                    .map(|_| read_reply(stream))
                    .collect::<io::Result<_>>()?,
            ),
        },
        other => panic!("unknown kind of reply {other}"),
    })
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
