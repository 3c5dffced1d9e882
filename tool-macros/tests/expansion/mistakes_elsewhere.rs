/// No function.
#[tool]
struct Folder {
    path: PathBuf,
}

#[tools]
impl Display for Folder {
    /// Show it.
    #[tool]
    async fn fmt(&self) -> String {
        self.path.display().to_string()
    }
}
