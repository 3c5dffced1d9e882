//! [`Collector`]: the receiver of spans, from the variables of OpenTelemetry's specification.

use std::env;

/// The collector that a variable names.
pub(super) struct Collector {
    pub(super) variable: &'static str,
    /// URL without user name and password, since the URL is printed.
    pub(super) url: String,
}

impl Collector {
    /// Returns the collector; `None` if no variable names one, or traces are switched off.
    pub(super) fn from_environment() -> Option<Self> {
        if set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value.eq_ignore_ascii_case("none"))
        {
            return None;
        }
        let variables = [
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ];
        variables.into_iter().find_map(|variable| {
            let url = without_credentials(&set(variable)?);
            Some(Self { variable, url })
        })
    }
}

fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// Returns the value of a variable; `None` if the value is empty.
pub(super) fn set(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}
