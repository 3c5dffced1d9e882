/// Say who is asking.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn whoami(
    users: State<Users>,
    context: Context,
    cancel: CancellationToken,
) -> Blocks {
    users.introduce(call, cancel).await
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct whoami {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for whoami {
        fn declare() -> __rt::DeclaredTool {
            let params = (
                __rt::Param::<State<Users>>::named("users").from_host(),
                __rt::Param::<Context>::named("context").from_host(),
                __rt::Param::<CancellationToken>::named("cancel").from_host(),
            );
            let declaration = __rt::Declaration::new("whoami", "Say who is asking.")
                .read_only(true);
            __rt::DeclaredTool::function(
                    declaration,
                    params,
                    |(users, context, cancel)| async move {
                        __rt::Output(whoami(users, context, cancel).await)
                            .with_sources()
                            .respond()
                    },
                )
                .with_output_schema()
        }
    }
};
