#[tools(crate = crate::runtime)]
#[cfg(feature = "mail")]
impl crate::mail::Mailbox<Imap> {
    /// Read a message.
    #[tool(
        name = "mail-read",
        title = "Read mail",
        rename_all = "camelCase",
        read_only,
        timeout = "10s",
        errors = Self::explain,
        input_examples = [{ "messageId": 7 }]
    )]
    pub async fn read(
        &self,
        /// Which.
        #[arg(range = 1..)]
        message_id: u64,
        /// Size of it, in bytes.
        #[arg(default = Self::LIMIT)]
        limit: usize,
        session: State<Session>,
        context: Context,
    ) -> Result<Blocks, MailError> {
        self.fetch(message_id, limit, session, call).await
    }

    /// Everything that the output names is a parameter here.
    #[tool(destructive)]
    async fn wipe(
        &self,
        /// One.
        this: u8,
        /// Two.
        this_: u8,
        /// Three.
        params: u8,
        /// Four.
        declaration: u8,
    ) {
    }

    fn explain(errors: &[Issue]) -> String {
        format!("{} mistakes", errors.len())
    }
}
