//! Code that the examples share: a model with scripted answers, and a narrator.
//!
//! To run a story: `cargo run --example agent_loop`.

pub mod model;
pub mod voice;
