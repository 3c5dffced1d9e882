//! [`ClientLimits`]: the maximum numbers of concurrent requests and turns, and of requests in a minute, for each client.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::Notify;

use crate::fold_map::FoldMap;
use crate::session::principal::Principal;
use crate::settings::limits::Limits;
use crate::wire::error::ApiError;

/// Usage of each client, checked against the client's limits.
#[derive(Debug, Default)]
pub(crate) struct ClientLimits {
    table: Arc<ClientTable>,
}

#[derive(Debug, Default)]
struct ClientTable {
    clients: Mutex<Clients>,
    /// Wakes the tasks that wait for the end of the last request or of the last save.
    is_idle: Notify,
}

#[derive(Debug, Default)]
struct Clients {
    used: FoldMap<Principal, Used>,
    /// Number of requests of all clients that are being answered.
    requests: usize,
    /// Number of saves that run beside the end of their answer.
    saves: usize,
}

/// Usage of one client.
#[derive(Debug)]
struct Used {
    /// Number of requests that are being answered.
    requests: usize,
    /// Number of running turns, also after a disconnect of their client.
    turns: usize,
    /// Number of requests that the client may send now. Grows with time, up to the maximum of a minute.
    left: f64,
    at: Instant,
}

impl Used {
    fn is_running(&self) -> bool {
        self.requests > 0 || self.turns > 0
    }
}

/// Maximum number of idle clients that are kept.
const MAX_IDLE: usize = 10_000;

impl ClientLimits {
    /// Admits a request until the permit is dropped. Over a limit, returns the error for the API's status 429, with the time to wait.
    pub(crate) fn admit(&self, limits: &Limits, principal: &Principal) -> Result<Permit, OverLimit> {
        let now = Instant::now();
        let per_minute = limits.client_requests_per_minute.map(f64::from);
        let mut clients = self.table.lock();
        let used = clients.used(principal, per_minute, now);
        if let Some(per_minute) = per_minute {
            let grown = now.duration_since(used.at).as_secs_f64() * per_minute / 60.0;
            used.left = (used.left + grown).min(per_minute);
        }
        used.at = now;
        check_concurrency(limits, used.requests)?;
        if let Some(per_minute) = per_minute.filter(|_| used.left < 1.0) {
            let wait = (1.0 - used.left) * 60.0 / per_minute;
            return Err(OverLimit {
                message: format!("this client may send {per_minute} requests in a minute"),
                // At least one second, and far below the range of the type.
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 60")]
                wait: wait.ceil().clamp(1.0, 60.0) as u64,
            });
        }
        if per_minute.is_some() {
            used.left -= 1.0;
        }
        used.requests += 1;
        clients.requests += 1;
        Ok(self.permit(principal, PermitKind::Request))
    }

    /// Admits a turn until the permit is dropped. After a disconnect, the turn of a client still counts, so that a client cannot run more
    /// turns by disconnecting. Over the limit, returns the error for the API's status 429.
    pub(crate) fn begin_turn(&self, limits: &Limits, principal: &Principal) -> Result<Permit, OverLimit> {
        let mut clients = self.table.lock();
        let per_minute = limits.client_requests_per_minute.map(f64::from);
        let used = clients.used(principal, per_minute, Instant::now());
        check_concurrency(limits, used.turns)?;
        used.turns += 1;
        Ok(self.permit(principal, PermitKind::Turn))
    }

    fn permit(&self, principal: &Principal, kind: PermitKind) -> Permit {
        Permit {
            table: Arc::clone(&self.table),
            principal: principal.clone(),
            kind,
        }
    }

    /// Counts a save that runs beside the end of its answer, until the guard is dropped.
    pub(crate) fn begin_save(&self) -> RunningSave {
        self.table.lock().saves += 1;
        RunningSave(Arc::clone(&self.table))
    }

    /// Waits until no request is being answered.
    pub(crate) async fn until_idle(&self) {
        self.until(|clients| clients.requests == 0).await;
    }

    /// Waits until no save runs beside the end of its answer.
    pub(crate) async fn until_saved(&self) {
        self.until(|clients| clients.saves == 0).await;
    }

    async fn until(&self, is_reached: impl Fn(&Clients) -> bool) {
        loop {
            let mut is_idle = pin!(self.table.is_idle.notified());
            // The end of a request between the check and the wait wakes the task, too.
            is_idle.as_mut().enable();
            if is_reached(&self.table.lock()) {
                return;
            }
            is_idle.await;
        }
    }
}

