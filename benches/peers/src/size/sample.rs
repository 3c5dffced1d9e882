//! Tools with many fields in release builds: the cost of a tool over serde and a schema alone.

use super::scratch::{Command, Project};

pub fn run() {
    println!("## Code of a tool with two structures\n");
    println!(
        "Release, one job, seconds of processor time and KB of machine code; programs of 8 such tools and of 16, so"
    );
    println!(
        "that what each tool adds is told from what the runtime is once. Without us: the same types with the same"
    );
    println!(
        "derives, their schemas made and printed, each function called through a map with `from_str`.\n"
    );
    println!(
        "| | 8 without us | 8 with | 16 without us | 16 with | more, each tool | more, once | goal, each tool |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let [plain, ours] = [PLAIN, OURS].map(|kind| {
        let project = Project::new(kind.name, kind.dependencies);
        [8, 16].map(|tools| measure(&project, &kind, tools))
    });
    let row = |what: &str, goal: &str, [plain, ours]: [[f64; 2]; 2]| {
        let each = ((ours[1] - ours[0]) - (plain[1] - plain[0])) / 8.0;
        let once = ours[0] - plain[0] - 8.0 * each;
        println!(
            "| {what} | {:.1} | {:.1} | {:.1} | {:.1} | {each:.2} | {once:.1} | < {goal} |",
            plain[0], ours[0], plain[1], ours[1]
        );
    };
    row(
        "compile time, s",
        "1.5",
        [plain, ours].map(|it| it.map(|it| it.0)),
    );
    row("code, KB", "49", [plain, ours].map(|it| it.map(|it| it.1)));
    println!();
}

/// Seconds of processor time and KB of code, with compiled dependencies.
fn measure(project: &Project, kind: &Kind, tools: usize) -> (f64, f64) {
    project.write("fn main() {}");
    project.time(Command::Release);
    let mut seconds: Vec<f64> = (0..3)
        .map(|number| {
            project.write(&format!("{}// {number}\n", kind.program(tools)));
            project.time(Command::Release)
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    (seconds[1], project.code() as f64 / 1e3)
}

struct Kind {
    name: &'static str,
    dependencies: &'static str,
    before: &'static str,
    tool: &'static str,
    main: [&'static str; 3],
}

impl Kind {
    fn program(&self, tools: usize) -> String {
        let each = |text: &str| -> String {
            (0..tools)
                .map(|tool| text.replace('№', &tool.to_string()))
                .collect()
        };
        let [begin, register, end] = self.main;
        let (types, tool, register) = (each(TYPES), each(self.tool), each(register));
        let before = self.before;
        format!("{before}\n{types}\n{tool}\n{begin}\n{register}\n{end}\n")
    }
}

/// Returns the two structs of a tool, with typical fields.
const TYPES: &str = r#"
/// One item of kind №.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Item№ {
    /// What it is called.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// How much it weighs.
    pub weight: f64,
    /// How urgent it is.
    pub level: Level№,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What else is known.
    pub note: Option<String>,
}

/// An urgency.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level№ {
    Low,
    Middle,
    High,
}

/// A list of kind №.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct List№ {
    /// What it is for.
    pub purpose: String,
    /// What is in it.
    pub items: Vec<Item№>,
    /// The one that counts most.
    pub first: Option<Item№>,
    /// Figures by name.
    pub figures: HashMap<String, i64>,
    /// Whether it is done.
    pub is_done: bool,
    /// From when on.
    pub since: Option<u64>,
    /// The least and the most.
    pub range: (i32, i32),
    /// The share of all.
    pub share: f32,
}
"#;

const PLAIN: Kind = Kind {
    name: "sample-plain",
    dependencies: "schemars = { version = \"1\", features = [\"preserve_order\"] }\nserde = { version = \"1\", features = [\"derive\"] }\n\
                   serde_json = \"1\"\ntokio = { version = \"1\", features = [\"rt\"] }\n",
    before: "use std::{collections::HashMap, future::Future, pin::Pin};\nuse schemars::JsonSchema;\nuse serde::Deserialize;\n\
             type Answer<'a> = Pin<Box<dyn Future<Output = Result<String, serde_json::Error>> + Send + 'a>>;\n\
             trait Handler: Send + Sync {\n    fn call<'a>(&'a self, text: &'a str) -> Answer<'a>;\n}",
    tool: r#"
pub async fn take_№(list: List№, limit: u32) -> String {
    format!("{} {}", list.items.len(), limit)
}

#[derive(Deserialize, JsonSchema)]
struct Args№ {
    /// The list.
    list: List№,
    /// The most to take.
    limit: u32,
}

struct Take№;

impl Handler for Take№ {
    fn call<'a>(&'a self, text: &'a str) -> Answer<'a> {
        Box::pin(async move {
            let args: Args№ = serde_json::from_str(text)?;
            Ok(take_№(args.list, args.limit).await)
        })
    }
}
"#,
    main: [
        "fn main() {\nlet mut handlers: HashMap<&str, Box<dyn Handler>> = HashMap::new();",
        "handlers.insert(\"take_№\", Box::new(Take№));\n\
         println!(\"{}\", serde_json::to_string(&schemars::schema_for!(Args№)).unwrap());\n",
        "let input = std::env::args().nth(1).unwrap_or_default();\n\
         let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();\n\
         println!(\"{:?}\", runtime.block_on(handlers[&*input].call(&input)));\n}",
    ],
};

const OURS: Kind = Kind {
    name: "sample-ours",
    dependencies: "tool-runtime = { path = \"REPOSITORY/tool-runtime\" }\n\
                   schemars = { version = \"1\", features = [\"preserve_order\"] }\nserde = { version = \"1\", features = [\"derive\"] }\n\
                   serde_json = \"1\"\ntokio = { version = \"1\", features = [\"rt\"] }\n",
    before: "use std::collections::HashMap;\nuse schemars::JsonSchema;\nuse serde::Deserialize;\n\
             use tool_runtime::{ToolRegistry, tool, tool_set};",
    tool: r#"
/// Take a list of kind №.
#[tool]
pub async fn take_№(
    /// The list.
    list: List№,
    /// The most to take.
    limit: u32,
) -> String {
    format!("{} {}", list.items.len(), limit)
}
"#,
    main: [
        "fn main() {\nlet mut registry = ToolRegistry::new();\nregistry.register_all(tool_set![",
        "take_№, ",
        "]).unwrap();\nprintln!(\"{}\", serde_json::to_string(&registry.tool_definitions()).unwrap());\n\
         let input = std::env::args().nth(1).unwrap_or_default();\n\
         let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();\n\
         println!(\"{:?}\", runtime.block_on(registry.execute_tool(\"toolu_01\", input.clone(), input)));\n}",
    ],
};
