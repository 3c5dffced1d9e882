//! One call of a stream: whether it is repaired, how far its arguments may leave, and what they turned out to be.

use std::borrow::Cow;

use super::super::fixes::{Fixes, Reason};
use super::super::repairer::{Finished, Repairer, Status};
use super::desk::{Desk, Ledger};
use super::escapes::{self, LoneSurrogate};
use super::piece::{Piece, encoded};
use super::record::RepairRecord;

/// One call, whatever the dialect.
///
/// Whether it is repaired is decided when the first of its arguments arrive: by the name that is known then. A call
/// whose name comes later passes untouched, unless every tool is repaired.
#[derive(Debug)]
pub(super) struct Call {
    /// Tells this call from all others of the stream.
    pub(super) serial: u64,
    pub(super) id: Option<String>,
    pub(super) tool: String,
    flow: Flow,
    was_object: bool,
    /// The event that carried the last piece, kept while something is held.
    pub(super) last: Vec<u8>,
}

#[derive(Debug)]
enum Flow {
    /// No arguments yet.
    Undecided,
    /// Not a tool whose arguments are repaired.
    Foreign,
    Repairing(Box<Repairing>),
    /// Complete as far as anyone can tell, and all of it left.
    Settled(Box<Outcome>),
    /// Passes as it comes from here on.
    GivenUp {
        reason: Reason,
        not_json: bool,
    },
    Ended,
}

#[derive(Debug)]
struct Repairing {
    repairer: Repairer,
    /// The first half of a surrogate pair, at the end of the last piece.
    half: Option<u16>,
    /// How many bytes of the arguments came, and how many of them are held.
    came: usize,
    held: usize,
    /// Whether they were complete was asked before.
    asked: bool,
}

/// Where a call stands in its stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    pub(super) choice: Option<u64>,
    pub(super) index: Option<u64>,
}

/// What a call's arguments turned out to be.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What has not left yet, as it stands between the quotes of a JSON string.
    pub(super) rest: String,
    pub(super) status: Status,
    fixes: Fixes,
    reason: Option<Reason>,
    /// What leaves is no JSON, and it is not only that its end is missing.
    not_json: bool,
    /// How long the arguments were.
    came: usize,
}

impl Call {
    pub(super) fn new(ledger: &mut Ledger, id: Option<String>, tool: String) -> Self {
        Self {
            serial: ledger.serial(),
            id,
            tool,
            flow: Flow::Undecided,
            was_object: false,
            last: Vec::new(),
        }
    }

    /// Learns the name, or a further part of it as long as there are no arguments.
    pub(super) fn name(&mut self, name: &str) {
        let grows = self.tool.is_empty() || (!self.begun() && self.tool != name);
        if grows && self.tool.len() < LONGEST_NAME {
            self.tool.push_str(name);
        }
    }

    /// Whether any arguments came.
    pub(super) fn begun(&self) -> bool {
        !matches!(self.flow, Flow::Undecided)
    }

    /// Whether the arguments stopped being JSON, so that they are repaired at the end.
    pub(super) fn deviated(&self) -> bool {
        matches!(&self.flow, Flow::Repairing(repairing) if repairing.repairer.deviated())
    }

    /// Whether anything waits for the end of the call.
    pub(super) fn holds(&self) -> bool {
        matches!(&self.flow, Flow::Repairing(repairing) if repairing.held > 0 || repairing.half.is_some())
    }

    /// Keeps the event that carried the last piece, while something is held that may have to leave like it.
    pub(super) fn keep_event(&mut self, raw: &[u8], ledger: &mut Ledger) {
        ledger.held -= self.last.len();
        self.last.clear();
        if self.holds() {
            self.last.extend_from_slice(raw);
        }
        ledger.held += self.last.len();
    }

    /// Takes the next piece of the arguments. Returns what takes its place between the quotes, unless that is the
    /// piece itself.
    pub(super) fn push(&mut self, piece: Piece<'_>, desk: &mut Desk<'_>) -> Option<String> {
        if matches!(self.flow, Flow::Undecided) && piece != Piece::Text("") {
            self.decide(desk.ledger);
        }
        if let Flow::Settled(outcome) = &mut self.flow {
            outcome.go_on(piece);
        }
        let Flow::Repairing(repairing) = &mut self.flow else {
            return None;
        };
        self.was_object |= matches!(piece, Piece::Object(_));
        let Ok(mut contents) = repairing.take(piece, desk.ledger) else {
            return self.give_up_at_surrogate(piece, desk.ledger);
        };
        if desk.ledger.held > desk.ledger.limits.held {
            let reason = format!("more than {} bytes are held in all", desk.ledger.limits.held);
            let rest = self.give_up(reason, desk.ledger);
            if !rest.is_empty() {
                contents.get_or_insert_with(|| piece.contents()).push_str(&rest);
            }
        }
        contents
    }

