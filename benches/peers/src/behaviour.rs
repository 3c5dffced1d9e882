//! Results of all contestants for the same calls: invalid calls, sloppy calls, and a call of a tool that panics.

use std::panic::catch_unwind;

use peers::ours;

/// A question with its tool and arguments.
const CALLS: [(&str, &str, &str); 9] = [
    (
        "a number as a string",
        "search_files",
        r#"{"pattern":"a","max_results":"25"}"#,
    ),
    (
        "another spelling of a name",
        "search_files",
        r#"{"pattern":"a","maxResults":25}"#,
    ),
    (
        "an argument nobody knows",
        "search_files",
        r#"{"pattern":"a","bogus":1}"#,
    ),
    (
        "a number out of its range",
        "search_files",
        r#"{"pattern":"a","max_results":0}"#,
    ),
    (
        "three mistakes",
        "search_files",
        r#"{"case_sensitive":"perhaps","max_results":"many"}"#,
    ),
    (
        "Python instead of JSON",
        "search_files",
        "{'pattern': 'a', 'case_sensitive': True}",
    ),
    ("JSON that is cut off", "search_files", r#"{"pattern":"a"#),
    ("a tool that nobody knows", "find", "{}"),
    ("a panic", "explode", "{}"),
];

type Peer = (
    &'static str,
    fn(&'static str, &str) -> String,
    Option<fn() -> String>,
);

pub fn run() {
    println!("## What is answered\n");
    // These panics are intended.
    std::panic::set_hook(Box::new(|_| {}));
    let mut peers: Vec<Peer> = vec![(
        "tool-runtime",
        |name, text| ours::ask(name, text),
        Some(ours::register_twice),
    )];
    peers.extend(others());
    for (question, name, text) in CALLS {
        println!("{question}: `{name}` `{text}`\n");
        for (peer, ask, _) in &peers {
            let answer = catch_unwind(|| ask(name, text));
            let answer = answer.unwrap_or_else(|_| "(the panic reaches the caller)".to_owned());
            println!("- {peer}: {answer}");
        }
        println!();
    }
    println!("two tools of one name\n");
    for (peer, _, register_twice) in &peers {
        let answer = register_twice.map_or_else(|| "no registry; its agent decides".to_owned(), |it| it());
        println!("- {peer}: {answer}");
    }
    println!();
    drop(std::panic::take_hook());
}

#[cfg(feature = "others")]
fn others() -> Vec<Peer> {
    use peers::others::{llm_tool, rig, rmcp, swiftide, tools_rs};
    vec![
        (
            "llm-tool 0.10.5",
            |name, text| llm_tool::ask(name, text),
            Some(llm_tool::register_twice),
        ),
        ("swiftide 0.32.1", |name, text| swiftide::ask(name, text), None),
        (
            "tools-rs 0.3.3",
            |name, text| tools_rs::ask(name, text),
            Some(tools_rs::register_twice),
        ),
        ("rmcp 3.9.0", rmcp::ask, Some(rmcp::register_twice)),
        (
            "rig-agent 0.44.0",
            |name, text| rig::ask(name, text),
            Some(rig::register_twice),
        ),
    ]
}

#[cfg(not(feature = "others"))]
fn others() -> Vec<Peer> {
    Vec::new()
}
