//! Setters of limits and rules, which the builders for commands and URLs have.

/// Methods of a builder with a field `settings`.
macro_rules! settings_setters {
    () => {
        /// Sets the name of the server in messages and in the log. The default is the name of the program, or the host of the URL.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.settings.name = name.into();
            self
        }

        /// Sets the revision of the protocol. The default is [`Protocol::Auto`].
        pub fn protocol(mut self, protocol: Protocol) -> Self {
            self.settings.protocol = protocol;
            self
        }

        /// Sets whether the server's hints (`readOnlyHint` and others) are hints of the definitions. By default, hints are claims that
        /// only MCP's form of a definition has.
        pub fn trust_hints(mut self, trusts_hints: bool) -> Self {
            self.settings.trusts_hints = trusts_hints;
            self
        }

        /// Sets the maximum time from the start of the process, or from the first request, to the end of the first list. The default is 30 s.
        pub fn start_timeout(mut self, limit: Duration) -> Self {
            self.settings.limits.start = limit;
            self
        }

        /// Sets the maximum time of a call without progress. The default is 60 s.
        pub fn call_timeout(mut self, limit: Duration) -> Self {
            self.settings.limits.call = limit;
            self
        }

        /// Sets the maximum time of a call, with and without progress. The default is 600 s.
        pub fn max_call_duration(mut self, limit: Duration) -> Self {
            self.settings.limits.total = limit;
            self
        }

        /// Sets the maximum number of concurrent calls; others wait. The default is 8, the minimum 1.
        pub fn max_calls(mut self, limit: usize) -> Self {
            self.settings.limits.calls = limit.max(1);
            self
        }

        /// Sets the maximum number of tools; others are left out. The default is 500.
        pub fn max_tools(mut self, limit: usize) -> Self {
            self.settings.limits.tools = limit;
            self
        }

        /// Sets the maximum number of bytes of a message. The default is 16 MiB.
        pub fn max_message_bytes(mut self, limit: usize) -> Self {
            self.settings.limits.message_bytes = limit;
            self
        }

        /// Sets a function that observes the messages of the server that answer no running request, for counters. The function must return at
        /// once.
        pub fn on_message(mut self, observe: impl Fn($crate::MessageKind) + Send + Sync + 'static) -> Self {
            self.settings.hooks.on_message = Some(std::sync::Arc::new(observe));
            self
        }

        /// Sets a function that returns members of `_meta` of each call, for example `traceparent`. Members of the protocol have precedence.
        pub fn call_meta(
            mut self,
            meta: impl Fn(
                &tool_runtime::Context,
            ) -> tool_runtime::serde_json::Map<String, tool_runtime::serde_json::Value>
            + Send
            + Sync
            + 'static,
        ) -> Self {
            self.settings.hooks.call_meta = Some(std::sync::Arc::new(meta));
            self
        }

        /// Sets the maximum number of characters of the texts of a result; the rest is cut. The default is 400,000.
        pub fn max_result_chars(mut self, limit: usize) -> Self {
            self.settings.limits.result_chars = limit;
            self
        }
    };
}
pub(crate) use settings_setters;
