/// Delete a file.
#[allow(clippy::unused_async, reason = "a tool is `async`")]
pub async fn delete(path: &str) -> std::io::Result<()> {
    std::fs::remove_file(path)
}
/// The tool made from the function of the same name.
#[allow(non_camel_case_types, missing_debug_implementations)]
pub struct delete {}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::Tool for delete {
        fn declare() -> __rt::DeclaredTool {
            let _ = |returned: std::io::Result<()>| {
                __rt::Output(returned).with_sources().respond()
            };
            loop {}
        }
    }
};
::core::compile_error! {
    "unknown key `nme` in `#[tool]`; did you mean `name`?"
}
::core::compile_error! {
    "a parameter of a tool cannot borrow; take a `String`"
}
