use tool_runtime::tool;

#[tool(nam = "act", timeout = "soon")]
async fn act(
    /// What to use.
    #[arg(rang = 1..=3, not_blank = 7)]
    count: &str,
    /// What else.
    #[arg(default = 9, range = 1..=3)]
    more: u32,
) {
    let _ = (count, more);
}

fn main() {}
