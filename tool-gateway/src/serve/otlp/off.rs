//! [`Traces`] of a program that was built without the feature `otlp`.

use std::future::Ready;

use axum::Router;
use tokio::runtime::Handle;
use tool_cli::Failure;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::Registry;

use crate::serve::otlp::collector::Collector;

/// Uninhabited type, since this build has no exporter.
pub(crate) enum Traces {}

impl Traces {
    #[expect(clippy::unnecessary_wraps, reason = "as with the feature `otlp`")]
    pub(crate) fn from_environment(_: &Handle) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    /// Describes the collector for the start message.
    pub(crate) fn describe(traces: Option<&Self>) -> Option<String> {
        if let Some(traces) = traces {
            match *traces {}
        }
        let Collector { variable, url } = Collector::from_environment()?;
        Some(format!(
            "not sent to {url} ({variable}): this program was built without its feature `otlp`"
        ))
    }

    pub(crate) fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        match *self {}
    }

    pub(crate) fn traced(&self, _: Router) -> Router {
        match *self {}
    }

    pub(crate) fn end(self) -> Ready<()> {
        match self {}
    }
}
