#[cfg(feature = "mail")]
impl crate::mail::Mailbox<Imap> {
    /// Read a message.
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    pub async fn read(
        &self,
        message_id: u64,
        limit: usize,
        session: State<Session>,
        context: Context,
    ) -> Result<Blocks, MailError> {
        self.fetch(message_id, limit, session, call).await
    }
    /// Everything that the output names is a parameter here.
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    async fn wipe(&self, this: u8, this_: u8, params: u8, declaration: u8) {}
    fn explain(errors: &[Issue]) -> String {
        format!("{} mistakes", errors.len())
    }
}
#[cfg(feature = "mail")]
const _: () = {
    use crate::runtime::__private as __rt;
    use __rt::{Respond as _, WithOutputSchema as _};
    #[automatically_derived]
    impl __rt::OneToolsBlockPerType for crate::mail::Mailbox<Imap> {
        fn tools(self: __rt::Arc<Self>) -> __rt::Vec<__rt::DeclaredTool> {
            __rt::Vec::from([
                {
                    let params = (
                        __rt::Param::<u64>::new("messageId", "Which.").range(1..),
                        __rt::Param::<usize>::new("limit", "Size of it, in bytes.")
                            .default(|| __rt::IntoParam::into_param(Self::LIMIT)),
                        __rt::Param::<State<Session>>::named("session").from_host(),
                        __rt::Param::<Context>::named("context").from_host(),
                    );
                    let declaration = __rt::Declaration::new(
                            "mail-read",
                            "Read a message.",
                        )
                        .title("Read mail")
                        .read_only(true)
                        .timeout(__rt::Duration::from_secs(10))
                        .errors(Self::explain)
                        .examples([__rt::json!({ "messageId" : 7 })]);
                    __rt::DeclaredTool::method(
                            declaration,
                            &self,
                            params,
                            |this, (message_id, limit, session, context)| async move {
                                __rt::Output(
                                        Self::read(&this, message_id, limit, session, context).await,
                                    )
                                    .with_sources()
                                    .respond()
                            },
                        )
                        .with_output_schema()
                },
                {
                    let params = (
                        __rt::Param::<u8>::new("this", "One."),
                        __rt::Param::<u8>::new("this_", "Two."),
                        __rt::Param::<u8>::new("params", "Three."),
                        __rt::Param::<u8>::new("declaration", "Four."),
                    );
                    let declaration = __rt::Declaration::new(
                            "wipe",
                            "Everything that the output names is a parameter here.",
                        )
                        .destructive(true);
                    __rt::DeclaredTool::method(
                            declaration,
                            &self,
                            params,
                            |this__, (this, this_, params, declaration)| async move {
                                __rt::Output(
                                        Self::wipe(&this__, this, this_, params, declaration).await,
                                    )
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
