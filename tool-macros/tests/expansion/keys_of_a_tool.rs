/// This is for readers of the code.
#[tool(
    name = "RunQuery",
    title = "Run a query",
    description = "Run a query against the database.",
    rename_all = "camelCase",
    strict,
    read_only,
    destructive = false,
    idempotent,
    open_world = false,
    deferred = false,
    timeout = "1500ms",
    errors = explain,
    causes,
    input_examples = [{ "queryText": "select 1" }, { "queryText": "select 2", "maxRows": 10 }]
)]
pub(crate) async fn run_query(
    /// The query to run.
    query_text: String,
    /// Maximum number of rows to return.
    #[arg(default = DEFAULT_ROWS)]
    max_rows: u32,
) -> Result<Rows, QueryError> {
    query(query_text, max_rows).await
}
