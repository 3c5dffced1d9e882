//! What the stories share: a model whose answers are written down, and a voice to tell what happens.
//!
//! Stories are run like this: `cargo run --example agent_loop`.

pub mod model;
pub mod voice;
