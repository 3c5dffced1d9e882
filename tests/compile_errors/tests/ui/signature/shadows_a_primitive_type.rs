use tool_runtime::tool;

/// Answers with a letter.
#[tool]
async fn char(
    /// Its number.
    number: u8,
) -> String {
    let letter: char = number.into();
    letter.to_string()
}

fn main() {}
