impl Counter {
    /// Count the processes.
    #[cfg_attr(unix, doc = "Those of all users.")]
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    async fn count(&self) -> u32 {
        0
    }
    /// Reset the counter.
    #[cfg_attr(feature = "admin", inline)]
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    async fn reset(&self, start: u32) {}
}
const _: () = {
    use ::tool_runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::OneToolsBlockPerType for Counter {
        fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::DeclaredTool> {
            __rt::Vec::from([
                {
                    let params = ();
                    let declaration = __rt::Declaration::with_lines(
                        "count",
                        ["Count the processes.", #[cfg(unix)] "Those of all users."],
                    );
                    __rt::DeclaredTool::method(
                            declaration,
                            &self,
                            params,
                            |this, ()| async move {
                                __rt::Output(Self::count(&this).await)
                                    .with_sources()
                                    .respond()
                            },
                        )
                        .with_output_schema()
                },
                #[cfg(feature = "admin")]
                {
                    let params = (
                        __rt::Param::<u32>::new("start", "The first number."),
                    );
                    let declaration = __rt::Declaration::new(
                            "reset",
                            "Reset the counter.",
                        )
                        .destructive(true);
                    __rt::DeclaredTool::method(
                            declaration,
                            &self,
                            params,
                            |this, (start,)| async move {
                                __rt::Output(Self::reset(&this, start).await)
                                    .with_sources()
                                    .respond()
                            },
                        )
                        .with_output_schema()
                },
            ])
        }
    }
};
