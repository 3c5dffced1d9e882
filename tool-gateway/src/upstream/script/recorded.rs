//! What a script received.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, Method, header};
use bytes::Bytes;

/// A request that a script received.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Recorded {
    /// Its method.
    pub method: Method,
    /// Its path, with the query: `/v1/messages?beta=true`.
    pub path: String,
    /// Its headers. Keys are marked as sensitive, so that `Debug` does not show them.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Bytes,
    /// The expectation of the script that it failed.
    pub failure: Option<String>,
}

impl Recorded {
    /// The body as JSON.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::from_slice(&self.body)
    }
}

/// The latest requests: so many, and with so many bytes of bodies together; the very last one always.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    latest: VecDeque<Recorded>,
    body_bytes: usize,
}

impl Recorder {
    const MAX_REQUESTS: usize = 10_000;
    const MAX_BODY_BYTES: usize = 32 << 20;

    pub(super) fn push(&self, mut request: Recorded) {
        for name in [
            header::AUTHORIZATION.as_str(),
            "x-api-key",
            "cookie",
            "proxy-authorization",
        ] {
            if let header::Entry::Occupied(mut values) = request.headers.entry(name) {
                values.iter_mut().for_each(|value| value.set_sensitive(true));
            }
        }
        let mut requests = self.lock();
        requests.body_bytes += request.body.len();
        requests.latest.push_back(request);
        while requests.latest.len() > Self::MAX_REQUESTS
            || (requests.body_bytes > Self::MAX_BODY_BYTES && requests.latest.len() > 1)
        {
            let dropped = requests.latest.pop_front();
            requests.body_bytes -= dropped.map_or(0, |dropped| dropped.body.len());
        }
    }

    pub(super) fn all(&self) -> Vec<Recorded> {
        self.lock().latest.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        // A thread that panicked with the lock left whole requests.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: Bytes) -> Recorded {
        let mut headers = HeaderMap::new();
        headers.append("x-api-key", "secret-1".parse().unwrap());
        headers.append("x-api-key", "secret-2".parse().unwrap());
        headers.append("authorization", "Bearer secret-3".parse().unwrap());
        Recorded {
            method: Method::POST,
            path: "/v1/messages".to_owned(),
            headers,
            body,
            failure: None,
        }
    }

    #[test]
    fn debug_shows_no_keys() {
        let recorder = Recorder::default();
        recorder.push(request(Bytes::new()));
        let debug = format!("{recorder:?} {:?}", recorder.all());
        assert!(!debug.contains("secret"), "{debug}");
    }

    #[test]
    fn is_bounded_by_requests_and_by_bytes() {
        let recorder = Recorder::default();
        for index in 0..Recorder::MAX_REQUESTS + 5 {
            recorder.push(request(Bytes::from(index.to_string())));
        }
        let all = recorder.all();
        assert_eq!((all.len(), &all[0].body[..]), (Recorder::MAX_REQUESTS, &b"5"[..]));
        let large = Bytes::from(vec![b' '; Recorder::MAX_BODY_BYTES / 2]);
        for _ in 0..3 {
            recorder.push(request(large.clone()));
        }
        assert_eq!(recorder.all().len(), 2);
        recorder.push(request(Bytes::from(vec![b' '; Recorder::MAX_BODY_BYTES + 1])));
        assert_eq!(recorder.all().len(), 1);
    }
}