fn check_concurrency(limits: &Limits, running: usize) -> Result<(), OverLimit> {
    match limits.client_concurrency.filter(|max| running >= *max) {
        Some(max) => Err(OverLimit {
            message: format!(
                "{max} requests of this client are being answered, as many as it may have at once"
            ),
            wait: 1,
        }),
        None => Ok(()),
    }
}

impl ClientTable {
    fn lock(&self) -> MutexGuard<'_, Clients> {
        // No change can panic halfway.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clients {
    fn used(&mut self, principal: &Principal, per_minute: Option<f64>, now: Instant) -> &mut Used {
        if self.used.len() > MAX_IDLE {
            self.used
                .retain(|_, used| used.is_running() || now.duration_since(used.at).as_secs() < 60);
        }
        self.used.entry(principal.clone()).or_insert_with(|| Used {
            requests: 0,
            turns: 0,
            left: per_minute.unwrap_or_default(),
            at: now,
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum PermitKind {
    Request,
    Turn,
}

/// Permit of a request that is being answered, or of a turn that runs.
#[derive(Debug)]
pub(crate) struct Permit {
    table: Arc<ClientTable>,
    principal: Principal,
    kind: PermitKind,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut clients = self.table.lock();
        let used = clients.used.get_mut(&self.principal);
        match self.kind {
            PermitKind::Request => {
                if let Some(used) = used {
                    used.requests = used.requests.saturating_sub(1);
                }
                clients.requests = clients.requests.saturating_sub(1);
                if clients.requests == 0 {
                    self.table.is_idle.notify_waiters();
                }
            }
            PermitKind::Turn => {
                if let Some(used) = used {
                    used.turns = used.turns.saturating_sub(1);
                }
            }
        }
    }
}

/// A save that runs beside the end of its answer.
#[derive(Debug)]
pub(crate) struct RunningSave(Arc<ClientTable>);

impl Drop for RunningSave {
    fn drop(&mut self) {
        let mut clients = self.0.lock();
        clients.saves = clients.saves.saturating_sub(1);
        if clients.saves == 0 {
            self.0.is_idle.notify_waiters();
        }
    }
}

/// Error of a request over a limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OverLimit {
    message: String,
    /// Time to wait, in seconds.
    wait: u64,
}

impl OverLimit {
    /// Returns the error in the API's form, without the time to wait.
    pub(crate) fn error(&self) -> ApiError {
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, self.message.clone())
    }
}

impl IntoResponse for OverLimit {
    fn into_response(self) -> Response {
        let mut response = self.error().into_response();
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(self.wait));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_concurrent_requests_and_requests_per_minute() {
        let clients = ClientLimits::default();
        let limits = Limits {
            client_concurrency: Some(2),
            client_requests_per_minute: Some(3),
            ..Limits::default()
        };
        let [ada, bo] = ["ada", "bo"].map(Principal::from_key_name);
        let first = clients.admit(&limits, &ada).unwrap();
        let second = clients.admit(&limits, &ada).unwrap();
        assert!(
            clients
                .admit(&limits, &ada)
                .unwrap_err()
                .message
                .starts_with("2 requests")
        );
        drop((first, second));
        let third = clients.admit(&limits, &ada).unwrap();
        drop(third);
        let refused = clients.admit(&limits, &ada).unwrap_err();
        assert_eq!(refused.message, "this client may send 3 requests in a minute");
        assert!((15..=20).contains(&refused.wait), "{refused:?}");
        clients.admit(&limits, &bo).unwrap();
        // Twenty seconds later.
        clients.table.lock().used.get_mut(&ada).unwrap().left += 1.0;
        clients.admit(&limits, &ada).unwrap();
    }

    #[tokio::test]
    async fn turns_are_limited_without_their_requests_and_waits_are_for_requests() {
        let clients = ClientLimits::default();
        let limits = Limits {
            client_concurrency: Some(1),
            ..Limits::default()
        };
        let ada = Principal::from_key_name("ada");
        let request = clients.admit(&limits, &ada).unwrap();
        let turn = clients.begin_turn(&limits, &ada).unwrap();
        let mut idle = pin!(clients.until_idle());
        assert!(futures_util::FutureExt::now_or_never(idle.as_mut()).is_none());
        drop(request);
        idle.await;
        // Another request may join the turn.
        let request = clients.admit(&limits, &ada).unwrap();
        assert!(clients.begin_turn(&limits, &ada).is_err());
        drop(turn);
        drop(clients.begin_turn(&limits, &ada).unwrap());
        drop(request);
        clients.until_idle().await;
    }
}
