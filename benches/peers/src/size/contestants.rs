//! Programs with many tools, one for each crate, written as in its documentation.

/// Code of a crate's user.
pub struct Contestant {
    pub name: &'static str,
    /// Dependencies in the manifest, with those that the macro's output needs.
    pub dependencies: &'static str,
    /// Code before the tools.
    before: &'static str,
    /// Code of a tool; `№` is its number.
    tool: &'static str,
    /// Code after the tools.
    after: &'static str,
    /// Beginning of `main`, its code for each tool, and its end, which prints the number of tools.
    main: [&'static str; 3],
}

impl Contestant {
    /// Builds a program with this many tools.
    pub fn program(&self, tools: usize) -> String {
        let each = |text: &str| -> String {
            (0..tools)
                .map(|tool| text.replace('№', &tool.to_string()))
                .collect()
        };
        let [begin, register, end] = self.main;
        let (before, after) = (self.before, self.after);
        let (tool, register) = (each(self.tool), each(register));
        format!("{BODY}\n{before}\n{tool}\n{after}\nfn main() {{\n{begin}\n{register}\n{end}\n}}\n")
    }
}

const BODY: &str = r#"#[allow(dead_code)]
fn answer(pattern: &str, case_sensitive: bool, max_results: i64) -> String {
    format!("{pattern} {case_sensitive} {max_results}")
}
"#;

pub fn all() -> [Contestant; 6] {
    [OURS, TOOLS_RS, LLM_TOOL, RMCP, SWIFTIDE, RIG]
}

const OURS: Contestant = Contestant {
    name: "tool-runtime",
    dependencies: "tool-runtime = { path = \"REPOSITORY/tool-runtime\" }\n",
    before: "use tool_runtime::{ToolRegistry, tool, tool_set};",
    tool: r#"
/// Search files of kind №.
#[tool]
pub async fn search_№(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: i64,
) -> String {
    answer(&pattern, case_sensitive, max_results)
}
"#,
    after: "",
    main: [
        "let mut registry = ToolRegistry::new();\nregistry.register_all(tool_set![",
        "search_№, ",
        "]).unwrap();\nprintln!(\"{}\", registry.tool_definitions().len());",
    ],
};

const TOOLS_RS: Contestant = Contestant {
    name: "tools-rs",
    dependencies: "tools-rs = \"=0.3.3\"\ntools_core = \"=0.3.3\"\ntools_macros = \"=0.3.0\"\ninventory = \"0.3\"\n\
                   serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n",
    before: "use tools_rs::collect_tools;\n#[allow(unused_imports)]\nuse tools_rs::tool;",
    tool: r#"
/// Search files of kind №.
#[tool]
pub async fn search_№(pattern: String, case_sensitive: Option<bool>, max_results: Option<i64>) -> String {
    answer(&pattern, case_sensitive.unwrap_or(true), max_results.unwrap_or(100))
}
"#,
    after: "",
    main: [
        "let tools = collect_tools();",
        "",
        "println!(\"{}\", tools.iter().count());",
    ],
};

const LLM_TOOL: Contestant = Contestant {
    name: "llm-tool",
    dependencies: "llm-tool = \"=0.10.5\"\nschemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n",
    before: "use llm_tool::ToolRegistry;\n#[allow(unused_imports)]\nuse llm_tool::llm_tool;",
    tool: r#"
/// Search files of kind №.
#[llm_tool]
pub async fn search_№(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results to return.
    max_results: Option<i64>,
) -> String {
    answer(&pattern, case_sensitive.unwrap_or(true), max_results.unwrap_or(100))
}
"#,
    after: "",
    main: [
        "let registry = ToolRegistry::new();",
        "let registry = registry.with_tool(Search№);\n",
        "println!(\"{}\", registry.definitions().len());",
    ],
};

const RMCP: Contestant = Contestant {
    name: "rmcp",
    dependencies: "rmcp = \"=3.9.0\"\nschemars = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n",
    before: "use rmcp::{ServerHandler, tool_router};\n#[allow(unused_imports)]\nuse {args::*, rmcp::{handler::server::wrapper::Parameters, tool}};\n\
             #[allow(dead_code)]\nfn yes() -> bool { true }\n#[allow(dead_code)]\nfn hundred() -> i64 { 100 }\n\
             #[derive(Clone)]\nstruct Files;\nimpl ServerHandler for Files {}\n#[tool_router(allow_empty)]\nimpl Files {",
    tool: r#"
    /// Search files of kind №.
    #[tool]
    async fn search_№(&self, Parameters(args): Parameters<Args№>) -> String {
        answer(&args.pattern, args.case_sensitive, args.max_results)
    }
"#,
    after: "}",
    main: [
        "println!(\"{}\", Files::tool_router().list_all().len());\n}\nmod args {",
        r#"
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Args№ {
    /// Glob pattern.
    pub pattern: String,
    /// Whether case matters.
    #[serde(default = "super::yes")]
    pub case_sensitive: bool,
    /// The most results to return.
    #[serde(default = "super::hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_results: i64,
}
"#,
        "",
    ],
};

const SWIFTIDE: Contestant = Contestant {
    name: "swiftide",
    dependencies: "swiftide = \"=0.32.1\"\nserde = { version = \"1\", features = [\"derive\"] }\n",
    before: "use swiftide::chat_completion::Tool;\n#[allow(unused_imports)]\n\
             use swiftide::{chat_completion::{ToolOutput, errors::ToolError}, traits::AgentContext};",
    tool: r#"
#[swiftide::tool(
    description = "Search files of kind №.",
    param(name = "pattern", description = "Glob pattern."),
    param(name = "case_sensitive", description = "Whether case matters."),
    param(name = "max_results", description = "The most results to return.")
)]
pub async fn search_№(
    _context: &dyn AgentContext,
    pattern: String,
    case_sensitive: Option<bool>,
    max_results: Option<i64>,
) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::Text(answer(&pattern, case_sensitive.unwrap_or(true), max_results.unwrap_or(100))))
}
"#,
    after: "",
    main: [
        "let tools: Vec<Box<dyn Tool>> = vec![",
        "search_№(), ",
        "];\nprintln!(\"{}\", tools.iter().map(|tool| tool.tool_spec()).count());",
    ],
};

const RIG: Contestant = Contestant {
    name: "rig-agent",
    dependencies: "rig-agent = \"=0.44.0\"\nrig-core = { version = \"=0.44.0\", features = [\"derive\"] }\n",
    before: "use rig_agent::tool::registry::ToolSet;",
    tool: r#"
/// Search files of kind №.
#[rig_core::rig_tool]
pub async fn search_№(
    /// Glob pattern.
    pattern: String,
    /// Whether case matters.
    case_sensitive: Option<bool>,
    /// The most results to return.
    max_results: Option<i64>,
) -> Result<String, std::convert::Infallible> {
    Ok(answer(&pattern, case_sensitive.unwrap_or(true), max_results.unwrap_or(100)))
}
"#,
    after: "",
    main: [
        "#[allow(unused_mut)]\nlet mut tools = ToolSet::default();",
        "tools.add_tool(Search№);\n",
        "println!(\"{}\", tools.tool_definitions().len());",
    ],
};
