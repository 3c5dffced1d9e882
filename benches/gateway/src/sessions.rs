//! Many stored sessions: their memory, and the time to find a session, compared with few sessions.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::answer::{Answer, Request};
use crate::contestants::{self, Contestant};
use crate::http1::Connection;
use crate::load::{Clients, Until, exchange};
use crate::samples::{Samples, goal, short};
use crate::speed::runtime;

const IN_MEMORY: [u64; 3] = [1_000, 10_000, 100_000];
/// Number of sessions in a file. Each save is written to the disk before the answer ends, so that more would take minutes. The look-up time
/// of a tree on a disk need not be constant.
const IN_A_FILE: [u64; 2] = [1_000, 10_000];
/// Maximum number of turns of a client.
const CLIENTS: u64 = 10;
/// Number of sessions that are continued at each size.
const RESUMED: u64 = 1_000;

pub fn run() {
    let upstream = contestants::upstream();
    let always = ["--offer", "always"];
    println!("#### Sessions\n");
    println!(
        "Each waits for the result of a call of its client; {RESUMED} of them get it, one after the other, at each size.\n"
    );

    println!(
        "| store | sessions | MB in memory | KB a session | file, MB | median of a resume, µs | µs of processor time |"
    );
    println!("|---|---|---|---|---|---|---|");
    let memory = contestants::gateway("memory", upstream.address, &always);
    let of_memory = fill(&memory, &IN_MEMORY, None);
    drop(memory);
    let file = std::env::temp_dir().join(format!("gateway-bench-{}.redb", std::process::id()));
    let store = format!("file:{}", file.display());
    let stored = contestants::gateway(
        "file",
        upstream.address,
        &[&always[..], &["--store", &store]].concat(),
    );
    fill(&stored, &IN_A_FILE, Some(&file));
    drop(stored);
    let _ = fs::remove_file(&file);
    println!();
    let [first, .., last] = of_memory.as_slice() else {
        return;
    };
    goal(
        last.memory <= 1_000.0,
        &format!("100,000 sessions in memory: {:.0} MB; ≤ 1,000", last.memory),
    );
    let times = last.processor / first.processor;
    goal(
        times <= 1.1,
        &format!(
            "a resume among 100,000 takes {times:.2} times the processor time of one among 1,000; flat, ≤ 1.1"
        ),
    );
    println!();
}

/// Measurements at one size.
struct Filled {
    memory: f64,
    processor: f64,
}

fn fill(gateway: &Contestant, sizes: &[u64], file: Option<&Path>) -> Vec<Filled> {
    let runtime = runtime();
    let empty = gateway.process.memory();
    let mut stored = 0;
    let measured = sizes.iter().map(|&size| {
        // Resumes the oldest sessions of this size.
        let resumes = runtime.block_on(suspended(gateway));
        stored += RESUMED;
        runtime.block_on(async {
            let keys: Vec<Request> = (0..CLIENTS)
                .map(|client| Request::with_history("", Answer::Call, &key(client)))
                .collect();
            let mut clients = Clients::open(gateway.address, 64).await;
            clients.run(&keys, Until::Sent(size - stored)).await;
        });
        stored = size;
        let memory = gateway.process.memory();
        let size_of_file = file.map_or(String::new(), |file| {
            let bytes = fs::metadata(file).expect("the store's file").len();
            short(bytes as f64 / 1e6)
        });
        let before = gateway.process.processor_time();
        let latencies = runtime.block_on(resumed(gateway, resumes));
        let processor = gateway.process.processor_time() - before;
        let processor = processor.as_secs_f64() * 1e6 / RESUMED as f64;
        println!(
            "| {} | {size} | {memory:.1} | {:.2} | {size_of_file} | {} | {} |",
            gateway.name,
            (memory - empty) * 1e3 / size as f64,
            latencies.spread(),
            short(processor),
        );
        Filled { memory, processor }
    });
    measured.collect()
}

fn key(client: u64) -> String {
    format!("client-{client}")
}

/// Builds requests that answer the calls of new sessions.
async fn suspended(gateway: &Contestant) -> Vec<Request> {
    let mut connection = Connection::open(gateway.address)
        .await
        .expect("the gateway listens");
    let mut resumes = Vec::new();
    for number in 0..RESUMED {
        let key = key(number % CLIENTS);
        let mut request = Request::with_history("", Answer::Call, &key);
        exchange(&mut connection, &mut request).await;
        let message: Value = serde_json::from_slice(&connection.body).expect("a message");
        let content = &message["content"];
        let id = content[1]["id"].as_str().expect("a call");
        let history = format!(
            r#"{},{{"role":"assistant","content":{content}}},"#,
            request.message()
        );
        resumes.push(Request::with_result(&history, id, Answer::Plain, &key));
    }
    resumes
}

/// Continues each session. Returns the times in microseconds.
async fn resumed(gateway: &Contestant, resumes: Vec<Request>) -> Samples {
    let mut connection = Connection::open(gateway.address)
        .await
        .expect("the gateway listens");
    let mut latencies = Samples::default();
    for mut request in resumes {
        let start = std::time::Instant::now();
        let found = exchange(&mut connection, &mut request).await;
        latencies.push(start.elapsed().as_secs_f64() * 1e6);
        assert_eq!(
            found.as_deref(),
            Some("minted"),
            "the session is not known any more"
        );
    }
    latencies
}
