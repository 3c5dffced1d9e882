//! [`Progress`]: progress of a long command, on a terminal to which no results are written.

use std::time::{Duration, Instant};

use crate::terminal::Terminal;

/// A line on a terminal that is rewritten at intervals.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: Terminal,
    length: Option<u64>,
    began: Instant,
    last_shown: Option<Instant>,
    steps: u32,
}

impl Progress {
    /// Creates the progress of an input of this length in bytes, if the length is known.
    pub(crate) fn new(terminal: Terminal, length: Option<u64>) -> Self {
        Self {
            terminal,
            length: length.filter(|length| *length > 0),
            began: Instant::now(),
            last_shown: None,
            steps: 0,
        }
    }

    /// Reports the number of read lines and bytes.
    pub(crate) fn step(&mut self, lines: usize, bytes: u64) {
        self.steps = self.steps.wrapping_add(1);
        // Reading the clock costs as much as checking a short line, so it is skipped before most inputs end.
        if !self.terminal.is_interactive
            || self.terminal.has_output
            || !self.steps.is_multiple_of(64)
            || self.began.elapsed() < INITIAL_DELAY
        {
            return;
        }
        if self
            .last_shown
            .is_none_or(|last_shown| last_shown.elapsed() >= INTERVAL)
        {
            self.last_shown = Some(Instant::now());
            self.terminal
                .print(&format!("\r{}\x1b[K", describe(lines, bytes, self.length)));
        }
    }

    /// Clears the line before other output.
    pub(crate) fn clear(&mut self) {
        if self.last_shown.take().is_some() {
            self.terminal.print("\r\x1b[K");
        }
    }
}

fn describe(lines: usize, bytes: u64, length: Option<u64>) -> String {
    match length {
        Some(length) => format!("{lines} lines, {} %", bytes.saturating_mul(100) / length),
        None => format!("{lines} lines, {} MB", bytes / 1_000_000),
    }
}

/// Time before the first message.
const INITIAL_DELAY: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_share_if_the_length_is_known() {
        assert_eq!(describe(7, 50, Some(200)), "7 lines, 25 %");
        assert_eq!(describe(7, 5_000_000, None), "7 lines, 5 MB");
    }
}
