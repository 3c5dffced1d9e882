/// Tell the time.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn now() -> String {
    clock()
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct now {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for now {
        fn declare() -> __rt::DeclaredTool {
            let params = ();
            let declaration = __rt::Declaration::new("now", "Tell the time.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |()| async move {
                        __rt::Output(now().await).with_sources().respond()
                    },
                )
                .with_output_schema()
        }
    }
};
