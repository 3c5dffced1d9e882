//! Counts the gateways that a request has passed, so that a loop of gateways ends with an error.

use axum::http::{HeaderMap, HeaderName, StatusCode};

use crate::wire::error::ApiError;

/// Header with the number of gateways that a request has passed.
pub(crate) const HOP: HeaderName = HeaderName::from_static("x-tool-gateway-hop");

/// Maximum number of gateways in a row; a higher number is a loop.
const MAX_HOPS: u32 = 4;

/// Returns the number of gateways that a request has passed.
pub(crate) fn hops(headers: &HeaderMap) -> u32 {
    let hops = headers.get_all(HOP).iter().map(|hops| {
        let hops = hops.to_str().ok().and_then(|hops| hops.parse().ok());
        hops.unwrap_or(MAX_HOPS)
    });
    hops.max().unwrap_or(0)
}

/// Rejects a request that has passed too many gateways.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    if hops(headers) < MAX_HOPS {
        return Ok(());
    }
    let message = "this request has passed several gateways; the upstream of one of them is a gateway before it: set its --upstream";
    Err(ApiError::new(StatusCode::LOOP_DETECTED, message))
}
