/// Search the workspace for files that match a glob.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
pub async fn search_files(
    pattern: String,
    case_sensitive: bool,
    max_results: u32,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Result<Vec<String>, SearchError> {
    workspace.search(&pattern, case_sensitive, max_results, cancel).await
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
pub struct search_files {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for search_files {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<
                    String,
                >::new("pattern", "Glob pattern, for example `**/*.rs`."),
                __rt::Param::<bool>::new("case_sensitive", "Whether case matters.")
                    .default(|| __rt::IntoParam::into_param(true)),
                __rt::Param::<u32>::new("max_results", "The most results to return.")
                    .default(|| __rt::IntoParam::into_param(100))
                    .range(1..=10_000),
                __rt::Param::<State<Workspace>>::named("workspace").from_host(),
                __rt::Param::<CancellationToken>::named("cancel").from_host(),
            );
            let declaration = __rt::Declaration::new(
                    "search_files",
                    "Search the workspace for files that match a glob.",
                )
                .read_only(true);
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(pattern, case_sensitive, max_results, workspace, cancel)| async move {
                        __rt::Output(
                                search_files(
                                        pattern,
                                        case_sensitive,
                                        max_results,
                                        workspace,
                                        cancel,
                                    )
                                    .await,
                            )
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
