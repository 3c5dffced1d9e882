use tool_runtime::tool;

use tool_runtime::serde::Deserialize;

#[derive(Deserialize)]
#[serde(crate = "tool_runtime::serde")]
struct Place {
    name: String,
}

/// Does a thing.
#[tool]
async fn act(
    /// Where.
    place: Place,
) {
    drop(place.name);
}

fn main() {}