    /// Lets go of what is held if the arguments, as far as they came, end like a whole object or list. Returns what has
    /// not left yet. Asked of a call once, so that the work stays in proportion.
    pub(super) fn settle(&mut self, ledger: &mut Ledger) -> Option<String> {
        let Flow::Repairing(repairing) = &mut self.flow else {
            return None;
        };
        if repairing.held == 0 || repairing.half.is_some() || std::mem::replace(&mut repairing.asked, true) {
            return None;
        }
        let deviated = repairing.repairer.deviated();
        let finished = repairing.repairer.clone().finish();
        let closed = finished.rest.trim_ascii_end().ends_with(['}', ']']);
        let mut outcome = Outcome::of(finished, repairing.came, deviated);
        let becomes_error = outcome.not_json && !ledger.fixing.fallback_on_error;
        if !closed || outcome.status == Status::Truncated || becomes_error {
            return None;
        }
        ledger.held -= repairing.held;
        let rest = std::mem::take(&mut outcome.rest);
        self.flow = Flow::Settled(Box::new(outcome));
        Some(rest)
    }

    /// Stops looking at the arguments: from here on they pass as they come. Returns what was held.
    pub(super) fn give_up(&mut self, reason: impl Into<Cow<'static, str>>, ledger: &mut Ledger) -> String {
        let Flow::Repairing(repairing) = &mut self.flow else {
            return String::new();
        };
        let reason = Reason::new(repairing.came, reason);
        let not_json = repairing.repairer.deviated();
        ledger.held -= repairing.held;
        let rest = repairing.as_it_was();
        self.flow = Flow::GivenUp { reason, not_json };
        rest
    }

    /// Ends the arguments: they are complete, or they were cut off. Calls that are not repaired have no outcome.
    pub(super) fn end(&mut self, cut: bool, ledger: &mut Ledger) -> Option<Outcome> {
        if !matches!(self.flow, Flow::Ended) {
            ledger.held -= self.last.len();
        }
        match std::mem::replace(&mut self.flow, Flow::Ended) {
            Flow::Undecided | Flow::Ended => None,
            Flow::Foreign if ledger.fixing.target_tools.contains(&self.tool) => {
                let message = "the name of the tool came behind its first arguments";
                Some(Outcome::refused(String::new(), Reason::new(0, message), false))
            }
            Flow::Foreign => {
                ledger.pass_by(&self.tool);
                None
            }
            Flow::GivenUp { reason, not_json } => Some(Outcome::refused(String::new(), reason, not_json)),
            Flow::Settled(outcome) => Some(*outcome),
            Flow::Repairing(mut repairing) => {
                ledger.held -= repairing.held;
                let not_json = repairing.repairer.deviated();
                if repairing.half.is_some() {
                    let reason = Reason::new(repairing.came, LONE_SURROGATE);
                    return Some(Outcome::refused(repairing.as_it_was(), reason, not_json));
                }
                let finished = if cut {
                    repairing.repairer.cut_off()
                } else {
                    repairing.repairer.finish()
                };
                Some(Outcome::of(finished, repairing.came, not_json))
            }
        }
    }

    /// Writes down what the arguments turned out to be, if they were not simply JSON. Returns what to say instead of
    /// them when they may not be sent as they came.
    pub(super) fn record(&self, outcome: Outcome, position: Position, ledger: &mut Ledger) -> Option<String> {
        let message = (outcome.not_json && !ledger.fixing.fallback_on_error)
            .then(|| self.complaint(outcome.reason.as_ref()));
        if outcome.status != Status::Valid || self.was_object {
            let validated = outcome.status == Status::Valid
                || (outcome.status == Status::Repaired && ledger.fixing.strict_validation);
            ledger.record(RepairRecord {
                tool: self.tool.clone(),
                call: self.id.clone(),
                choice: position.choice,
                index: position.index,
                status: outcome.status,
                fixes: outcome.fixes,
                reason: outcome.reason,
                validated,
                was_object: self.was_object,
            });
        }
        message
    }

