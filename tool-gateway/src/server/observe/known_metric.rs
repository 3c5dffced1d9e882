//! [`KnownMetric`]: a metric of a family, looked up once.

use std::hash::Hash;
use std::sync::OnceLock;

use prometheus_client::metrics::family::{Family, MetricConstructor};

/// A metric of a family with labels that every request has. The first use looks the metric up: each look-up takes a lock of all threads, and
/// hashes the labels.
#[derive(Debug)]
pub(crate) struct KnownMetric<M>(OnceLock<M>);

impl<M> Default for KnownMetric<M> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<M: Clone> KnownMetric<M> {
    /// Returns the metric. All uses have one family and equal labels.
    pub(super) fn get<L, C>(&self, family: &Family<L, M, C>, labels: &L) -> &M
    where
        L: Clone + Hash + Eq,
        C: MetricConstructor<M>,
    {
        self.0.get_or_init(|| family.get_or_create_owned(labels))
    }
}
