//! [`ByteBudget`]: the number of bytes of all request bodies that are being read and digested, with a share for each client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;

use crate::fold_map::FoldMap;
use crate::session::principal::Principal;
use crate::wire::error::ApiError;

/// The bytes of bodies in progress. A body takes several times its size while it is read, so that the sum has to be limited.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    total: usize,
    /// Maximum number of bytes of one client.
    share: usize,
    used: Mutex<UsedBytes>,
}

#[derive(Debug, Default)]
struct UsedBytes {
    total: usize,
    by_client: FoldMap<Principal, usize>,
}

impl ByteBudget {
    /// Creates a budget of so many bytes, at least one body of the maximum size. A client has half of the bytes, and at least one body.
    pub(crate) fn new(total: usize, max_body: usize) -> Self {
        Self {
            total: total.max(max_body),
            share: (total / 2).max(max_body),
            used: Mutex::default(),
        }
    }

    /// Begins a body of a client.
    pub(crate) fn begin(self: &Arc<Self>, client: &Principal) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            client: client.clone(),
            bytes: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, UsedBytes> {
        // No change can panic half-way.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes in progress.
    #[cfg(test)]
    fn used(&self) -> usize {
        self.lock().total
    }
}

/// The bytes of one body, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<ByteBudget>,
    client: Principal,
    bytes: usize,
}

impl Reservation {
    /// Checks that so many bytes fit into the budget now.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), OverBudget> {
        self.fits(&self.budget.lock(), bytes)
    }

    /// Adds bytes that have arrived.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let mut used = self.budget.lock();
        self.fits(&used, bytes)?;
        used.total += bytes;
        *used.by_client.entry(self.client.clone()).or_default() += bytes;
        drop(used);
        self.bytes += bytes;
        Ok(())
    }

    fn fits(&self, used: &UsedBytes, bytes: usize) -> Result<(), OverBudget> {
        let of_client = used.by_client.get(&self.client).copied().unwrap_or_default();
        if of_client.saturating_add(bytes) > self.budget.share {
            return Err(OverBudget::Client);
        }
        if used.total.saturating_add(bytes) > self.budget.total {
            return Err(OverBudget::Process);
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut used = self.budget.lock();
        used.total = used.total.saturating_sub(self.bytes);
        if let Some(of_client) = used.by_client.get_mut(&self.client) {
            *of_client = of_client.saturating_sub(self.bytes);
            if *of_client == 0 {
                used.by_client.remove(&self.client);
            }
        }
    }
}

/// The reason that a body does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBudget {
    #[error("the requests of this client that are being read are too large together; send this one later")]
    Client,
    #[error("the requests that are being read are too large together; send this one later")]
    Process,
}

impl From<OverBudget> for ApiError {
    fn from(over: OverBudget) -> Self {
        // The API's status of an overload, <https://platform.claude.com/docs/en/api/errors>.
        let status = StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Self::new(status, over.to_string()).with_retry_after(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_half_of_the_bytes_until_its_bodies_are_dropped() {
        let budget = Arc::new(ByteBudget::new(100, 10));
        let [ada, bo, cy] = ["ada", "bo", "cy"].map(Principal::from_key_name);
        let mut first = budget.begin(&ada);
        first.add(30).unwrap();
        let mut second = budget.begin(&ada);
        second.add(20).unwrap();
        assert_eq!(second.add(1), Err(OverBudget::Client));
        let mut other = budget.begin(&bo);
        other.add(45).unwrap();
        let mut last = budget.begin(&cy);
        assert_eq!(
            (last.check(6), last.add(6)),
            (Err(OverBudget::Process), Err(OverBudget::Process))
        );
        last.add(5).unwrap();
        assert_eq!(budget.used(), 100);
        drop(first);
        second.add(30).unwrap();
        drop((second, other, last));
        assert_eq!(budget.used(), 0);
        assert!(budget.lock().by_client.is_empty());
    }

    #[test]
    fn one_body_of_the_maximum_size_always_fits() {
        let budget = Arc::new(ByteBudget::new(10, 80));
        let client = Principal::from_key_name("ada");
        budget.begin(&client).add(80).unwrap();
    }
}
