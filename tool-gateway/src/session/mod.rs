//! Sessions: the conversations to which requests belong, and the transcripts that the model received.
//!
//! Names in the requirements (document 004 of `docs/requirements.md`) and in this crate:
//!
//! | requirements | crate |
//! |---|---|
//! | `compute_session_hash` | [`Digest`], a chain of them over the history: `session/message_groups.rs` |
//! | `extract_new_messages` | the messages after the last known turn: `session/recognize.rs` |
//! | `hash_to_session`, `find_session_by_hash` | [`SessionStore::find`](store::SessionStore::find) |
//! | `store_hash_mapping` | [`SessionStore::save`](store::SessionStore::save) |
//! | `Session`, `SessionManager` | [`Session`](record::Session), [`SessionStore`](store::SessionStore) |
//! | `pending_tool_uses`, `ToolUseInfo` | the open calls of a suspended [`Turn`](record::Turn) |
//! | `classify_tools`, `INTERNAL_TOOLS` | `turn/ownership.rs`; the tools of the registry |
//! | `ExternalToolInterrupt`, `can_use_tool_callback` | a turn that is suspended: `turn/machine/`; `tool_runtime::permission` |
//! | `handle_tool_result` | `turn/restore.rs` |

pub(crate) mod texts;
pub(crate) mod canonical_text;
pub(crate) mod canonical;
pub(crate) mod principal;
mod digest_cache;
pub(crate) mod chain;
pub(crate) mod message_groups;
pub(crate) mod minted_id;
pub mod record;
pub(crate) mod store_error;
pub(crate) mod encoding;
pub mod turn_record;
pub mod lease;
pub mod store;
pub(crate) mod record_cache;
pub(crate) mod finder;
pub(crate) mod clock;
pub(crate) mod local_leases;
pub mod memory;
pub(crate) mod database;
pub mod file;
pub(crate) mod client;
mod added_defaults;
#[cfg(feature = "redis")]
pub mod redis;
pub(crate) mod known_history;
pub(crate) mod recognize;
#[cfg(test)]
pub(crate) mod tests;

pub use chain::Digest;
