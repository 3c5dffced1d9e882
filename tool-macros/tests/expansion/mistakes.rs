/// Delete a file.
#[tool(nme = "delete")]
pub async fn delete(
    /// Which.
    path: &str,
) -> std::io::Result<()> {
    std::fs::remove_file(path)
}
