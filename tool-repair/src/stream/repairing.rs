//! The arguments of a call on their way through the repair: out of JSON strings, and into them again.

use super::super::repairer::{Finished, Repairer, Status};
use super::escapes::{self, LoneSurrogate};
use super::outcome::Outcome;
use super::piece::{Piece, encoded};
use super::shared::StreamState;

/// Arguments that are repaired.
#[derive(Debug)]
pub(super) struct Repairing {
    pub(super) repairer: Repairer,
    /// The first half of a surrogate pair, at the end of the last piece.
    pub(super) half: Option<u16>,
    /// How many bytes of the arguments came, and how many of them are held.
    pub(super) came: usize,
    pub(super) held: usize,
    /// The last byte that is no white space.
    pub(super) last: u8,
    /// How many had come when it was last asked whether they are complete.
    pub(super) asked: usize,
    /// What could have left, if all is held: it may have to follow a call that is not complete yet.
    pub(super) withheld: Option<String>,
}

impl Repairing {
    /// Takes the next piece. Returns what takes its place, unless that is the piece itself.
    pub(super) fn take(
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
        self.came += text.len();
        self.last = text.trim_ascii_end().bytes().next_back().unwrap_or(self.last);
        let held = self.held + text.len() - passed.len();
        state.held = state.held + held - self.held;
        self.held = held;
        let same = matches!(piece, Piece::Text(raw) if raw.is_empty() || !halves) && passed == text;
        Ok((!same).then(|| encoded(passed)))
    }

    /// Whether it may be asked (again) if the arguments are complete: only when twice as many have come, so that the work
    /// stays in proportion.
    pub(super) fn may_ask(&mut self) -> bool {
        let may = self.came >= 2 * self.asked;
        if may {
            self.asked = self.came;
        }
        may
    }

    /// Whether the arguments end like an object or a list.
    pub(super) fn closed(&self) -> bool {
        matches!(self.last, b'}' | b']') && self.half.is_none()
    }

    /// Whether the arguments are JSON, and a whole object or list.
    pub(super) fn whole(&self) -> bool {
        self.half.is_none() && !self.repairer.is_repairing() && self.repairer.closed()
    }

    /// What the arguments are, if they are a whole object or list, or end like one and can be followed to there.
    pub(super) fn complete(&mut self) -> Option<Outcome> {
        let is_repairing = self.repairer.is_repairing();
        let plausible = if is_repairing {
            self.closed() && self.may_ask()
        } else {
            self.whole()
        };
        if !plausible {
            return None;
        }
        let finished = self.ended(Repairer::finish);
        let complete = finished.status != Status::Truncated;
        complete.then(|| Outcome::of(finished, self.came, is_repairing, true))
    }

    /// The end of the arguments, as if this were it.
    pub(super) fn ended(&self, end: fn(Repairer) -> Finished) -> Finished {
        let mut finished = end(self.repairer.clone());
        finished
            .rest
            .insert_str(0, self.withheld.as_deref().unwrap_or_default());
        finished
    }

    /// The end of the arguments.
    pub(super) fn take_end(&mut self, end: fn(Repairer) -> Finished) -> Finished {
        let mut finished = end(std::mem::take(&mut self.repairer));
        finished
            .rest
            .insert_str(0, &self.withheld.take().unwrap_or_default());
        finished
    }

    /// All that is held, as it came.
    pub(super) fn as_it_was(&mut self) -> String {
        let mut rest = encoded(&self.take_end(Repairer::cut_off).rest);
        if let Some(half) = self.half.take() {
            let _ = std::fmt::Write::write_fmt(&mut rest, format_args!("\\u{half:04x}"));
        }
        rest
    }
}
