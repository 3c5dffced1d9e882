//! The attribute macros of `tool-runtime`; their documentation stands at the re-exports there.
