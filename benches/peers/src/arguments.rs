//! Larger arguments, compared with serde alone for the same types, and arguments with coercions.

use std::hint::black_box;

use peers::clock::{Contender, Timed, short, side_by_side};
use peers::row::{again, each_with};
use peers::shapes::{self, Configuration, Edits, Todos};
use peers::{ours, task};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tool_builtins::todo::todo_write;
use tool_runtime::{SessionState, ToolRegistry};

const ROUNDS: usize = 205;

pub fn run() {
    correct();
    coerced();
}

fn registry() -> ToolRegistry {
    let mut registry = ours::registry(9);
    registry
        .register::<todo_write>()
        .and_then(|it| it.register::<shapes::plan>())
        .and_then(|it| it.register::<shapes::configure>())
        .and_then(|it| it.register::<shapes::edit>())
        .expect("tools of different names");
    registry
}

/// A kind of arguments, with the tool that receives them, and with functions that read and handle them without the runtime.
struct Work {
    what: &'static str,
    tool: &'static str,
    text: String,
    bare: fn(&str) -> [Contender<'static>; 2],
    goal: f64,
}

fn correct() {
    let work = |what, tool, text, bare, goal| Work {
        what,
        tool,
        text,
        bare,
        goal,
    };
    let all = [
        work(
            "`TodoWrite`, 20 todos",
            "TodoWrite",
            shapes::todos(20),
            bare_todos as _,
            1.25,
        ),
        work(
            "`TodoWrite`, 1,000 todos",
            "TodoWrite",
            shapes::todos(1000),
            bare_todos,
            1.25,
        ),
        work(
            "6 levels × 10 fields",
            "configure",
            shapes::configuration(),
            bare_configuration,
            1.4,
        ),
        work("100 tagged edits", "edit", shapes::edits(), bare_edits, 1.5),
    ];
    println!("## Larger arguments\n");
    println!("µs a call: the median of {ROUNDS} rounds, and its quartiles.\n");
    println!("| arguments | from | serde, direct call | tool-runtime | ratio | goal |");
    println!("|---|---|---|---|---|---|");
    let mut contenders = Vec::new();
    for Work { tool, text, bare, .. } in &all {
        contenders.extend(bare(text));
        contenders.extend(ours(tool, text));
    }
    let timed = side_by_side(&mut contenders, ROUNDS);
    for (Work { what, goal, .. }, timed) in all.iter().zip(timed.chunks(4)) {
        for (place, from) in ["`&str`", "`Value`"].into_iter().enumerate() {
            let [bare, ours] = [&timed[place], &timed[place + 2]];
            let ratio = ours.over(bare).spread();
            println!(
                "| {what} | {from} | {} | {} | {ratio} | ≤ {goal} |",
                microseconds(bare),
                microseconds(ours)
            );
        }
    }
    println!();
}

fn bare_todos(text: &str) -> [Contender<'static>; 2] {
    let list = SessionState::default();
    bare::<Todos, _>(text, move |args| todo_write(args.todos, list.clone()))
}

fn bare_configuration(text: &str) -> [Contender<'static>; 2] {
    bare::<Configuration, _>(text, |args| shapes::configure(args.configuration))
}

fn bare_edits(text: &str) -> [Contender<'static>; 2] {
    bare::<Edits, _>(text, |args| shapes::edit(args.edits))
}

/// Reads the arguments with serde and calls the function, from text and from a value.
fn bare<A: DeserializeOwned + 'static, F: Future + 'static>(
    text: &str,
    call: impl Fn(A) -> F + Clone + 'static,
) -> [Contender<'static>; 2] {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let batch = batch(text);
    let text = text.to_owned();
    let from_text = call.clone();
    [
        again(async move || from_text(serde_json::from_str(black_box(&text)).unwrap()).await),
        each_with(
            batch,
            move || value.clone(),
            async move |value| call(serde_json::from_value(value).unwrap()).await,
        ),
    ]
}

/// Calls the tool by its name, from text and from a value.
fn ours(tool: &'static str, text: &str) -> [Contender<'static>; 2] {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let batch = batch(text);
    let text = text.to_owned();
    let [by_text, by_value] = [registry(), registry()];
    [
        again(async move || {
            let result = by_text.execute_tool("toolu_01", tool, black_box(&text)).await;
            assert!(!result.is_error, "{result:?}");
            result
        }),
        each_with(
            batch,
            move || value.clone(),
            async move |value: Value| {
                let result = by_value.execute_tool("toolu_01", tool, value).await;
                assert!(!result.is_error, "{result:?}");
                result
            },
        ),
    ]
}

/// Returns the number of values that fit into the first-level cache.
fn batch(text: &str) -> u64 {
    (16_384 / text.len() as u64).clamp(1, peers::row::BATCH)
}

fn coerced() {
    const ONE: &str = r#"{"pattern":5,"case_sensitive":"false","max_results":"25"}"#;
    let correct = shapes::todos(1000);
    let three = shapes::todos_with(1000, |number, todo| match number {
        10 => todo.replace(r#""Read file number 10""#, "10"),
        500 => todo.replace("activeForm", "active_form"),
        990 => todo.replace("pending", "PENDING"),
        _ => todo,
    });
    let every = shapes::todos_with(1000, |_, todo| todo.replace("activeForm", "active_form"));
    let all = [
        (
            "3 fields, all of them coerced",
            "search_files",
            task::JSON,
            ONE,
            3,
            "≤ 2 µs",
        ),
        ("1,000 todos, 3 coercions", "plan", &correct, &three, 3, "≤ 2.5 ×"),
        ("1,000 todos, 1,000 coercions", "plan", &correct, &every, 1000, ""),
    ];
    println!("| arguments that need coercion | from | correct, µs | coerced, µs | ratio | goal |");
    println!("|---|---|---|---|---|---|");
    let mut contenders = Vec::new();
    for (_, tool, correct, coerced, warnings, _) in all {
        assert_eq!(warnings_of(tool, coerced), warnings);
        contenders.extend(ours(tool, correct));
        contenders.extend(ours(tool, coerced));
    }
    let timed = side_by_side(&mut contenders, ROUNDS);
    for ((what, .., goal), timed) in all.iter().zip(timed.chunks(4)) {
        for (place, from) in ["`&str`", "`Value`"].into_iter().enumerate() {
            let [correct, coerced] = [&timed[place], &timed[place + 2]];
            let ratio = coerced.over(correct).spread();
            println!(
                "| {what} | {from} | {} | {} | {ratio} | {goal} |",
                microseconds(correct),
                microseconds(coerced)
            );
        }
    }
    println!();
}

/// Returns the number of warnings of a call, which checks its benchmark.
fn warnings_of(tool: &str, text: &str) -> usize {
    let call = tool_runtime::ToolCall::new("toolu_01", tool, text);
    registry().prepare(call).warnings.len()
}

fn microseconds(timed: &Timed) -> String {
    short(timed.median() / 1e3)
}
