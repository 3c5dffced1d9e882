//! Standard error of a server: for the log, never for a model.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum number of logged lines in a second.
const LINES_PER_SECOND: usize = 100;
/// Maximum number of bytes of a line; the rest of the line is dropped.
const LINE_BYTES: usize = 8 << 10;
/// Number of lines that the log of a failure has.
const KEPT_LINES: usize = 20;

/// Last lines of standard error, for the log of a failure.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastLines {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// Cancelled at the end of standard error.
    end: CancellationToken,
}

impl LastLines {
    fn push(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Waits until all lines are read.
    pub(crate) async fn complete(&self) {
        self.end.cancelled().await;
    }
}

impl fmt::Display for LastLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            f.write_str(line)?;
        }
        Ok(())
    }
}

/// Number of lines that were logged in the current second.
struct Rate {
    since: Instant,
    lines: usize,
    dropped: usize,
}

impl Rate {
    /// Counts a line, and returns whether it may be logged.
    fn admits(&mut self, server: &str) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            if self.dropped > 0 {
                tracing::debug!(
                    server,
                    lines = self.dropped,
                    "standard error of an MCP server has more lines"
                );
            }
            (self.since, self.lines, self.dropped) = (Instant::now(), 0, 0);
        }
        self.lines += 1;
        let is_admitted = self.lines <= LINES_PER_SECOND;
        self.dropped += usize::from(!is_admitted);
        is_admitted
    }
}

/// Logs the lines at level `debug`, until the pipe is closed.
pub(crate) async fn log(mut stderr: impl AsyncRead + Unpin, server: String, last: LastLines) {
    let mut rate = Rate {
        since: Instant::now(),
        lines: 0,
        dropped: 0,
    };
    let mut line = Vec::new();
    let mut buffer = vec![0; LINE_BYTES];
    while let Ok(count) = stderr.read(&mut buffer).await {
        let read = buffer.get(..count).unwrap_or_default();
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES - line.len();
            line.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if piece.ends_with(b"\n") || count == 0 {
                end_line(&mut line, &server, &last, &mut rate);
            }
        }
        if count == 0 {
            break;
        }
    }
    if !line.is_empty() {
        end_line(&mut line, &server, &last, &mut rate);
    }
    last.end.cancel();
}

fn end_line(line: &mut Vec<u8>, server: &str, last: &LastLines, rate: &mut Rate) {
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    line.clear();
    if rate.admits(server) {
        tracing::debug!(server, line = text, "standard error of an MCP server");
    }
    last.push(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_the_last_lines_and_cuts_long_ones() {
        let lines: Vec<_> = (0..30).map(|number| format!("line {number}\n")).collect();
        let mut text = lines.concat();
        text.push_str(&"x".repeat(3 * LINE_BYTES));
        text.push_str("\nlast");
        let last = LastLines::default();
        log(text.as_bytes(), "git".to_owned(), last.clone()).await;
        let shown = last.to_string();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines.len(), KEPT_LINES);
        assert_eq!(lines[0], "line 12");
        assert_eq!(lines[18].len(), LINE_BYTES);
        assert_eq!(lines[19], "last");
    }

    #[tokio::test(start_paused = true)]
    async fn logs_a_hundred_lines_a_second() {
        let mut rate = Rate {
            since: Instant::now(),
            lines: 0,
            dropped: 0,
        };
        let admitted = |rate: &mut Rate| (0..1000).filter(|_| rate.admits("git")).count();
        assert_eq!(admitted(&mut rate), LINES_PER_SECOND);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(admitted(&mut rate), LINES_PER_SECOND);
    }
}
