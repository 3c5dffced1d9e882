//! Removes expired sessions from the store, and expired turns from the table of turns, whether or not requests arrive.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::server::turns::shared::Shared;

/// Time between two sweeps, unless sessions expire sooner.
const MAX_INTERVAL: Duration = Duration::from_secs(5 * 60);
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Starts a task that sweeps now and at intervals, until the gateway is dropped.
pub(crate) fn start(shared: &Arc<Shared>) {
    let Ok(runtime) = Handle::try_current() else {
        tracing::warn!(
            "expired sessions are removed only when others are saved, since there is no tokio runtime; call `Gateway::router` in one"
        );
        return;
    };
    let interval = (shared.store.ttl() / 4).clamp(MIN_INTERVAL, MAX_INTERVAL);
    let (gateway, closing) = (Arc::downgrade(shared), shared.closing.clone());
    runtime.spawn(async move {
        while sweep(&gateway).await {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = closing.cancelled() => return,
            }
        }
    });
}

/// Removes expired sessions and turns. Returns whether the gateway still exists.
async fn sweep(gateway: &Weak<Shared>) -> bool {
    loop {
        let Some(shared) = gateway.upgrade() else {
            return false;
        };
        shared.turns.remove_expired();
        match shared.store.remove_expired().await {
            Ok(true) => tokio::task::yield_now().await,
            Ok(false) => return true,
            Err(error) => {
                tracing::warn!(%error, "expired sessions were not removed");
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tool_runtime::ToolRegistry;

    use crate::Gateway;
    use crate::session::clock;
    use crate::session::file::FileStore;
    use crate::session::memory::MemoryStore;
    use crate::session::store::SessionStore;
    use crate::session::tests::{Folder, save, turn};
    use crate::upstream::script::ScriptUpstream;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// Expired sessions may contain personal data, and are removed even without requests.
    #[tokio::test(start_paused = true)]
    async fn idle_sessions_are_removed_after_thirty_days() {
        let memory = MemoryStore::new().with_clock(clock::tests::paused());
        let folder = Folder::new("thirty-days");
        let file = FileStore::open(folder.file())
            .unwrap()
            .with_clock(clock::tests::paused());
        let stores: [Arc<dyn SessionStore>; 2] = [Arc::new(memory), Arc::new(file)];
        for store in stores {
            let gateway = Gateway::new(ToolRegistry::new(), ScriptUpstream::embedded());
            let _router = gateway.with_shared_store(Arc::clone(&store)).router();
            // More sessions than one step removes, and suspended turns.
            for number in 0..300 {
                save(
                    &*store,
                    turn(&number.to_string(), &format!("ada/{number}"), "point"),
                )
                .await;
            }
            save(&*store, turn("suspended-1", "bob/1", "point")).await;
            let turns = async || store.size().await.unwrap().unwrap().turns;
            assert_eq!(turns().await, 301);
            tokio::time::sleep(2 * DAY).await;
            assert_eq!(turns().await, 1, "{}", store.name());
            tokio::time::sleep(28 * DAY).await;
            assert_eq!(turns().await, 0, "{}", store.name());
        }
    }
}
