//! Requests per second, latency, and processor time of each contestant.

use std::env;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::answer::{Answer, Request};
use crate::contestants::{self, Contestant, DIRECT, FLOOR, OFFERS, OFFERS_QUIETLY, PASSES};
use crate::http1::Connection;
use crate::load::{Clients, Until, exchange};
use crate::samples::{Samples, goal, short};

/// Working time of a contestant in one round.
const ROUND: Duration = Duration::from_millis(500);

/// Returns the number of rounds for each median; `ROUNDS` changes it.
pub fn rounds() -> usize {
    env::var("ROUNDS").map_or(21, |rounds| rounds.parse().expect("ROUNDS is a number"))
}

/// Builds the runtime of the load generator, with one thread.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

pub fn plain() {
    println!("#### Plain\n");
    measure(Answer::Plain, "JSON, 1 KB");
}

pub fn streamed() {
    println!("#### Streamed\n");
    measure(Answer::Events, "56 events, each by itself");
    measure(Answer::Burst, "56 events at once");
}

/// Values of a contestant, one for each round.
#[derive(Default)]
struct Timed {
    rate: Samples,
    median: Samples,
    late: Samples,
    processor: Samples,
}

fn measure(answer: Answer, label: &str) {
    let contestants = contestants::all();
    let runtime = runtime();
    runtime.block_on(verify(&contestants, answer));
    let requests: Vec<Request> = contestants.iter().map(|_| Request::new(answer)).collect();
    let all: Vec<Vec<Timed>> = [1, 64]
        .into_iter()
        .map(|connections| runtime.block_on(side_by_side(&contestants, &requests, connections)))
        .collect();
    print(&contestants, &all, label);
    for (connections, timed) in [1, 64].into_iter().zip(&all) {
        for own in [PASSES, OFFERS, OFFERS_QUIETLY] {
            compare(&contestants, timed, own, connections);
        }
    }
    println!();
}

/// Streams and messages of Chat Completions. The gateway and its peers translate them; without a proxy and through the floor, the client
/// requests Chat Completions itself.
pub fn translated() {
    println!("#### Translated from Chat Completions\n");
    translate(Answer::Plain, "JSON, 1 KB");
    translate(Answer::Events, "56 events, each by itself");
    translate(Answer::Burst, "56 events at once");
}

fn translate(answer: Answer, label: &str) {
    let contestants = contestants::translators();
    let runtime = runtime();
    let requests: Vec<Request> = (0..contestants.len())
        .map(|index| match index {
            DIRECT | FLOOR => Request::chat(answer),
            _ => Request::new(answer),
        })
        .collect();
    let all: Vec<Vec<Timed>> = [1, 64]
        .into_iter()
        .map(|connections| runtime.block_on(side_by_side(&contestants, &requests, connections)))
        .collect();
    print(&contestants, &all, label);
    for (connections, timed) in [1, 64].into_iter().zip(&all) {
        let own = &timed[PASSES];
        if connections == 1 {
            let more = own.median.minus(&timed[DIRECT].median).median();
            goal(
                more <= 300.0,
                &format!("one at once: {} µs more than without a proxy; ≤ 300", short(more)),
            );
        } else if answer != Answer::Plain {
            let rate = own.rate.median();
            goal(
                rate >= 1500.0,
                &format!("64 at once: {rate:.0} streams/s; ≥ 1,500"),
            );
        }
    }
    println!();
}

fn print(contestants: &[Contestant], all: &[Vec<Timed>], label: &str) {
    println!(
        "\n| {label}: at once | through | requests/s | × the floor's | median, µs | more than without a proxy, µs | 99 %, µs | µs of processor time | × the floor's |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (connections, timed) in [1, 64].into_iter().zip(all) {
        let (direct, floor) = (&timed[DIRECT], &timed[FLOOR]);
        for (contestant, timed) in contestants.iter().zip(timed) {
            let is_proxy = !std::ptr::eq(timed, direct);
            let of_proxy = |figure: String| if is_proxy { figure } else { String::new() };
            println!(
                "| {connections} | {} | {} | {:.2} | {} | {} | {} | {} | {} |",
                contestant.name,
                timed.rate.spread(),
                timed.rate.over(&floor.rate).median(),
                timed.median.spread(),
                of_proxy(short(timed.median.minus(&direct.median).median())),
                short(timed.late.median()),
                of_proxy(timed.processor.spread()),
                of_proxy(format!("{:.2}", timed.processor.over(&floor.processor).median())),
            );
        }
    }
    println!();
}

/// Checks the values against their targets.
fn compare(contestants: &[Contestant], timed: &[Timed], own: usize, connections: usize) {
    let name = &contestants[own].name;
    let share = timed[own].rate.over(&timed[FLOOR].rate).median();
    goal(
        share >= 0.8,
        &format!("{name}, {connections} at once: {share:.2} of the floor's requests/s; ≥ 0.8"),
    );
    for (peer, of_peer) in contestants.iter().zip(timed).skip(OFFERS_QUIETLY + 1) {
        let times = timed[own].rate.over(&of_peer.rate).median();
        goal(
            times > 1.0,
            &format!(
                "{name}, {connections} at once: {times:.2} times {}'s; > 1",
                peer.name
            ),
        );
    }
    if connections == 1 {
        let more = timed[own].median.minus(&timed[DIRECT].median).median();
        goal(
            more <= 120.0,
            &format!(
                "{name}, one at once: {} µs more than without a proxy; ≤ 120",
                short(more)
            ),
        );
    }
}

/// Checks that the answer is the upstream's. Returns whether it was serialized again.
async fn verify(contestants: &[Contestant], answer: Answer) {
    let mut expected = Vec::new();
    for (index, contestant) in contestants.iter().enumerate() {
        let mut connection = Connection::open(contestant.address)
            .await
            .expect("a contestant that listens");
        exchange(&mut connection, &mut Request::new(answer)).await;
        if index == DIRECT {
            expected.clone_from(&connection.body);
        } else if connection.body != expected {
            assert!(index > PASSES, "{} changed the response", contestant.name);
            let (own, sent) = (connection.body.len(), expected.len());
            println!(
                "{} writes the response anew: {own} bytes for {sent}.\n",
                contestant.name
            );
        }
    }
}

async fn side_by_side(contestants: &[Contestant], requests: &[Request], connections: usize) -> Vec<Timed> {
    let mut clients = Vec::new();
    for (contestant, request) in contestants.iter().zip(requests) {
        let mut opened = Clients::open(contestant.address, connections).await;
        opened
            .run(std::slice::from_ref(request), Until::Elapsed(ROUND))
            .await;
        clients.push(opened);
    }
    let mut timed: Vec<Timed> = contestants.iter().map(|_| Timed::default()).collect();
    for _ in 0..rounds() {
        let each = contestants.iter().zip(requests).zip(&mut clients).zip(&mut timed);
        for (((contestant, request), clients), timed) in each {
            let before = contestant.process.processor_time();
            let request = std::slice::from_ref(request);
            let loaded = clients.run(request, Until::Elapsed(ROUND)).await;
            let processor = contestant.process.processor_time() - before;
            timed.rate.push(loaded.rate());
            timed.median.push(loaded.latencies.median());
            timed.late.push(loaded.latencies.quantile(0.99));
            timed
                .processor
                .push(processor.as_secs_f64() * 1e6 / loaded.requests as f64);
        }
    }
    timed
}
