//! Running turns, and the state that all requests share. The entry is [`shared::Shared`]; [`turn_table`] has the running turns.

pub(crate) mod session_state;
pub(crate) mod upstream_headers;
pub(crate) mod checkpoint;
pub(crate) mod progress_log;
pub(crate) mod locks;
pub(crate) mod kept_bytes;
pub(crate) mod running_turn;
pub(crate) mod lease_keeper;
pub(crate) mod stored_turns;
pub(crate) mod kept_turns;
pub(crate) mod turn_table;
pub(crate) mod claims;
pub(crate) mod shared;
pub(crate) mod job;
