//! Definitions of the ten tools by contestant, and their omissions.

use peers::ten::types::{DESCRIPTIONS, LIMITS, VALUES};
use peers::ten::{self, Definition};

pub fn run() {
    println!("## Definitions\n");
    println!("Bytes of `name`, `description` and `input_schema` of the same ten tools, as compact JSON;");
    println!(
        "how much of what was written for the model is in them; and their bytes if the rest was, too.\n"
    );
    println!("| crate | bytes | descriptions | values of enums | limits | bytes with the rest |");
    println!("|---|---|---|---|---|---|");
    let mut all = vec![
        ("tool-runtime", ten::ours::definitions(false)),
        ("tool-runtime, defaults shown", ten::ours::definitions(true)),
    ];
    all.extend(peers());
    for (name, definitions) in all {
        assert_eq!(definitions.len(), 10, "{name}");
        let text = serde_json::to_string(&definitions).expect("JSON");
        let [descriptions, values, limits] =
            [&DESCRIPTIONS[..], &VALUES, &LIMITS].map(|all| share(&text, all));
        let missing = |all: &'static [&str]| all.iter().filter(|it| !text.contains(**it));
        let described: usize = missing(&DESCRIPTIONS)
            .map(|it| r#","description":"""#.len() + it.len())
            .sum();
        let limited: usize = missing(&LIMITS).map(|it| ",".len() + it.len()).sum();
        let bytes = text.len();
        let with_the_rest = bytes + described + limited;
        println!("| {name} | {bytes} | {descriptions} | {values} | {limits} | {with_the_rest} |");
        if std::env::var_os("SHOW").is_some() {
            eprintln!("{name}: {text}");
        }
    }
    println!();
}

fn share(text: &str, all: &[&str]) -> String {
    let there = all.iter().filter(|it| text.contains(**it)).count();
    format!("{there} of {}", all.len())
}

#[cfg(feature = "others")]
fn peers() -> Vec<(&'static str, Vec<Definition>)> {
    vec![
        ("llm-tool 0.10.5", ten::llm_tool::definitions()),
        ("swiftide 0.32.1", ten::swiftide::definitions()),
        ("tools-rs 0.3.3", ten::tools_rs::definitions()),
        ("rmcp 3.9.0", ten::rmcp::definitions()),
        ("rig-agent 0.44.0", ten::rig::definitions()),
    ]
}

#[cfg(not(feature = "others"))]
fn peers() -> Vec<(&'static str, Vec<Definition>)> {
    Vec::new()
}
