/// Find files of the workspace.
#[tool(blocking, read_only)]
fn find_files(
    /// Glob pattern, for example `**/*.rs`.
    pattern: String,
    /// The most results to return.
    #[arg(default = 100, range = 1..=10_000)]
    max_results: u32,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Vec<String> {
    search(&workspace.0, &pattern, max_results, &cancel)
}
