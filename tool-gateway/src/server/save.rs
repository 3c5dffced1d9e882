//! Stores turns.

use super::metrics::count;
use super::shared::Shared;
use crate::session::recognize::{Client, call_digest, key_digest};
use crate::session::record::Turn;

/// Stores a turn with the ids and keys by which it is found. A store that fails costs the session, not the answer.
pub(super) async fn save(shared: &Shared, client: &Client, turn: Turn) {
    let key = &shared.secret;
    let calls = turn
        .visible_ids()
        .map(|id| call_digest(key, &client.principal, id))
        .collect();
    let keys = client
        .keys
        .iter()
        .map(|name| key_digest(key, &client.principal, name))
        .collect();
    if let Err(error) = shared.store.save(turn, calls, keys).await {
        count(&shared.metrics.store_errors);
        tracing::error!(%error, "a turn was not stored; the client's history goes up as it is sent");
    }
}
