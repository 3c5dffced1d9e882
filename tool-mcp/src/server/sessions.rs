//! Values of sessions. Each client has a default session, and may name further sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tool_runtime::SessionValues;

/// Maximum number of sessions. A further session replaces the least recently used session of the same client, or of another client if the
/// client has none.
const MAX_SESSIONS: usize = 1000;
/// Time after which a session without calls ends.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// Key of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    /// Name of the client from its `McpPrincipal`; empty for a request without one.
    pub(crate) principal: Arc<str>,
    /// Name that the client has given; `None` for the default session.
    pub(crate) name: Option<String>,
}

/// Values of all sessions of a server.
#[derive(Debug, Default)]
pub(crate) struct SessionTable(Mutex<HashMap<SessionKey, SessionEntry>>);

#[derive(Debug)]
struct SessionEntry {
    values: SessionValues,
    last_use: Instant,
}

impl SessionTable {
    /// Returns the values of a session, which is created if it is not there.
    pub(crate) fn values(&self, key: SessionKey) -> SessionValues {
        let now = Instant::now();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get_mut(&key)
            && now - session.last_use < IDLE
        {
            session.last_use = now;
            return session.values.clone();
        }
        sessions.remove(&key);
        if sessions.len() >= MAX_SESSIONS {
            sessions.retain(|_, session| now - session.last_use < IDLE);
            while sessions.len() >= MAX_SESSIONS {
                let oldest = sessions
                    .iter()
                    .min_by_key(|(other, session)| (other.principal != key.principal, session.last_use))
                    .map(|(key, _)| key.clone());
                oldest.map(|key| sessions.remove(&key));
            }
        }
        let values = SessionValues::new();
        let entry = SessionEntry {
            values: values.clone(),
            last_use: now,
        };
        sessions.insert(key, entry);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(table: &SessionTable, name: &str) -> u32 {
        count_of(table, "ada", name)
    }

    fn count_of(table: &SessionTable, principal: &str, name: &str) -> u32 {
        let key = SessionKey {
            principal: principal.into(),
            name: Some(name.to_owned()),
        };
        let values = table.values(key);
        let count = values.get::<u32>().unwrap();
        *count.lock() += 1;
        *count.lock()
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_end_after_an_hour_without_a_call() {
        let table = SessionTable::default();
        assert_eq!(
            (count(&table, "a"), count(&table, "a"), count(&table, "b")),
            (1, 2, 1)
        );
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(count(&table, "a"), 3);
        tokio::time::advance(IDLE / 2).await;
        assert_eq!((count(&table, "a"), count(&table, "b")), (4, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_session_used_least_recently_is_replaced() {
        let table = SessionTable::default();
        count(&table, "first");
        tokio::time::advance(Duration::from_secs(1)).await;
        for number in 0..MAX_SESSIONS - 1 {
            count(&table, &number.to_string());
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(count(&table, "first"), 2);
        tokio::time::advance(Duration::from_secs(1)).await;
        count(&table, "one more");
        assert_eq!(count(&table, "first"), 3);
        assert_eq!(table.0.lock().unwrap().len(), MAX_SESSIONS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_replaces_its_own_sessions() {
        let table = SessionTable::default();
        count_of(&table, "bob", "first");
        tokio::time::advance(Duration::from_secs(1)).await;
        for number in 0..2 * MAX_SESSIONS {
            count(&table, &number.to_string());
        }
        assert_eq!(count_of(&table, "bob", "first"), 2);
    }
}
