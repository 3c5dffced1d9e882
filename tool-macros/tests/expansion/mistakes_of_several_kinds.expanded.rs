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
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for send {
        fn declare() -> __rt::DeclaredTool {
            let _ = __rt::Param::<
                Address,
            >::new("to", "To whom, judged by the compiler.");
            let _ = __rt::Param::<String>::named("text").from_host();
            let _ = __rt::Param::<State<Outbox>>::named("outbox").from_host();
            loop {}
        }
    }
};
::core::compile_error! {
    "expected a duration: \"500ms\", \"30s\", \"2m\" or \"1h\""
}
::core::compile_error! {
    "unknown key `idempotnt` in `#[tool]`; did you mean `idempotent`?"
}
::core::compile_error! {
    "unknown key `rnge` in `#[arg]`; did you mean `range`?"
}
::core::compile_error! {
    "missing description of this tool; write a doc comment (`/// ..`) above the function"
}
::core::compile_error! {
    "invalid name `send mail`: ' ' is not allowed; set `name` to 1 to 64 characters of a-z, A-Z, 0-9, `_` and `-`"
}
::core::compile_error! {
    "a parameter of a tool cannot borrow; take a `String`"
}
