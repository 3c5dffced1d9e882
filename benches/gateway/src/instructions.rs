//! Instructions of a request, counted by callgrind, and so independent of other programs. Needs valgrind.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio, id};

use crate::answer::{Answer, Request};
use crate::contestants::{self, FLOOR_NAME};
use crate::load::{Clients, Until};
use crate::process::{Process, free_address};
use crate::speed::runtime;

/// Requests of the first run.
const FEW: u64 = 50;
/// Additional requests of the second run. The difference of the totals, divided by `MORE`, is the cost of a request.
const MORE: u64 = 200;

pub fn run() {
    println!("#### Instructions\n");
    let valgrind = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !valgrind.is_ok_and(|status| status.success()) {
        eprintln!("NOT MEASURED: instructions: valgrind is not installed");
        return;
    }
    let upstream = contestants::upstream();
    let gateway = |options: &'static [&'static str], level: Option<&'static str>| {
        move |listen: SocketAddr, upstream: SocketAddr| {
            let mut command = contestants::gateway_command(listen, upstream, options);
            command.envs(level.map(|level| ("RUST_LOG", level)));
            command
        }
    };
    let offers: &[&str] = &["--offer", "always"];
    let floor: Box<dyn Fn(SocketAddr, SocketAddr) -> Command> = Box::new(contestants::floor_command);
    let counted = [
        (FLOOR_NAME, floor),
        ("tool-gateway", Box::new(gateway(&[], None))),
        (
            "tool-gateway, without log and spans",
            Box::new(gateway(&[], Some("error"))),
        ),
        ("tool-gateway, tools offered", Box::new(gateway(offers, None))),
        (
            "tool-gateway, tools offered, without log and spans",
            Box::new(gateway(offers, Some("error"))),
        ),
    ];
    println!("| through | a plain message | 56 events at once |");
    println!("|---|---|---|");
    for (name, command) in counted {
        let [plain, burst] = [Answer::Plain, Answer::Burst].map(|answer| {
            let total = |requests| count(|listen| command(listen, upstream.address), answer, requests);
            (total(FEW + MORE) - total(FEW)) as f64 / MORE as f64 / 1e3
        });
        println!("| {name} | {plain:.1} k | {burst:.1} k |");
    }
    println!();
}

/// Counts the instructions of a process that answers this many requests in sequence.
fn count(command: impl FnOnce(SocketAddr) -> Command, answer: Answer, requests: u64) -> u64 {
    let log = env::temp_dir().join(format!("gateway-bench-{}.log", id()));
    let address = free_address();
    let process = Process::start(&mut under_callgrind(&command(address), &log.display()), address);
    let process = process.expect("a program that valgrind can run");
    runtime().block_on(async {
        let mut clients = Clients::open(address, 1).await;
        clients.run(&[Request::new(answer)], Until::Sent(requests)).await;
    });
    process.terminate();
    let text = fs::read_to_string(&log).expect("the log of valgrind");
    let _ = fs::remove_file(&log);
    let total = text
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .expect("a total");
    total.1.trim().parse().expect("a number")
}

/// Builds a command that counts the instructions of a program.
fn under_callgrind(command: &Command, log: &dyn std::fmt::Display) -> Command {
    let mut counted = Command::new("valgrind");
    counted
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--log-file={log}"))
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => counted.env(name, value),
            None => counted.env_remove(name),
        };
    }
    counted
}
