//! Revisions of the protocol.

/// Revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";
/// Revisions with `initialize`. Clients ask for the first, and servers answer with the first to an unknown one.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
