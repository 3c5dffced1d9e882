//! Requests per second, and processor time of each contender.

use std::time::{Duration, Instant};

use bytes::Bytes;
use cpu_time::ThreadTime;
use http::Response;
use tokio::runtime::{Builder, Runtime};

use crate::contender::{self, Contender, expected_echo};
use crate::server::{self, Answer};
use crate::statistics::Samples;

const ROUNDS: usize = 41;
/// Working time of a contender in one round.
const ROUND: Duration = Duration::from_millis(100);

pub fn run() {
    let server = server::start();
    let runtime = runtime();
    let contenders = contender::all(server);
    verify(&runtime, &contenders, &expected_echo(server));

    println!("#### Speed\n");
    println!(
        "The median of {ROUNDS} rounds, and its quartiles. Processor time is the client's, without the server.\n"
    );
    println!(
        "| answer | at once | client | requests/s | × the floor's | µs of processor time | × the floor's |"
    );
    println!("|---|---|---|---|---|---|---|");
    for answer in Answer::TIMED {
        for tasks in [1, 64] {
            let timed = side_by_side(&runtime, &contenders, answer, tasks);
            let floor = &timed[0];
            for (contender, timed) in contenders.iter().zip(&timed) {
                println!(
                    "| {} | {tasks} | {} | {} | {:.2} | {} | {} |",
                    answer.label(),
                    contender.name(),
                    timed.rate.spread(),
                    timed.rate.over(&floor.rate).median(),
                    timed.processor.spread(),
                    timed.processor.over(&floor.processor).spread(),
                );
            }
        }
    }
    println!();
}

/// Builds a runtime with one thread for the clients' tasks and their connections.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Checks that all clients send and receive equal bytes.
fn verify(runtime: &Runtime, contenders: &[Box<dyn Contender>], expected_echo: &str) {
    for contender in contenders {
        let name = contender.name();
        let echo = runtime.block_on(contender.response(Answer::Echo));
        assert_eq!(echo.body(), expected_echo, "the request of {name}");
        for answer in Answer::TIMED {
            let response = runtime.block_on(contender.response(answer));
            assert!(
                Some(response.body()) == answer.body().as_ref(),
                "the body by {name}"
            );
            let floor = runtime.block_on(contenders[0].response(answer));
            assert_eq!(headers(&response), headers(&floor), "the headers by {name}");
        }
    }
}

/// Returns status and headers, except hop-by-hop headers, which the gateway removes, and the date.
fn headers(response: &Response<Bytes>) -> String {
    let mut headers = response.headers().clone();
    headers.remove(http::header::TRANSFER_ENCODING);
    headers.remove(http::header::DATE);
    format!("{}\n{}", response.status(), server::headers(&headers))
}

/// One value for each round.
#[derive(Default)]
struct Timed {
    /// Requests per second of elapsed time.
    rate: Samples,
    /// Microseconds of processor time per request.
    processor: Samples,
}

/// Lets all contenders work in turn, round by round.
fn side_by_side(
    runtime: &Runtime,
    contenders: &[Box<dyn Contender>],
    answer: Answer,
    tasks: usize,
) -> Vec<Timed> {
    let requests: Vec<usize> = contenders
        .iter()
        .map(|contender| requests_per_round(runtime, contender.as_ref(), answer, tasks))
        .collect();
    let mut timed: Vec<Timed> = contenders.iter().map(|_| Timed::default()).collect();
    for _ in 0..ROUNDS {
        for ((contender, &requests), timed) in contenders.iter().zip(&requests).zip(&mut timed) {
            let (wall, processor) = measure(runtime, contender.as_ref(), answer, tasks, requests);
            let count = (tasks * requests) as f64;
            timed.rate.push(count / wall.as_secs_f64());
            timed.processor.push(processor.as_secs_f64() * 1e6 / count);
        }
    }
    timed
}

/// Returns the number of requests of each task that fill a round. Counting them also opens the connections.
fn requests_per_round(runtime: &Runtime, contender: &dyn Contender, answer: Answer, tasks: usize) -> usize {
    let mut requests = 1;
    loop {
        let (wall, _) = measure(runtime, contender, answer, tasks, requests);
        if wall * 4 >= ROUND * 3 {
            return requests;
        }
        requests *= 2;
    }
}

fn measure(
    runtime: &Runtime,
    contender: &dyn Contender,
    answer: Answer,
    tasks: usize,
    requests: usize,
) -> (Duration, Duration) {
    let load = contender.load(answer, tasks, requests);
    runtime.block_on(async {
        let (wall, processor) = (Instant::now(), ThreadTime::now());
        load.await;
        (wall.elapsed(), processor.elapsed())
    })
}
