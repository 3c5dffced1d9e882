//! Memory of each contestant before the first request and under load.

use std::time::Duration;

use crate::answer::{Answer, Request};
use crate::contestants::{self, DIRECT, OFFERS, PASSES};
use crate::load::{Clients, Until};
use crate::samples::goal;
use crate::speed::runtime;

const REQUESTS: u64 = 10_000;

pub fn run() {
    let contestants = contestants::all();
    std::thread::sleep(Duration::from_secs(2));
    let idle: Vec<f64> = contestants.iter().map(|it| it.process.memory()).collect();
    println!("#### Memory\n");
    println!("MB in memory: two seconds after the start, and at most for {REQUESTS} streams, 64 at once.\n");
    println!("| process | idle | under load |");
    println!("|---|---|---|");
    for (contestant, idle) in contestants.iter().zip(&idle).skip(DIRECT + 1) {
        runtime().block_on(async {
            let mut clients = Clients::open(contestant.address, 64).await;
            clients
                .run(&[Request::new(Answer::Events)], Until::Sent(REQUESTS))
                .await;
        });
        println!(
            "| {} | {idle:.1} | {:.1} |",
            contestant.name,
            contestant.process.peak()
        );
    }
    println!();
    for own in [PASSES, OFFERS] {
        let (name, idle) = (&contestants[own].name, idle[own]);
        goal(idle <= 30.0, &format!("{name}: {idle:.1} MB idle; ≤ 30"));
    }
    println!();
}
