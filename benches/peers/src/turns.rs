//! The concurrent calls of a turn, on two cores and on one.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
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
    println!(
        "µs on the wall for all of them, and how many times as fast two cores are as one: to be had only where"
    );
    println!(
        "nobody else uses them. Everywhere: the processor time on two cores, × that on one. At 1, nothing but the"
    );
    println!("machine keeps two cores from being twice as fast.\n");
    println!("| calls of | through | one core | two cores | times as fast | goal | processor time |");
    println!("|---|---|---|---|---|---|---|");
    for (what, name, text) in [
        ("`search_files`, which does next to nothing", "search_files", JSON),
        (
            "`dig`, which computes for some 50 µs",
            "dig",
            r#"{"depth":40000}"#,
        ),
    ] {
        let [wall, processor] = [WALL, PROCESSOR].map(|clock| {
            let mut contenders = vec![
                map(runtime(), clock, name, text),
                map(two_cores(), clock, name, text),
                ours(runtime(), clock, name, text),
                ours(two_cores(), clock, name, text),
            ];
            if name == "dig" {
                contenders.extend([threads(1, clock), threads(2, clock)]);
            }
            side_by_side(&mut contenders, ROUNDS)
        });
        let names = [
            ("map", ""),
            ("tool-runtime", "≥ 1.8"),
            ("nothing: plain threads", ""),
        ];
        for ((through, goal), (wall, processor)) in
            names.into_iter().zip(wall.chunks(2).zip(processor.chunks(2)))
        {
            let times = wall[0].over(&wall[1]).spread();
            let more = processor[1].over(&processor[0]).spread();
            let [one, two] = [&wall[0], &wall[1]].map(|it| format!("{:.0}", it.median() / 1e3));
            println!("| {what} | {through} | {one} | {two} | {times} | {goal} | {more} |");
        }
    }
    println!();
}

/// Returns the time since a moment.
type Clock = fn() -> Duration;

const WALL: Clock = || {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed()
};

/// Returns the processor time of all threads.
const PROCESSOR: Clock = || ProcessTime::now().as_duration();

fn two_cores() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Measures the work of `dig` alone, divided among threads.
fn threads(count: usize, clock: Clock) -> Contender<'static> {
    let share = move || {
        (0..CALLS / count)
            .map(|_| deep(40_000))
            .fold(0, u64::wrapping_add)
    };
    Box::new(move |times| {
        let began = clock();
        for _ in 0..times {
            std::thread::scope(|scope| {
                let others: Vec<_> = (1..count).map(|_| scope.spawn(share)).collect();
                black_box(share());
                for other in others {
                    black_box(other.join().unwrap());
                }
            });
        }
        clock() - began
    })
}

/// Compute something.
#[tool]
async fn dig(
    /// Duration of the computation.
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

/// Measures the floor: a task for each call.
fn map(runtime: Runtime, clock: Clock, name: &'static str, text: &'static str) -> Contender<'static> {
    let mut handlers = floors::handlers(9);
    handlers.insert("dig".to_owned(), Box::new(Dig));
    let handlers: Arc<HashMap<_, _>> = Arc::new(handlers);
    turns(runtime, clock, move || {
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

fn ours(runtime: Runtime, clock: Clock, name: &'static str, text: &'static str) -> Contender<'static> {
    let mut registry: ToolRegistry = ours::registry(9).with_max_concurrency(CALLS);
    registry.register::<dig>().expect("a tool of another name");
    turns(runtime, clock, move || {
        let registry = registry.clone();
        async move {
            let calls = (0..CALLS).map(|_| ToolCall::new("toolu_01", name, text));
            registry.execute_all(calls).await
        }
    })
}

/// Warm-up time of turns before the measurement. After a pause, the system needs some ten milliseconds until it runs two threads that wake
/// each other on two cores.
const WARM: Duration = Duration::from_millis(100);

/// Runs turns on the runtime's own threads.
fn turns<F>(
    runtime: Runtime,
    clock: Clock,
    turn: impl Fn() -> F + Clone + Send + 'static,
) -> Contender<'static>
where
    F: Future<Output: Send> + Send + 'static,
{
    Box::new(move |times| {
        let turn = turn.clone();
        let all = runtime.spawn(async move {
            let rested = Instant::now();
            while rested.elapsed() < WARM {
                turn().await;
            }
            let began = clock();
            for _ in 0..times {
                black_box(turn().await);
            }
            clock() - began
        });
        runtime.block_on(all).unwrap()
    })
}
