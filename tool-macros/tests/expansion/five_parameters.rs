/// Search the workspace for files that match a glob.
#[tool(read_only)]
pub async fn search_files(
    /// Glob pattern, for example `**/*.rs`.
    pattern: String,
    /// Whether case matters.
    #[arg(default = true)]
    case_sensitive: bool,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: u32,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<Vec<String>, SearchError> {
    workspace.search(&pattern, case_sensitive, max_results, cancel).await
}
