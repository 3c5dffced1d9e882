/// Count the words of a file.
#[tool(blocking)]
fn count_words(
    /// Its path.
    path: String,
) -> std::io::Result<usize> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.split_whitespace().count())
}

#[tools]
impl Archive {
    /// Number of files.
    #[tool(blocking)]
    fn files(&self) -> usize {
        self.files.len()
    }
}
