#[tools]
impl Store {
    /// Forget.
    #[tool]
    fn forget(&self) {}
}
