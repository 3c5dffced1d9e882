/// Do nothing.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn rest() {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct rest {}
const _: () = {
    use my_agent::tools::runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for rest {
        fn declare() -> __rt::DeclaredTool {
            let params = ();
            let declaration = __rt::Declaration::new("rest", "Do nothing.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |()| async move {
                        __rt::Output(rest().await).with_sources().respond()
                    },
                )
                .with_output_schema()
        }
    }
};
