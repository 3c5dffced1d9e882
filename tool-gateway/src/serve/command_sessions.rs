//! Ends the commands of sessions that have ended.

use std::sync::Arc;
use std::time::Duration;

use crate::server::http::gateway::Turns;
use crate::session::record::SessionId;
use crate::session::store::SessionStore;
use crate::settings::bash::Commands;

/// Time between two sweeps, unless sessions expire sooner.
const MAX_INTERVAL: Duration = Duration::from_secs(5 * 60);
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Ends the commands of sessions that are not in the store and have no turn, at intervals. Commands with a store of several gateways end
/// after 30 minutes, since such a store looks up sessions by their client.
pub(super) async fn sweep(commands: Commands, store: Arc<dyn SessionStore>, turns: &Turns) {
    let interval = (store.ttl() / 4).clamp(MIN_INTERVAL, MAX_INTERVAL);
    loop {
        tokio::time::sleep(interval).await;
        for id in commands.sessions() {
            let Some(session) = SessionId::parse(&id) else {
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
