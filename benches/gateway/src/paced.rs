//! Concurrent streams with slow events, which show whether a proxy delays events.

use crate::answer::{Answer, Request};
use crate::contestants::{self, DIRECT, OFFERS, PASSES};
use crate::load::{Clients, Until};
use crate::samples::{Samples, goal};
use crate::speed::{rounds, runtime};
use crate::upstream::PACE;

const STREAMS: usize = 64;

pub fn run() {
    let contestants = contestants::all();
    let request = [Request::new(Answer::Paced)];
    let times: Vec<Samples> = runtime().block_on(async {
        let mut clients = Vec::new();
        let mut times = Vec::new();
        for contestant in &contestants {
            let mut opened = Clients::open(contestant.address, STREAMS).await;
            opened.run(&request, Until::Sent(STREAMS as u64)).await;
            clients.push(opened);
            times.push(Samples::default());
        }
        for _ in 0..rounds() {
            for (clients, times) in clients.iter_mut().zip(&mut times) {
                let loaded = clients.run(&request, Until::Sent(STREAMS as u64)).await;
                times.push(loaded.latencies.median() / 1e3);
            }
        }
        times
    });
    println!("#### Paced\n");
    println!(
        "30 events, {} ms apart, {STREAMS} streams at once.\n",
        PACE.as_millis()
    );
    println!("| through | ms a stream | × the time without a proxy |");
    println!("|---|---|---|");
    for (contestant, time) in contestants.iter().zip(&times) {
        let ratio = time.over(&times[DIRECT]).median();
        println!("| {} | {} | {ratio:.4} |", contestant.name, time.spread());
    }
    println!();
    for own in [PASSES, OFFERS] {
        let more = (time_ratio(&times, own) - 1.0) * 100.0;
        let name = &contestants[own].name;
        goal(
            more <= 1.0,
            &format!("{name}: {more:.2} % longer than without a proxy; ≤ 1 %"),
        );
    }
    println!();
}

fn time_ratio(times: &[Samples], own: usize) -> f64 {
    times[own].over(&times[DIRECT]).median()
}
