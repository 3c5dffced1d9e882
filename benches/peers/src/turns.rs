//! The calls of one turn, side by side: on two cores and on one.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use peers::clock::{Contender, side_by_side};
use peers::floors::{self, Handler};
use peers::task::JSON;
use peers::{ours, row::runtime};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tool_runtime::{ToolCall, ToolRegistry, tool};

const CALLS: usize = 64;
const ROUNDS: usize = 41;

pub fn run() {
    println!("## {CALLS} calls side by side\n");
    println!("µs on the wall for all of them; how many times as fast two cores are as one.\n");
    println!("| calls of | through | one core | two cores | times as fast | goal |");
    println!("|---|---|---|---|---|---|");
    for (what, name, text) in [
        ("`search_files`, which does next to nothing", "search_files", JSON),
        (
            "`dig`, which computes for some 50 µs",
            "dig",
            r#"{"depth":40000}"#,
        ),
    ] {
        let mut contenders = vec![
            map(runtime(), name, text),
            map(two_cores(), name, text),
            ours(runtime(), name, text),
            ours(two_cores(), name, text),
        ];
        let mut names = vec![("map", ""), ("tool-runtime", "≥ 1.8")];
        if name == "dig" {
            contenders.extend([threads(1), threads(2)]);
            names.push(("nothing: plain threads, what the machine has to give", ""));
        }
        let timed = side_by_side(&mut contenders, ROUNDS);
        for ((through, goal), pair) in names.into_iter().zip(timed.chunks(2)) {
            let [one, two] = [&pair[0], &pair[1]];
            let times = one.over(two).spread();
            let [one, two] = [one, two].map(|it| format!("{:.0}", it.median() / 1e3));
            println!("| {what} | {through} | {one} | {two} | {times} | {goal} |");
        }
    }
    println!();
}

/// The work of `dig` alone, divided among threads.
fn threads(count: usize) -> Contender<'static> {
    let share = move || {
        (0..CALLS / count)
            .map(|_| deep(40_000))
            .fold(0, u64::wrapping_add)
    };
    Box::new(move |times| {
        let began = Instant::now();
        for _ in 0..times {
            std::thread::scope(|scope| {
                let others: Vec<_> = (1..count).map(|_| scope.spawn(share)).collect();
                black_box(share());
                for other in others {
                    black_box(other.join().unwrap());
                }
            });
        }
        began.elapsed()
    })
}

fn two_cores() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Compute something.
#[tool]
async fn dig(
    /// For how long.
    depth: u64,
) -> u64 {
    deep(depth)
}

fn deep(depth: u64) -> u64 {
    (0..black_box(depth)).fold(0, |sum, step| {
        black_box(sum ^ step).rotate_left(5).wrapping_mul(0x9e37_79b9)
    })
}

struct Dig;

impl Handler for Dig {
    fn from_text<'a>(&'a self, text: &'a str) -> floors::Answer<'a> {
        #[derive(serde::Deserialize)]
        struct Args {
            depth: u64,
        }
        Box::pin(async move { Ok(deep(serde_json::from_str::<Args>(text)?.depth).to_string()) })
    }

    fn from_value(&self, _: serde_json::Value) -> floors::Answer<'_> {
        unreachable!("called with text")
    }
}

/// The floor: a task for each call.
fn map(runtime: Runtime, name: &'static str, text: &'static str) -> Contender<'static> {
    let mut handlers = floors::handlers(9);
    handlers.insert("dig".to_owned(), Box::new(Dig));
    let handlers: Arc<HashMap<_, _>> = Arc::new(handlers);
    turns(runtime, move || {
        let handlers = handlers.clone();
        async move {
            let mut running = JoinSet::new();
            for place in 0..CALLS {
                let handlers = handlers.clone();
                running.spawn(async move { (place, handlers[name].from_text(text).await.unwrap()) });
            }
            let mut answers = vec![String::new(); CALLS];
            while let Some(answered) = running.join_next().await {
                let (place, answer) = answered.unwrap();
                answers[place] = answer;
            }
            answers
        }
    })
}

fn ours(runtime: Runtime, name: &'static str, text: &'static str) -> Contender<'static> {
    let mut registry: ToolRegistry = ours::registry(9).with_max_concurrency(CALLS);
    registry.register::<dig>().expect("a tool of another name");
    turns(runtime, move || {
        let registry = registry.clone();
        async move {
            let calls = (0..CALLS).map(|_| ToolCall::new("toolu_01", name, text));
            registry.execute_all(calls).await
        }
    })
}

/// Runs turns on the runtime's own threads, by the clock on the wall: it is what two cores are for.
fn turns<F>(runtime: Runtime, turn: impl Fn() -> F + Clone + Send + 'static) -> Contender<'static>
where
    F: Future<Output: Send> + Send + 'static,
{
    Box::new(move |times| {
        let turn = turn.clone();
        let all = runtime.spawn(async move {
            let began = Instant::now();
            for _ in 0..times {
                black_box(turn().await);
            }
            began.elapsed()
        });
        runtime.block_on(all).unwrap()
    })
}
