//! Resident memory of `serve` during and after large requests.
//!
//! Bodies have 1 MiB; with `GATEWAY_LONG=1`, bodies have nearly 32 MiB, which takes minutes without optimization: `GATEWAY_LONG=1 cargo test
//! --release -p tool-gateway --test command resident_memory`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::program::command;

/// Returns the maximum resident memory after all requests. The gateway holds no body (`tests/memory/peak.rs`). The background threads of
/// jemalloc return free pages; other allocators keep them, 10 to 92 MiB in an optimized program, depending on the number of requests.
fn max_resident(idle: u64) -> u64 {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        return idle * 3 / 2;
    }
    idle + (128 << 20)
}

/// Starts a server that reads requests and answers each with a message.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            std::io::copy(&mut stream.by_ref().take(length), &mut std::io::sink()).unwrap();
            let message = r#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{}}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{message}", message.len());
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    address
}

/// Sends a request and returns the status line of its answer.
fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\nx-api-key: k\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// Returns the resident memory of a process in bytes.
fn resident(process: u32) -> u64 {
    memory(process, "VmRSS:")
}

/// Returns a field of a process's status, in bytes.
fn memory(process: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.unwrap().trim().trim_end_matches(" kB");
    kibibytes.parse::<u64>().unwrap() << 10
}

/// Returns bodies of this size: one text, many texts, and an argument with many values.
fn bodies(size: usize) -> [String; 3] {
    let list = |item: &str| format!("[{}]", vec![item; size / (item.len() + 1)].join(","));
    let user =
        |content: &str| format!(r#"{{"model":"m","messages":[{{"role":"user","content":{content}}}]}}"#);
    let call = format!(
        r#"[{{"type":"tool_use","id":"t","name":"n","input":{{"a":{}}}}}]"#,
        list(r#""abcdefghijklmnopqrstuvwxyz""#)
    );
    [
        user(&format!("\"{}\"", "a".repeat(size))),
        user(&list(&format!(
            r#"{{"type":"text","text":"{}"}}"#,
            "a".repeat(400)
        ))),
        format!(
            r#"{{"model":"m","messages":[{{"role":"assistant","content":{call}}},{{"role":"user","content":"a"}}]}}"#
        ),
    ]
}

/// Starts the program with these options of its allocator, and sends small requests.
fn serve(allocator: &str) -> (Child, String) {
    let mut program = command(&["serve", "--listen", "127.0.0.1:0", "--offer", "always"]);
    let mut program = program
        .env("_RJEM_MALLOC_CONF", allocator)
        .args(["--upstream", &format!("http://{}", upstream())])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(program.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let address = log.find_map(|line| Some(line.strip_prefix("listening on http://")?.to_owned()));
    let address = address.unwrap().trim_end_matches('/').to_owned();
    // The pipe must not fill.
    thread::spawn(move || log.count());
    let small = r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#;
    for _ in 0..20 {
        assert_eq!(post(&address, small), "HTTP/1.1 200 OK");
    }
    (program, address)
}

/// Maximum peak of the resident memory of a request, as a multiple of its size.
const MAX_RATIO: f64 = 8.0;

/// Smallest messages, which take the largest multiple of their size: as many as the default limit allows, nearly.
const SMALL_MESSAGES: [(&str, &str); 4] = [
    (
        "messages",
        r#"{"role":"user","content":"TEXT"},{"role":"assistant","content":[]}"#,
    ),
    (
        "system messages",
        r#"{"role":"system","content":"TEXT"},{"role":"system","content":""}"#,
    ),
    (
        "messages and system messages",
        r#"{"role":"user","content":""},{"role":"system","content":"TEXT"}"#,
    ),
    (
        "messages of other roles",
        r#"{"role":"x","content":"TEXT"},{"role":"y","content":""}"#,
    ),
];

#[test]
fn request_of_small_messages_takes_a_small_multiple_of_its_size() {
    const PAIRS: usize = 49_000;
    for (name, pair) in SMALL_MESSAGES {
        let pairs: Vec<_> = (0..PAIRS)
            .map(|number| pair.replace("TEXT", &number.to_string()))
            .collect();
        let last = r#"{"role":"user","content":"a"}"#;
        let body = format!(r#"{{"model":"m","messages":[{},{last}]}}"#, pairs.join(","));
        let (mut program, address) = serve("");
        let idle = resident(program.id());
        // Resets the peak.
        fs::write(format!("/proc/{}/clear_refs", program.id()), "5").unwrap();
        assert_eq!(post(&address, &body), "HTTP/1.1 200 OK", "{name}");
        let peak = memory(program.id(), "VmHWM:");
        program.kill().unwrap();
        program.wait().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
        let ratio = peak.saturating_sub(idle) as f64 / body.len() as f64;
        eprintln!("{ratio:.1} times {} bytes: {name}", body.len());
        assert!(ratio <= MAX_RATIO, "{name} take {ratio} times their size");
    }
}

#[test]
fn memory_of_large_requests_is_given_back() {
    let is_long = std::env::var_os("GATEWAY_LONG").is_some();
    let size = if is_long { 31 << 20 } else { 1 << 20 };
    // Ten seconds otherwise.
    let allocator = if is_long { "" } else { "dirty_decay_ms:500" };
    let (mut program, address) = serve(allocator);
    let address = &address;
    let idle = resident(program.id());
    for body in bodies(size) {
        for _ in 0..if is_long { 8 } else { 2 } {
            assert_eq!(post(address, &body), "HTTP/1.1 200 OK");
        }
    }
    let after = resident(program.id());
    // Threads that worked on large requests end after 10 seconds, and free pages are returned as late.
    let end = Instant::now() + Duration::from_secs(60);
    let mut rest = after;
    while rest > max_resident(idle) && Instant::now() < end {
        thread::sleep(Duration::from_millis(200));
        rest = resident(program.id());
    }
    program.kill().unwrap();
    program.wait().unwrap();
    eprintln!("{idle} bytes when idle, {after} after the requests, {rest} later");
    assert!(
        rest <= max_resident(idle),
        "{idle} bytes when idle, {rest} after the requests"
    );
}
