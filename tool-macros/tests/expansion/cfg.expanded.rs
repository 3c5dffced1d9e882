/// Only here.
#[cfg(feature = "shell")]
#[doc(alias = "exec")]
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn shell() {}
/// The tool made from the function of the same name.
#[cfg(feature = "shell")]
#[allow(non_camel_case_types, missing_debug_implementations)]
struct shell {}
#[cfg(feature = "shell")]
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for shell {
        fn declare() -> __rt::DeclaredTool {
            let params = ();
            let declaration = __rt::Declaration::new("shell", "Only here.");
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |()| async move {
                        __rt::Output(shell().await).with_sources().respond()
                    },
                )
                .with_output_schema()
        }
    }
};
