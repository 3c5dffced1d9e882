//! Headers of a server's response that the client receives: [`for_client`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that are sent to the client unchanged.
const KEPT: [HeaderName; 6] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("retry-after"),
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("x-should-retry"),
    HeaderName::from_static("traceparent"),
];

/// Beginning of the names of rate limits: `x-ratelimit-remaining-tokens`.
const RATE_LIMIT: &str = "x-ratelimit-";

/// Returns the headers for the client: retries, ids of the request, and the rate limits by the names of the Messages API.
pub(super) fn for_client(upstream: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in upstream {
        if KEPT.contains(name) {
            headers.append(name, value.clone());
        } else if let Some(rest) = name.as_str().strip_prefix(RATE_LIMIT)
            && let Some((name, value)) = rate_limit(rest, value)
        {
            headers.append(name, value);
        }
    }
    headers
}

/// Returns `anthropic-ratelimit-B-A` of `x-ratelimit-A-B`. Times of resets become dates.
fn rate_limit(rest: &str, value: &HeaderValue) -> Option<(HeaderName, HeaderValue)> {
    let (what, of) = rest.split_once('-')?;
    let name = HeaderName::try_from(format!("anthropic-ratelimit-{of}-{what}")).ok()?;
    if what != "reset" {
        return Some((name, value.clone()));
    }
    let wait = duration(value.to_str().ok()?)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let at = rfc_3339(now.checked_add(wait)?.as_secs());
    Some((name, HeaderValue::try_from(at).ok()?))
}

/// The longest time to a reset; larger numbers are dates.
const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Parses a time such as `1s`, `6m0s`, `1h2m3.5s`, `20ms`, or a number of seconds. A large number is a date in seconds.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<f64>() {
        let time = Duration::try_from_secs_f64(seconds).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        return Some(if time > YEAR {
            time.saturating_sub(now)
        } else {
            time
        });
    }
    let mut rest = text.trim();
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|character: char| character.is_ascii_digit());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = after;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Formats seconds since 1970 as RFC 3339 does.
pub(super) fn rfc_3339(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // Civil dates from days, https://howardhinnant.github.io/date_algorithms.html#civil_from_days; eras of 400 years begin in March.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc_3339(seconds), expected);
        }
    }

    #[test]
    fn times_of_resets_are_read_in_all_notations() {
        for (text, seconds) in [
            ("1s", Some(1.0)),
            ("6m0s", Some(360.0)),
            ("1h2m3.5s", Some(3723.5)),
            ("20ms", Some(0.02)),
            ("12", Some(12.0)),
            ("0.5", Some(0.5)),
            ("1x", None),
            ("s", None),
        ] {
            assert_eq!(duration(text).map(|time| time.as_secs_f64()), seconds, "{text}");
        }
    }

    #[test]
    fn rate_limits_have_the_names_of_the_messages_api() {
        let names = [
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("retry-after", "2"),
            ("retry-after-ms", "2000"),
            ("x-should-retry", "true"),
            ("x-request-id", "req_1"),
            ("set-cookie", "a=b"),
            ("openai-organization", "org"),
            ("server", "uvicorn"),
        ];
        let upstream = names.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers = for_client(&HeaderMap::from_iter(upstream));
        let mut sent: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        sent.sort_unstable();
        let expected = [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
            "retry-after",
            "retry-after-ms",
            "x-request-id",
            "x-should-retry",
        ];
        assert_eq!(sent, expected);
        let reset = headers["anthropic-ratelimit-tokens-reset"].to_str().unwrap();
        assert!(reset.ends_with('Z') && reset.len() == 20, "{reset}");
    }
}
