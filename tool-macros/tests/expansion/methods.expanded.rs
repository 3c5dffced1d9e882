/// A store.
impl Store {
    const LIMIT: usize = 5;
    /// No tool.
    pub fn new() -> Self {
        Self::default()
    }
    /// Remember a number.
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    pub async fn put(&self, key: String, number: i64) {
        self.lock().insert(key, number);
    }
    /// Say hello.
    #[cfg(debug_assertions)]
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    async fn hello() -> &'static str {
        "hello"
    }
}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::OneToolsBlockPerType for Store {
        fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::DeclaredTool> {
            __rt::Vec::from([
                {
                    let params = (
                        __rt::Param::<String>::new("key", "Under what."),
                        __rt::Param::<i64>::new("number", "The number.").range(0..),
                    );
                    let declaration = __rt::Declaration::new("put", "Remember a number.")
                        .idempotent(true);
                    __rt::DeclaredTool::method(
                            declaration,
                            &self,
                            params,
                            |this, (key, number)| async move {
                                __rt::Output(Self::put(&this, key, number).await)
                                    .with_sources()
                                    .respond()
                            },
                        )
                        .with_output_schema()
                },
                #[cfg(debug_assertions)]
                {
                    let params = ();
                    let declaration = __rt::Declaration::new("hello", "Say hello.");
                    __rt::DeclaredTool::function(
                            declaration,
                            params,
                            |()| async move {
                                __rt::Output(Self::hello().await).with_sources().respond()
                            },
                        )
                        .with_output_schema()
                },
            ])
        }
    }
};
