//! Progress of a long job, on a terminal that shows no results.

use std::time::{Duration, Instant};

use crate::terminal::Terminal;

/// One line on a terminal, written anew now and then.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: Terminal,
    length: Option<u64>,
    began: Instant,
    last_shown: Option<Instant>,
    steps: u32,
}

impl Progress {
    /// The job reads an input of that length.
    pub(crate) fn new(terminal: Terminal, length: Option<u64>) -> Self {
        Self {
            terminal,
            length: length.filter(|length| *length > 0),
            began: Instant::now(),
            last_shown: None,
            steps: 0,
        }
    }

    /// So much was read.
    pub(crate) fn step(&mut self, lines: usize, bytes: u64) {
        self.steps = self.steps.wrapping_add(1);
        // Most jobs are done before anybody asks, and asking the clock costs as much as a short line.
        if !self.terminal.watched
            || self.terminal.shared
            || !self.steps.is_multiple_of(64)
            || self.began.elapsed() < QUIET
        {
            return;
        }
        if self
            .last_shown
            .is_none_or(|last_shown| last_shown.elapsed() >= INTERVAL)
        {
            self.last_shown = Some(Instant::now());
            self.terminal
                .print(&format!("\r{}\x1b[K", in_words(lines, bytes, self.length)));
        }
    }

    /// Clears the line: something else is about to be said.
    pub(crate) fn clear(&mut self) {
        if self.last_shown.take().is_some() {
            self.terminal.print("\r\x1b[K");
        }
    }
}

fn in_words(lines: usize, bytes: u64, length: Option<u64>) -> String {
    match length {
        Some(length) => format!("{lines} lines, {} %", bytes.saturating_mul(100) / length),
        None => format!("{lines} lines, {} MB", bytes / 1_000_000),
    }
}

/// Time before the first message.
const QUIET: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_share_if_the_length_is_known() {
        assert_eq!(in_words(7, 50, Some(200)), "7 lines, 25 %");
        assert_eq!(in_words(7, 5_000_000, None), "7 lines, 5 MB");
    }
}
