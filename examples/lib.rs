//! Stories told by running them: `cargo run --example agent_loop`.
