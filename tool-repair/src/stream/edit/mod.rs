//! Writes repaired arguments into the bytes of a stream: pushed in pieces, or polled.

mod editor;
pub(crate) mod repairer;
pub(crate) mod adapter;
