/// Send a message.
///
/// - At most one a minute.
///   Others are refused.
#[doc = include_str!("limits.md")]
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn send(text: String, to: String) {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct send {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for send {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<
                    String,
                >::new("text", concat!("Up to ", 200, " characters.")),
                __rt::Param::<String>::new("to", "Who\ngets it."),
            );
            let declaration = __rt::Declaration::new(
                "send",
                ::core::concat!(
                    "Send a message.\n\n- At most one a minute.\n  Others are refused.",
                    "\n", include_str!("limits.md")
                ),
            );
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(text, to)| async move {
                        __rt::Output(send(text, to).await).with_sources().respond()
                    },
                )
                .with_output_schema()
        }
    }
};
