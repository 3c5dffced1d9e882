/// No function.
struct Folder {
    path: PathBuf,
}
::core::compile_error! {
    "a tool must be an `async fn`; put `#[tool]` on one"
}
impl Display for Folder {
    /// Show it.
    #[allow(clippy::unused_async, reason = "a tool is `async`")]
    async fn fmt(&self) -> String {
        self.path.display().to_string()
    }
}
::core::compile_error! {
    "`#[tools]` belongs on an inherent `impl` block; move the tools out of the `impl` of a trait"
}
