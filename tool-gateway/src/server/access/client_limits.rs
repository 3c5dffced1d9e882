//! [`ClientLimits`]: the maximum numbers of concurrent requests and of requests in a minute, for each client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::session::principal::Principal;
use crate::settings::limits::Limits;
use crate::wire::error::ApiError;

/// Usage of each client, checked against the client's limits.
#[derive(Debug, Default)]
pub(crate) struct ClientLimits {
    used: Arc<Mutex<HashMap<Principal, Used>>>,
}

/// Usage of one client.
#[derive(Debug)]
struct Used {
    running: usize,
    /// Number of requests that the client may send now. Grows with time, up to the maximum of a minute.
    left: f64,
    at: Instant,
}

/// Maximum number of idle clients that are kept.
const MAX_IDLE: usize = 10_000;

impl ClientLimits {
    /// Admits a request until the permit is dropped. Over a limit, returns the error for the API's status 429, with the time to wait.
    pub(crate) fn admit(&self, limits: &Limits, principal: &Principal) -> Result<Permit, OverLimit> {
        let now = Instant::now();
        let per_minute = limits.client_requests_per_minute.map(f64::from);
        let mut all = lock(&self.used);
        if all.len() > MAX_IDLE {
            all.retain(|_, used| used.running > 0 || now.duration_since(used.at).as_secs() < 60);
        }
        let used = all.entry(principal.clone()).or_insert_with(|| Used {
            running: 0,
            left: per_minute.unwrap_or_default(),
            at: now,
        });
        if let Some(per_minute) = per_minute {
            let grown = now.duration_since(used.at).as_secs_f64() * per_minute / 60.0;
            used.left = (used.left + grown).min(per_minute);
        }
        used.at = now;
        if let Some(max) = limits.client_concurrency.filter(|max| used.running >= *max) {
            return Err(OverLimit {
                message: format!(
                    "{max} requests of this client are being answered, as many as it may have at once"
                ),
                wait: 1,
            });
        }
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
        used.running += 1;
        Ok(Permit {
            used: Arc::clone(&self.used),
            principal: principal.clone(),
        })
    }
}

fn lock(used: &Mutex<HashMap<Principal, Used>>) -> MutexGuard<'_, HashMap<Principal, Used>> {
    // No change can panic halfway.
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Permit of a request that is being answered.
#[derive(Debug)]
pub(crate) struct Permit {
    used: Arc<Mutex<HashMap<Principal, Used>>>,
    principal: Principal,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(used) = lock(&self.used).get_mut(&self.principal) {
            used.running = used.running.saturating_sub(1);
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

impl IntoResponse for OverLimit {
    fn into_response(self) -> Response {
        let mut response = ApiError::new(StatusCode::TOO_MANY_REQUESTS, self.message).into_response();
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
        lock(&clients.used).get_mut(&ada).unwrap().left += 1.0;
        clients.admit(&limits, &ada).unwrap();
    }
}
