//! Output of a story: the speaker, then the text.

use std::panic;

use tool_runtime::serde::Serialize;
use tool_runtime::serde_json;

/// Begins a chapter.
pub fn chapter(title: &str) {
    println!(
        "\n─── {title} {}\n",
        "─".repeat(90_usize.saturating_sub(title.chars().count()))
    );
}

/// Prints the text of a speaker; further lines are below the first.
pub fn say(who: &str, label: impl ToString) {
    let mut who = who;
    for line in label.to_string().lines() {
        println!("{who:>14}  {line}");
        who = "";
    }
}

/// Prints a value as JSON in one line, as it is sent.
pub fn show(label: &str, value: &impl Serialize) {
    say(
        label,
        serde_json::to_string(value).expect("what the stories show is JSON"),
    );
}

/// Prints a value as JSON on several lines.
pub fn show_all(label: &str, value: &impl Serialize) {
    say(
        label,
        serde_json::to_string_pretty(value).expect("what the stories show is JSON"),
    );
}

/// Replaces the message and the backtrace of a panic by one line of the story.
pub fn log_panics_in_one_line() {
    panic::set_hook(Box::new(|panic| say("(host's log)", panic)));
}
