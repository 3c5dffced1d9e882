//! Progress of a call: increasing numbers, at most ten a second.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tool_runtime::ProgressReport;

use crate::server::message::notification;

/// Maximum number of notifications in each second.
const RATE: usize = 10;

/// Progress that a client has asked for.
#[derive(Debug)]
pub(crate) struct ProgressNotifier {
    token: Value,
    last: Option<u64>,
    /// Times of the last notifications.
    sent: VecDeque<Instant>,
    /// Report that waits for its time.
    waiting: Option<ProgressReport>,
}

impl ProgressNotifier {
    pub(crate) fn new(token: Value) -> Self {
        Self {
            token,
            last: None,
            sent: VecDeque::with_capacity(RATE),
            waiting: None,
        }
    }

    /// Takes a report in place of the one that waits.
    pub(crate) fn push(&mut self, report: ProgressReport) {
        if self.last.is_none_or(|last| report.done > last) {
            self.waiting = Some(report);
        }
    }

    /// Returns the time of the next notification, or `None` if no report waits.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        self.waiting.as_ref()?;
        let oldest = (self.sent.len() == RATE).then(|| self.sent.front()).flatten();
        Some(oldest.map_or_else(Instant::now, |oldest| *oldest + Duration::from_secs(1)))
    }

    /// Returns the notification for the report that waits.
    pub(crate) fn take(&mut self) -> Option<Value> {
        let report = self.waiting.take()?;
        self.last = Some(report.done);
        if self.sent.len() == RATE {
            self.sent.pop_front();
        }
        self.sent.push_back(Instant::now());
        let mut params = Map::new();
        params.insert("progressToken".to_owned(), self.token.clone());
        params.insert("progress".to_owned(), report.done.into());
        if let Some(total) = report.total {
            params.insert("total".to_owned(), total.into());
        }
        if !report.message.is_empty() {
            params.insert("message".to_owned(), report.message.into());
        }
        Some(notification("notifications/progress", params))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(done: u64) -> ProgressReport {
        let (sender, latest) = tokio::sync::watch::channel(ProgressReport::default());
        let context = tool_runtime::Context::new().with_progress(sender);
        context.progress().report(done, 100, "");
        latest.borrow().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn sends_at_most_ten_notifications_in_a_second() {
        let mut notifier = ProgressNotifier::new("token".into());
        let (begin, mut times) = (Instant::now(), Vec::new());
        for done in 0..40 {
            notifier.push(report(done));
            if let Some(time) = notifier.next_time()
                && time <= Instant::now()
            {
                let sent = notifier.take().unwrap();
                assert_eq!(
                    sent["params"],
                    json!({ "progressToken": "token", "progress": done, "total": 100 })
                );
                times.push(begin.elapsed().as_millis());
            }
            tokio::time::advance(Duration::from_millis(50)).await;
        }
        assert_eq!(times.len(), 20, "{times:?}");
        for window in times.windows(RATE + 1) {
            assert!(window[RATE] - window[0] >= 1000, "{times:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reports_that_do_not_increase_are_left_out() {
        let mut notifier = ProgressNotifier::new(1.into());
        let mut sent = |done| {
            notifier.push(report(done));
            notifier.take().map(|sent| sent["params"]["progress"].clone())
        };
        assert_eq!(sent(0), Some(0.into()));
        assert_eq!(sent(0), None);
        assert_eq!(sent(5), Some(5.into()));
        assert_eq!((sent(4), sent(5)), (None, None));
        assert_eq!(sent(6), Some(6.into()));
    }
}