    fn complaint(&self, reason: Option<&Reason>) -> String {
        let call = self
            .id
            .as_deref()
            .map(|id| format!(" (call {id})"))
            .unwrap_or_default();
        let why = reason
            .map(|reason| format!(": {} at byte {}", reason.message, reason.offset))
            .unwrap_or_default();
        format!(
            "the arguments of the tool `{}`{call} are not JSON and could not be repaired{why}",
            self.tool
        )
    }

    fn decide(&mut self, ledger: &mut Ledger) {
        if !ledger.fixing.target_tools.contains(&self.tool) {
            self.flow = Flow::Foreign;
            return;
        }
        let repairer = Repairer::with(ledger.limits.arguments).validate(ledger.fixing.strict_validation);
        self.flow = Flow::Repairing(Box::new(Repairing {
            repairer,
            half: None,
            came: 0,
            held: 0,
            asked: false,
        }));
    }

    /// Half a surrogate pair stands alone: what was held leaves in front of the piece, which stays as it is.
    fn give_up_at_surrogate(&mut self, piece: Piece<'_>, ledger: &mut Ledger) -> Option<String> {
        let mut contents = self.give_up(LONE_SURROGATE, ledger);
        if contents.is_empty() && matches!(piece, Piece::Text(_)) {
            return None;
        }
        contents.push_str(&piece.contents());
        Some(contents)
    }
}

impl Repairing {
    /// Takes the next piece. Returns what takes its place, unless that is the piece itself.
    fn take(&mut self, piece: Piece<'_>, ledger: &mut Ledger) -> Result<Option<String>, LoneSurrogate> {
        let mut half = self.half;
        let text = &mut ledger.scratch;
        text.clear();
        match piece {
            Piece::Text(raw) => escapes::decode(raw, &mut half, text)?,
            Piece::Object(_) if half.is_some() => return Err(LoneSurrogate),
            Piece::Object(raw) => text.push_str(raw),
        }
        let halves = half.is_some() || self.half.is_some();
        self.half = half;
        let passed = self.repairer.push(text);
        self.came += text.len();
        let held = self.held + text.len() - passed.len();
        ledger.held = ledger.held + held - self.held;
        self.held = held;
        let same = matches!(piece, Piece::Text(raw) if raw.is_empty() || !halves) && passed == text;
        Ok((!same).then(|| encoded(passed)))
    }

    /// All that is held, as it came.
    fn as_it_was(&mut self) -> String {
        let mut rest = encoded(&std::mem::take(&mut self.repairer).cut_off().rest);
        if let Some(half) = self.half.take() {
            let _ = std::fmt::Write::write_fmt(&mut rest, format_args!("\\u{half:04x}"));
        }
        rest
    }
}

impl Outcome {
    fn of(finished: Finished, came: usize, not_json: bool) -> Self {
        Self {
            came,
            rest: encoded(&finished.rest),
            not_json: not_json && finished.status != Status::Repaired,
            status: finished.status,
            fixes: finished.fixes,
            reason: finished.reason,
        }
    }

    /// More came for arguments that were complete: unless it is nothing but white space, they are no JSON any more.
    fn go_on(&mut self, piece: Piece<'_>) {
        let (mut half, mut text) = (None, String::new());
        let blank = matches!(piece, Piece::Text(raw) if escapes::decode(raw, &mut half, &mut text).is_ok());
        let more = !blank || half.is_some() || !text.trim_ascii().is_empty();
        if more && self.status != Status::Refused {
            *self = Self::refused(String::new(), Reason::new(self.came, BEHIND_THE_WHOLE), true);
        }
    }

    fn refused(rest: String, reason: Reason, not_json: bool) -> Self {
        Self {
            rest,
            status: Status::Refused,
            fixes: Fixes::default(),
            came: reason.offset,
            reason: Some(reason),
            not_json,
        }
    }

    /// The stream said afterwards that the arguments were cut off. Only what was JSON until then has left already,
    /// so that nothing of it has to be taken back.
    pub(super) fn cut_off(self) -> Self {
        let reason = || Reason::new(self.came, "the text was cut off here");
        Self {
            status: Status::Truncated,
            reason: Some(self.reason.unwrap_or_else(reason)),
            ..self
        }
    }
}

const BEHIND_THE_WHOLE: &str = "more came when the arguments were complete and another call had begun";
const LONE_SURROGATE: &str = "half a surrogate pair stands alone in the string that carries the arguments";
/// No tool has a longer one (the APIs allow 64 bytes or 128); a stream may send pieces of one without end.
const LONGEST_NAME: usize = 4096;
