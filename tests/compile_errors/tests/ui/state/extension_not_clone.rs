#![allow(unused)]

use tool_runtime::{Extension, tool};

struct User(String);

/// Acts.
#[tool]
async fn act(user: Extension<User>) {}

fn main() {}
