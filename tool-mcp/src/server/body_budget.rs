//! [`BodyBudget`]: the number of bytes of the bodies of all requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of bytes of all bodies, if four bodies of the maximum size have not more.
const TOTAL: usize = 64 << 20;

/// Bytes of bodies that are being read, and of arguments up to the end of their calls.
#[derive(Debug, Default)]
pub(crate) struct BodyBudget {
    used: AtomicUsize,
}

/// The bytes of one body, until the value is dropped.
#[derive(Debug)]
pub(crate) struct ReservedBytes {
    budget: Arc<BodyBudget>,
    /// Maximum number of bytes of all bodies.
    total: usize,
    bytes: usize,
}

impl BodyBudget {
    /// Begins a body, which has at most `body_bytes` bytes.
    pub(crate) fn begin(self: &Arc<Self>, body_bytes: usize) -> ReservedBytes {
        ReservedBytes {
            budget: Arc::clone(self),
            total: TOTAL.max(body_bytes.saturating_mul(4)),
            bytes: 0,
        }
    }
}

impl ReservedBytes {
    /// Adds bytes that have arrived. Returns whether these fit.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        let before = self.budget.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes = self.bytes.saturating_add(bytes);
        before.saturating_add(bytes) <= self.total
    }
}

impl Drop for ReservedBytes {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_the_maximum_size_fit_four_times() {
        for body_bytes in [1, 16 << 20, 100 << 20] {
            let budget = Arc::new(BodyBudget::default());
            let total = TOTAL.max(4 * body_bytes);
            let mut bodies: Vec<_> = (0..4).map(|_| budget.begin(body_bytes)).collect();
            assert!(bodies.iter_mut().all(|body| body.add(total / 4)));
            let mut further = budget.begin(body_bytes);
            assert!(!further.add(1));
            drop(further);
            bodies.pop();
            assert!(bodies[0].add(total / 4));
            drop(bodies);
            assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        }
    }
}
