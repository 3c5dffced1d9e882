//! Long conversations. The time of a request must grow linearly with its length.

use std::time::Duration;

use crate::answer::{Answer, Request};
use crate::contestants::{self, Contestant};
use crate::load::{Clients, Until};
use crate::samples::{Samples, goal, short};
use crate::speed::{rounds, runtime};

const MESSAGES: [usize; 4] = [10, 100, 1_000, 10_000];
const ROUND: Duration = Duration::from_millis(200);

pub fn run() {
    let upstream = contestants::upstream();
    let contestants = [
        contestants::floor(upstream.address),
        contestants::gateway("tool-gateway", upstream.address, &[]),
        contestants::gateway(
            "tool-gateway, tools offered",
            upstream.address,
            &["--offer", "always"],
        ),
    ];
    println!("#### Recognition\n");
    println!(
        "A conversation of a client that the gateway does not know, every second message with a call of a tool.\n"
    );
    println!("| messages | KB | through | median, ms | µs of processor time | ns a message | ns a byte |");
    println!("|---|---|---|---|---|---|---|");
    let mut a_message: Vec<Vec<f64>> = contestants.iter().map(|_| Vec::new()).collect();
    for messages in MESSAGES {
        let history = history(messages - 1);
        let request = [Request::with_result(
            &history,
            &id(messages - 2),
            Answer::Plain,
            "client",
        )];
        let timed = measure(&contestants, &request);
        for ((contestant, timed), a_message) in contestants.iter().zip(timed).zip(&mut a_message) {
            let nanoseconds = timed.processor.median() * 1e3;
            a_message.push(nanoseconds / messages as f64);
            println!(
                "| {messages} | {:.1} | {} | {} | {} | {:.0} | {:.2} |",
                history.len() as f64 / 1e3,
                contestant.name,
                short(timed.median.median() / 1e3),
                timed.processor.spread(),
                nanoseconds / messages as f64,
                nanoseconds / history.len() as f64,
            );
        }
    }
    println!();
    for (contestant, a_message) in contestants.iter().zip(&a_message).skip(1) {
        let times = a_message[MESSAGES.len() - 1] / a_message[MESSAGES.len() - 2];
        goal(
            times <= 1.2,
            &format!(
                "{}: a message of 10,000 takes {times:.2} times that of 1,000; linear, ≤ 1.2",
                contestant.name
            ),
        );
    }
    println!();
}

#[derive(Default)]
struct Timed {
    /// In microseconds, like the next field.
    median: Samples,
    processor: Samples,
}

fn measure(contestants: &[Contestant], request: &[Request]) -> Vec<Timed> {
    runtime().block_on(async {
        let mut clients = Vec::new();
        for contestant in contestants {
            let mut opened = Clients::open(contestant.address, 1).await;
            opened.run(request, Until::Sent(3)).await;
            clients.push(opened);
        }
        let mut timed: Vec<Timed> = contestants.iter().map(|_| Timed::default()).collect();
        for _ in 0..rounds() {
            for ((contestant, clients), timed) in contestants.iter().zip(&mut clients).zip(&mut timed) {
                let before = contestant.process.processor_time();
                let loaded = clients.run(request, Until::Elapsed(ROUND)).await;
                let processor = contestant.process.processor_time() - before;
                timed.median.push(loaded.latencies.median());
                timed
                    .processor
                    .push(processor.as_secs_f64() * 1e6 / loaded.requests as f64);
            }
        }
        timed
    })
}

/// Builds the messages before the last user message: user and assistant in turn, each text of the assistant with a call.
fn history(messages: usize) -> String {
    let words = "Some words of a conversation that is long. ".repeat(4);
    let mut history = String::new();
    for number in 0..messages {
        let (text, id) = (format!(r#"{{"type":"text","text":"{words}"}}"#), id(number));
        let is_assistant = (messages - number) % 2 == 1;
        history += &match number.checked_sub(1).map(self::id) {
            _ if is_assistant => format!(
                r#"{{"role":"assistant","content":[{text},{{"type":"tool_use","id":"{id}","name":"search_files","input":{{"pattern":"{number}"}}}}]}},"#
            ),
            None => format!(r#"{{"role":"user","content":[{text}]}},"#),
            Some(call) => format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":"{number}"}},{text}]}},"#
            ),
        };
    }
    history
}

/// Returns the id of the call in this message.
fn id(number: usize) -> String {
    format!("toolu_{number:024}")
}
