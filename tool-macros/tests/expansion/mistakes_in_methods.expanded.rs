impl Store {
    /// Forget.
    fn forget(&self) {}
}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::OneToolsBlockPerType for Store {
        fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::DeclaredTool> {
            let _ = ();
            __rt::Vec::new()
        }
    }
};
::core::compile_error! {
    "a tool must be an `async fn`; write `async` before `fn`, or `#[tool(blocking)]` if the body blocks its thread"
}
