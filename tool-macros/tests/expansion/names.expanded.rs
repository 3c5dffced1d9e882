/// Every name here is in use elsewhere in the output.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn __rt(r#type: String, params: u8, mut this: u8, __rt: u8) {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct __rt {}
const _: () = {
    use ::tool_runtime::__private as __rt_;
    use __rt_::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt_::Tool for __rt {
        fn declare() -> __rt_::DeclaredTool {
            let params = (
                __rt_::Param::<String>::new("type", "A type."),
                __rt_::Param::<u8>::new("params", "Parameters."),
                __rt_::Param::<u8>::new("this", "This."),
                __rt_::Param::<u8>::new("rt", "The tool itself."),
            );
            let declaration = __rt_::Declaration::new(
                "__rt",
                "Every name here is in use elsewhere in the output.",
            );
            __rt_::DeclaredTool::function(
                    declaration,
                    params,
                    |(r#type, params, this, __rt)| async move {
                        __rt_::Output(__rt(r#type, params, this, __rt).await)
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
