use tool_runtime::{State, tool};

/// Does a thing.
#[tool]
async fn act(
    /// What to use.
    #[arg(default = State::new(5))]
    number: State<u8>,
) {
    let _ = number;
}

fn main() {}
