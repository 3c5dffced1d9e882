use tool_runtime::{SessionState, tool};

/// Acts.
#[tool]
async fn act(SessionState(list): SessionState<Vec<(u8, String)>>) {
    let _ = list;
}

fn main() {}
