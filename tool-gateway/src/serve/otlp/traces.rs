//! [`Traces`]: sends the spans of `serve` to an OpenTelemetry collector.

use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::Uri;
use axum::middleware::{self, Next};
use axum::response::Response;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, Value};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tool_cli::Failure;
use tracing::field::Empty;
use tracing::{Instrument as _, Level};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::Registry;

use crate::serve::otlp::client::OtlpClient;
use crate::serve::otlp::collector::{Collector, set};

/// Exporter of spans to a collector.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    collector: Collector,
}

impl Traces {
    /// Creates the exporter; `None` if no variable names a collector. The error names the invalid variable.
    pub(crate) fn from_environment(runtime: &Handle) -> Result<Option<Self>, Failure> {
        let Some(collector) = Collector::from_environment() else {
            return Ok(None);
        };
        check(&collector)?;
        let protocol = protocol()?;
        let failed =
            |error: &dyn std::fmt::Display| Failure::Message(format!("{}: {error}", collector.variable));
        let client = OtlpClient::new(runtime.clone(), timeout()?).map_err(|error| failed(&error))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(protocol)
            .with_http_client(client)
            .build()
            .map_err(|error| failed(&error))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        Ok(Some(Self { provider, collector }))
    }

    /// Describes the collector for the start message.
    pub(crate) fn describe(traces: Option<&Self>) -> Option<String> {
        let Collector { variable, url } = &traces?.collector;
        Some(format!("to {url} ({variable})"))
    }

    /// Returns the layer that exports the spans of this project's crates. Events are not exported, since they may contain parts of
    /// messages.
    pub(crate) fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        let is_ours = filter_fn(|metadata| {
            metadata.is_span() && *metadata.level() <= Level::INFO && metadata.target().starts_with("tool_")
        });
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("tool-gateway"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(is_ours)
            .boxed()
    }

    /// Adds a span for each request, as a part of the client's trace.
    #[expect(clippy::unused_self, reason = "only an existing exporter traces requests")]
    pub(crate) fn traced(&self, router: Router) -> Router {
        router.layer(middleware::from_fn(traced))
    }

    /// Sends the remaining spans.
    pub(crate) async fn end(self) {
        let end = move || self.provider.shutdown_with_timeout(LAST);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(end).await {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

/// Maximum time for the export of the last spans.
const LAST: Duration = Duration::from_secs(5);

/// Runs a request in a span with the names of OpenTelemetry's HTTP conventions.
async fn traced(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!(
        "request",
        otel.name = %format_args!("{} {route}", request.method()).to_string().trim_end(),
        otel.kind = "server",
        http.request.method = %request.method(),
        http.route = route,
        http.response.status_code = Empty,
        otel.status_code = Empty,
    );
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(request.headers()));
    // The call fails only without the layer. There is no trace in this case.
    let _ = span.set_parent(parent);
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    response
}

/// Returns the resource of the spans: this program, unless the variables name another resource.
fn resource() -> Resource {
    let resource = Resource::builder().build();
    let name = resource.get(&Key::from_static_str("service.name"));
    let is_unknown = |name: Value| name.as_str().starts_with("unknown_service");
    if name.is_none_or(is_unknown) {
        return Resource::builder().with_service_name("tool-gateway").build();
    }
    resource
}

/// Checks that spans can be sent to the collector's URL.
fn check(Collector { variable, url }: &Collector) -> Result<(), Failure> {
    let parsed = url.parse::<Uri>().ok();
    let scheme = parsed.as_ref().and_then(Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "{variable}: expected a URL such as `http://127.0.0.1:4318`, found `{url}`"
    )))
}

fn protocol() -> Result<Protocol, Failure> {
    let variables = [
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ];
    let named = variables
        .into_iter()
        .find_map(|variable| Some((variable, set(variable)?)));
    match named.as_ref().map(|(_, name)| name.as_str()) {
        None | Some("http/protobuf") => Ok(Protocol::HttpBinary),
        Some("http/json") => Ok(Protocol::HttpJson),
        Some(other) => Err(Failure::Message(format!(
            "{}: expected `http/protobuf` or `http/json`, found `{other}`; collectors have OTLP over HTTP on port 4318",
            named.as_ref().map_or("", |(variable, _)| variable)
        ))),
    }
}

/// Returns the maximum time of an export.
fn timeout() -> Result<Duration, Failure> {
    let variables = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
    for variable in variables {
        if let Some(value) = set(variable) {
            return match value.parse() {
                Ok(milliseconds) => Ok(Duration::from_millis(milliseconds)),
                Err(_) => Err(Failure::Message(format!(
                    "{variable}: expected milliseconds, found `{value}`"
                ))),
            };
        }
    }
    Ok(Duration::from_secs(10))
}
