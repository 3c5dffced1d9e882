//! Ends the commands of sessions that have ended.

use std::sync::Arc;
use std::time::Duration;

use crate::server::http::gateway::Turns;
use crate::session::record::SessionId;
use crate::session::store::{Reach, SessionStore};
use crate::settings::bash::Commands;

/// Time between two sweeps, unless sessions expire sooner.
const MAX_INTERVAL: Duration = Duration::from_secs(5 * 60);
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which the outputs of a session are removed that the store does not know.
const MAX_IDLE: Duration = Duration::from_secs(60 * 60);

/// Ends the commands of sessions that are not in the store and have no turn, at intervals. A store of several gateways looks up sessions by
/// their client, and has no sessions of MCP clients: the commands of such sessions end after 30 minutes, and their outputs are removed an
/// hour after the last call.
pub(super) async fn sweep(commands: Commands, store: Arc<dyn SessionStore>, turns: &Turns) {
    let interval = (store.ttl() / 4).clamp(MIN_INTERVAL, MAX_INTERVAL);
    let is_shared = store.reach() == Reach::Shared;
    loop {
        tokio::time::sleep(interval).await;
        let idle = commands.idle_sessions(MAX_IDLE);
        for id in commands.sessions() {
            let session = SessionId::parse(&id).filter(|_| !is_shared);
            let Some(session) = session else {
                if idle.contains(&id) {
                    commands.end_session(&id).await;
                }
                continue;
            };
            if turns.has_active(&session) {
                continue;
            }
            match store.has_session(None, &session).await {
                // A turn may have begun meanwhile.
                Ok(false) if !turns.has_active(&session) => {
                    tracing::debug!(%session, "the commands of an ended session are ended");
                    commands.end_session(&id).await;
                }
                Ok(_) => {}
                // The commands end after 30 minutes, even if the store never works again.
                Err(error) => tracing::warn!(%error, "sessions with commands could not be checked"),
            }
        }
    }
}
