//! [`MetricsSettings`]: a listener for the metrics, without client keys.

use std::net::SocketAddr;

use serde::Deserialize;

use super::listen;
use super::mistakes::Mistakes;

/// The section `metrics`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MetricsSettings {
    /// Address of the listener; none by default.
    #[serde(deserialize_with = "listen::some_address")]
    pub(crate) listen: Option<SocketAddr>,
    /// Whether the listener may be reached from other machines.
    pub(crate) any_host: bool,
}

impl MetricsSettings {
    pub(crate) fn check(&self, mistakes: &mut Mistakes) {
        if let Some(listen) = self
            .listen
            .filter(|listen| !listen.ip().is_loopback() && !self.any_host)
        {
            mistakes.add(
                &["metrics", "listen"],
                format_args!(
                    "{listen} can be reached from other machines without a key; listen on 127.0.0.1, or set `any_host = true`"
                ),
            );
        }
    }
}
