/// This is for readers of the code.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
pub(crate) async fn run_query(
    query_text: String,
    max_rows: u32,
) -> Result<Rows, QueryError> {
    query(query_text, max_rows).await
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
pub(crate) struct run_query {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for run_query {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<String>::new("queryText", "The query to run."),
                __rt::Param::<u32>::new("maxRows", "Maximum number of rows to return.")
                    .default(|| __rt::IntoParam::into_param(DEFAULT_ROWS)),
            );
            let declaration = __rt::Declaration::new(
                    "RunQuery",
                    "Run a query against the database.",
                )
                .title("Run a query")
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false)
                .deferred(false)
                .strict()
                .timeout(__rt::Duration::from_millis(1500))
                .errors(explain)
                .examples([
                    __rt::json!({ "queryText" : "select 1" }),
                    __rt::json!({ "queryText" : "select 2", "maxRows" : 10 }),
                ]);
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(query_text, max_rows)| async move {
                        __rt::Output(run_query(query_text, max_rows).await)
                            .with_sources()
                            .causes()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
