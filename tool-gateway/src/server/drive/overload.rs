//! [`OverloadWaits`]: delays before retries in the middle of a turn, after a response with status 429 (rate limit) or 529 (overloaded).

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};

/// Maximum number of requests of one round.
const MAX_TRIES: u32 = 3;

/// Maximum total time of the waits of one round.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The waits of a round. Clients retry failed requests themselves until their stream has begun. After that, the gateway retries.
#[derive(Debug)]
pub(super) struct OverloadWaits {
    tries: u32,
    left: Duration,
}

impl OverloadWaits {
    pub(super) fn new() -> Self {
        Self {
            tries: 1,
            left: MAX_WAIT,
        }
    }

    /// Returns the time to wait before the next request; `None` if the error response is final.
    pub(super) fn after(&mut self, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
        let is_final = header(headers, "x-should-retry") == Some("false");
        if is_final || !matches!(status.as_u16(), 429 | 529) || self.tries >= MAX_TRIES {
            return None;
        }
        let wait = retry_after(headers).unwrap_or(Duration::from_secs(self.tries.into()));
        self.left = self.left.checked_sub(wait)?;
        self.tries += 1;
        Some(wait)
    }
}

/// Returns the time that the upstream asks for. HTTP dates are ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| header(headers, name)?.trim().parse::<f64>().ok();
    let milliseconds = number("retry-after-ms").map(|time| time / 1000.0);
    Duration::try_from_secs_f64(milliseconds.or_else(|| number("retry-after"))?).ok()
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(status: u16, header: (&'static str, &'static str)) -> Vec<f64> {
        let headers = HeaderMap::from_iter([(header.0.parse().unwrap(), header.1.parse().unwrap())]);
        let status = StatusCode::from_u16(status).unwrap();
        let mut waits = OverloadWaits::new();
        std::iter::from_fn(|| waits.after(status, &headers))
            .map(|wait| wait.as_secs_f64())
            .collect()
    }

    #[test]
    fn waits_for_the_time_of_the_upstream_or_for_1_and_2_seconds() {
        let none = ("x-other", "1");
        for (status, header, expected) in [
            (429, none, &[1.0, 2.0][..]),
            (529, none, &[1.0, 2.0]),
            (529, ("retry-after", "0.5"), &[0.5, 0.5]),
            (529, ("retry-after-ms", "250"), &[0.25, 0.25]),
            (429, ("retry-after", "20"), &[20.0]),
            (429, ("retry-after", "31"), &[]),
            (429, ("retry-after", "-1"), &[1.0, 2.0]),
            (429, ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), &[1.0, 2.0]),
            (429, ("x-should-retry", "false"), &[]),
            (503, none, &[]),
            (400, none, &[]),
        ] {
            assert_eq!(waits(status, header), expected, "{status} {header:?}");
        }
    }
}
