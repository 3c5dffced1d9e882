//! Peak memory of a process with one client.

use std::net::SocketAddr;
use std::process::Command;

use crate::contender;
use crate::server::{self, Answer};
use crate::speed::runtime;
use crate::statistics::Samples;

/// First argument of a measured process.
pub const CHILD: &str = "memory-of";
const TASKS: usize = 64;
const REQUESTS: usize = 20;
/// Number of processes for each median.
const PROCESSES: usize = 5;

pub fn run() {
    let server = server::start();
    println!("#### Memory\n");
    println!(
        "The most that a process of its own had in memory for {TASKS} × {REQUESTS} requests, {TASKS} at once, in MB:"
    );
    println!("the median of {PROCESSES} processes, and its quartiles.\n");
    println!("| client | {} |", Answer::TIMED.map(Answer::label).join(" | "));
    println!("|---|---|---|---|");
    for contender in contender::all(server) {
        let peaks = Answer::TIMED.map(|answer| {
            let mut samples = Samples::default();
            for _ in 0..PROCESSES {
                samples.push(peak(contender.name(), answer, server));
            }
            samples.spread()
        });
        println!("| {} | {} |", contender.name(), peaks.join(" | "));
    }
    println!();
}

/// Megabytes of one process.
fn peak(name: &str, answer: Answer, server: SocketAddr) -> f64 {
    let program = std::env::current_exe().expect("this program's path");
    let output = Command::new(program)
        .args([CHILD, name, answer.label(), &server.to_string()])
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.trim().parse().expect("a number")
}

/// Sends the requests from this process, and prints its peak memory.
pub fn run_child(name: &str, answer: &str, server: &str) {
    let contenders = contender::all(server.parse().expect("an address"));
    let contender = contenders
        .iter()
        .find(|it| it.name() == name)
        .expect("a contender");
    let answer = Answer::TIMED
        .into_iter()
        .find(|it| it.label() == answer)
        .expect("an answer");
    runtime().block_on(contender.load(answer, TASKS, REQUESTS));
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    let kilobytes: f64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{}", kilobytes * 1024.0 / 1e6);
}
