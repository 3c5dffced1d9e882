/// Every name here is in use elsewhere in the output.
#[tool]
async fn __rt(
    /// A type.
    r#type: String,
    /// Parameters.
    params: u8,
    /// This.
    mut this: u8,
    /// The tool itself.
    #[arg(name = "rt")]
    __rt: u8,
) {
}
