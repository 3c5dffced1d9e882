//! Arguments of a call during repair: decoded from JSON strings, and encoded as such again.

use super::outcome::Outcome;
use super::piece::{Piece, encoded};
use super::state::StreamState;
use crate::repairer::{Finished, Repairer, Status};
use crate::stream::json::escapes::{self, LoneSurrogate};

/// Arguments during repair.
#[derive(Debug)]
pub(crate) struct Repairing {
    pub(crate) repairer: Repairer,
    /// High surrogate at the end of the last piece.
    pub(crate) half: Option<u16>,
    /// Number of received bytes of the arguments.
    pub(crate) received: usize,
    /// Number of held bytes of the arguments.
    pub(crate) held: usize,
    /// Last byte that is not white space.
    pub(crate) last: u8,
    /// Number of received bytes at the last check whether the arguments are complete.
    pub(crate) checked_at: usize,
    /// Bytes that the repairer has released, if all bytes of the call are held because an earlier call is incomplete.
    pub(crate) withheld: Option<String>,
}

impl Repairing {
    /// Appends a piece. Returns the piece's replacement, unless the piece is unchanged.
    pub(crate) fn push(
        &mut self,
        piece: Piece<'_>,
        state: &mut StreamState,
    ) -> Result<Option<String>, LoneSurrogate> {
        let mut half = self.half;
        let text = &mut state.scratch;
        text.clear();
        match piece {
            Piece::Text(raw) => escapes::decode(raw, &mut half, text)?,
            Piece::Object(_) if half.is_some() => return Err(LoneSurrogate),
            Piece::Object(raw) => text.push_str(raw),
        }
        let halves = half.is_some() || self.half.is_some();
        self.half = half;
        let mut passed = self.repairer.push(text);
        if let Some(withheld) = &mut self.withheld {
            withheld.push_str(std::mem::take(&mut passed));
        }
        self.received += text.len();
        self.last = text.trim_ascii_end().bytes().next_back().unwrap_or(self.last);
        let held = self.held + text.len() - passed.len();
        state.held = state.held + held - self.held;
        self.held = held;
        let same = matches!(piece, Piece::Text(raw) if raw.is_empty() || !halves) && passed == text;
        Ok((!same).then(|| encoded(passed)))
    }

    /// Returns whether the completeness may be checked again: only after the number of received bytes has doubled, so
    /// that the total work is linear.
    pub(crate) fn may_check(&mut self) -> bool {
        let may = self.received >= 2 * self.checked_at;
        if may {
            self.checked_at = self.received;
        }
        may
    }

    /// Returns whether the arguments end like an object or a list.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.last, b'}' | b']') && self.half.is_none()
    }

    /// Returns whether the arguments are JSON, and a complete object or list.
    pub(crate) fn is_whole(&self) -> bool {
        self.half.is_none() && !self.repairer.is_repairing() && self.repairer.closed()
    }

    /// Returns the outcome of the arguments, if they are a complete object or list, or end like one and can be repaired.
    pub(crate) fn complete(&mut self) -> Option<Outcome> {
        let is_repairing = self.repairer.is_repairing();
        let plausible = if is_repairing {
            self.is_closed() && self.may_check()
        } else {
            self.is_whole()
        };
        if !plausible {
            return None;
        }
        let finished = self.preview_end(Repairer::finish);
        let complete = finished.status != Status::Truncated;
        complete.then(|| Outcome::new(finished, self.received, is_repairing, true))
    }

    /// Returns the end of the arguments as if no more pieces followed.
    pub(crate) fn preview_end(&self, end: fn(Repairer) -> Finished) -> Finished {
        let mut finished = end(self.repairer.clone());
        finished
            .rest
            .insert_str(0, self.withheld.as_deref().unwrap_or_default());
        finished
    }

    /// Ends the arguments.
    pub(crate) fn take_end(&mut self, end: fn(Repairer) -> Finished) -> Finished {
        let mut finished = end(std::mem::take(&mut self.repairer));
        finished
            .rest
            .insert_str(0, &self.withheld.take().unwrap_or_default());
        finished
    }

    /// Releases all held bytes unchanged.
    pub(crate) fn take_unchanged(&mut self) -> String {
        let mut rest = encoded(&self.take_end(Repairer::cut_off).rest);
        if let Some(half) = self.half.take() {
            let _ = std::fmt::Write::write_fmt(&mut rest, format_args!("\\u{half:04x}"));
        }
        rest
    }
}
