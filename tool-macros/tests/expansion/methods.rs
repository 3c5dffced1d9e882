/// A store.
#[tools]
impl Store {
    const LIMIT: usize = 5;

    /// No tool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remember a number.
    #[tool(idempotent)]
    pub async fn put(
        &self,
        /// Under what.
        key: String,
        /// The number.
        #[arg(range = 0..)]
        number: i64,
    ) {
        self.lock().insert(key, number);
    }

    /// Say hello.
    #[tool]
    #[cfg(debug_assertions)]
    async fn hello() -> &'static str {
        "hello"
    }
}
