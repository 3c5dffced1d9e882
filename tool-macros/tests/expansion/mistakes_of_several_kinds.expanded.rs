#[allow(clippy::unused_async, reason = "a tool is `async`")]
async fn send<'a>(
    to: Address,
    text: String,
    subject: &'a str,
    copies: u8,
    outbox: State<Outbox>,
) {}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
struct send {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::Respond as _;
    #[automatically_derived]
    impl __rt::Tool for send {
        fn declare() -> __rt::DeclaredTool {
            let _ = __rt::Param::<Address>::of("to", "To whom, judged by the compiler.");
            let _ = __rt::Param::<String>::named("text").from_host();
            let _ = __rt::Param::<State<Outbox>>::named("outbox").from_host();
            loop {}
        }
    }
};
::core::compile_error! {
    "expected a time, as in \"500ms\", \"30s\", \"2m\" or \"1h\""
}
::core::compile_error! {
    "`#[tool]` has no `idempotnt`; did you mean `idempotent`?"
}
::core::compile_error! {
    "`#[arg]` has no `rnge`; did you mean `range`?"
}
::core::compile_error! {
    "a tool needs a description, the model chooses by it; write a doc comment (`/// ..`) above the function"
}
::core::compile_error! {
    "`send mail` is no name for a model: ' ' is not allowed; give it a `name` of 1 to 64 of a-z, A-Z, 0-9, `_` and `-`"
}
::core::compile_error! {
    "a parameter of a tool cannot borrow, nobody keeps the value; take a `String`"
}
