/// Find files of the workspace.
fn find_files(
    pattern: String,
    max_results: u32,
    workspace: State<Workspace>,
    cancel: CancellationToken,
) -> Vec<String> {
    search(&workspace.0, &pattern, max_results, &cancel)
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct find_files {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for find_files {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<
                    String,
                >::new("pattern", "Glob pattern, for example `**/*.rs`."),
                __rt::Param::<u32>::new("max_results", "The most results to return.")
                    .default(|| __rt::IntoParam::into_param(100))
                    .range(1..=10_000),
                __rt::Param::<State<Workspace>>::named("workspace").from_host(),
                __rt::Param::<CancellationToken>::named("cancel").from_host(),
            );
            let declaration = __rt::Declaration::new(
                    "find_files",
                    "Find files of the workspace.",
                )
                .read_only(true);
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(pattern, max_results, workspace, cancel)| __rt::blocking(move || {
                        __rt::Output(find_files(pattern, max_results, workspace, cancel))
                            .with_sources()
                            .respond()
                    }),
                )
                .with_output_schema()
        }
    }
};
