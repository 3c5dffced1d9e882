#[tools]
impl Counter {
    /// Count the processes.
    #[cfg_attr(unix, doc = "Those of all users.")]
    #[tool]
    async fn count(&self) -> u32 {
        0
    }

    /// Reset the counter.
    #[cfg_attr(feature = "admin", tool(destructive), inline)]
    async fn reset(
        &self,
        /// The first number.
        start: u32,
    ) {
    }
}
