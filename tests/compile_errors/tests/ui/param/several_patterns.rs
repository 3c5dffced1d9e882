use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// A pair.
    (a, b): (u8, u8),
    /// Nothing.
    _: u8,
    /// A text.
    text: &str,
) {
    let _ = (a, b, text);
}

fn main() {}
