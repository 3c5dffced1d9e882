//! Code that the examples share: a model with scripted answers, and a narrator.
//!
//! Stories are run like this: `cargo run --example agent_loop`.

pub mod model;
pub mod voice;
