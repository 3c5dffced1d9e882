//! A call of a stream: the decision to repair it, the arguments that can be sent, and their outcome.

pub(crate) mod record;
pub(crate) mod state;
pub(crate) mod piece;
pub(crate) mod outcome;
pub(crate) mod step;
pub(crate) mod stop_reason;
mod repairing;

use std::borrow::Cow;

use self::outcome::{Ending, MAY_CONTINUE_PREVIOUS_CALL, NEXT_CALL_BEGAN, Outcome};
use self::piece::Piece;
use self::record::RepairRecord;
use self::repairing::Repairing;
use self::state::StreamState;
use self::step::{EndedCall, EventContext, Step};
use crate::fixes::Reason;
use crate::repairer::{Repairer, Status};

/// A call of any dialect.
///
/// The name that is known at the first arguments decides whether the call is repaired. A call that is named later
/// passes unchanged, unless every tool is repaired.
#[derive(Debug)]
pub(crate) struct Call {
    /// Unique number of the call in its stream.
    pub(crate) serial: u64,
    pub(crate) id: Option<String>,
    pub(crate) tool: String,
    flow: Flow,
    was_object: bool,
    /// Size of the event with the last piece, which is kept while arguments are held.
    carrier: usize,
}

#[derive(Debug)]
enum Flow {
    /// No arguments were received.
    Undecided,
    /// The arguments of the tool are not repaired.
    Foreign,
    Repairing(Box<Repairing>),
    /// The call is probably complete, and all its arguments were sent.
    Finalized(Box<Outcome>),
    /// The arguments pass unchanged from here on.
    BailedOut {
        reason: Reason,
        not_json: bool,
    },
    Ended,
}

/// Outcome of a call when another call begins that may continue it.
#[derive(Debug)]
pub(crate) enum Conclusion {
    /// The call is complete; these arguments were not sent yet.
    Complete(String),
    /// The call is incomplete, and later pieces pass; these arguments were held.
    Incomplete(String),
    /// The outcome is known when the call ends.
    Pending,
}

/// Position of a call in its stream.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    pub(crate) choice: Option<u64>,
    pub(crate) index: Option<u64>,
}

impl Call {
    pub(crate) fn new(state: &mut StreamState, id: Option<String>, tool: String) -> Self {
        Self {
            serial: state.serial(),
            id,
            tool,
            flow: Flow::Undecided,
            was_object: false,
            carrier: 0,
        }
    }

    /// Sets the name, or appends a part of it before the first arguments.
    pub(crate) fn name(&mut self, name: &str) {
        let grows = self.tool.is_empty() || (!self.begun() && self.tool != name);
        if grows && self.tool.len() < MAX_NAME_LENGTH {
            self.tool.push_str(name);
        }
    }

    /// Returns whether any arguments were received.
    pub(crate) fn begun(&self) -> bool {
        !matches!(self.flow, Flow::Undecided)
    }

    /// Returns whether the arguments stopped being JSON, so that a repair is tried at the end of the call.
    pub(crate) fn is_repairing(&self) -> bool {
        matches!(&self.flow, Flow::Repairing(repairing) if repairing.repairer.is_repairing())
    }

    /// Returns whether the received arguments are a complete object or list: valid JSON, or arguments that were sent as
    /// complete.
    pub(crate) fn is_whole(&self) -> bool {
        match &self.flow {
            Flow::Repairing(repairing) => repairing.is_whole(),
            Flow::Finalized(outcome) => outcome.closed,
            Flow::Undecided | Flow::Foreign | Flow::BailedOut { .. } | Flow::Ended => false,
        }
    }

    /// Returns whether bytes are held until the end of the call.
    pub(crate) fn holds(&self) -> bool {
        matches!(&self.flow, Flow::Repairing(repairing) if repairing.held > 0 || repairing.half.is_some())
    }

    /// Keeps the event with the last piece while bytes are held: an additional event with these bytes is modelled on it.
    pub(crate) fn keep_carrier(&mut self, context: &mut EventContext<'_>) {
        let holds = self.holds();
        if holds || self.carrier > 0 {
            let call = self.serial;
            context.steps.push(Step::Carrier { call, holds });
        }
        context.state.held -= self.carrier;
        self.carrier = if holds { context.size } else { 0 };
        context.state.held += self.carrier;
    }

    /// Drops the event with the last piece, since no more bytes are held.
    pub(crate) fn drop_carrier(&mut self, context: &mut EventContext<'_>) {
        let call = self.serial;
        context.steps.push(Step::Carrier { call, holds: false });
        self.carrier = 0;
    }

    /// Appends a piece of the arguments. Returns the contents of the string that replaces the piece, unless the piece
    /// is unchanged.
    pub(crate) fn push(&mut self, piece: Piece<'_>, state: &mut StreamState) -> Option<String> {
        if matches!(self.flow, Flow::Undecided) && piece != Piece::Text("") {
            self.decide(state);
        }
        if let Flow::Finalized(outcome) = &mut self.flow {
            outcome.push_after_end(piece);
        }
        let Flow::Repairing(repairing) = &mut self.flow else {
            return None;
        };
        self.was_object |= matches!(piece, Piece::Object(_));
        let Ok(mut contents) = repairing.push(piece, state) else {
            return self.bail_out_at_surrogate(piece, state);
        };
        if state.held > state.limits.held {
            let reason = format!("more than {} bytes are held in all", state.limits.held);
            let rest = self.bail_out(reason, state);
            if !rest.is_empty() {
                contents.get_or_insert_with(|| piece.contents()).push_str(&rest);
            }
        }
        contents
    }

    /// Releases the held arguments if they end like a complete object or list, and returns the part that was not sent
    /// yet.
    pub(crate) fn finalize_if_closed(&mut self, state: &mut StreamState) -> Option<String> {
        let Flow::Repairing(repairing) = &mut self.flow else {
            return None;
        };
        if repairing.held == 0 || !repairing.is_closed() || !repairing.may_check() {
            return None;
        }
        let is_repairing = repairing.repairer.is_repairing();
        let finished = repairing.preview_end(Repairer::finish);
        let closed = finished.rest.trim_ascii_end().ends_with(['}', ']']);
        let mut outcome = Outcome::new(finished, repairing.received, is_repairing, true);
        let becomes_error = outcome.not_json && !state.fixing.fallback_on_error;
        if !closed || outcome.status == Status::Truncated || becomes_error {
            return None;
        }
        state.held -= repairing.held;
        let rest = std::mem::take(&mut outcome.rest);
        self.flow = Flow::Finalized(Box::new(outcome));
        Some(rest)
    }

    /// Releases the held arguments if the received arguments are a complete object or list, or can be repaired to one.
    /// Returns the part that was not sent yet.
    pub(crate) fn finalize_if_complete(&mut self, state: &mut StreamState) -> Option<String> {
        match &mut self.flow {
            Flow::Finalized(outcome) => outcome.closed.then(String::new),
            Flow::Repairing(repairing) => {
                let becomes_error = |outcome: &Outcome| outcome.not_json && !state.fixing.fallback_on_error;
                let mut outcome = repairing.complete().filter(|outcome| !becomes_error(outcome))?;
                state.held -= repairing.held;
                let rest = std::mem::take(&mut outcome.rest);
                self.flow = Flow::Finalized(Box::new(outcome));
                Some(rest)
            }
            Flow::Undecided | Flow::Foreign | Flow::BailedOut { .. } | Flow::Ended => None,
        }
    }

    /// Discards the received arguments if they are complete JSON, since they were a copy of the arguments that follow.
    /// Returns whether they were discarded.
    pub(crate) fn restart(&mut self, context: &mut EventContext<'_>) -> bool {
        let copy = matches!(&self.flow, Flow::Finalized(outcome) if outcome.closed && outcome.status == Status::Valid);
        if copy {
            self.flow = Flow::Undecided;
            context.steps.push(Step::Restart { call: self.serial });
        }
        copy
    }

    /// Handles the beginning of another call, which continues this call if this call is incomplete. With `wait`, the
    /// outcome of an incomplete call that stopped being JSON is decided at the end of the call.
    pub(crate) fn conclude(&mut self, wait: bool, state: &mut StreamState) -> Conclusion {
        if let Some(rest) = self.finalize_if_complete(state) {
            return Conclusion::Complete(rest);
        }
        match &self.flow {
            Flow::Undecided | Flow::Ended => Conclusion::Complete(String::new()),
            Flow::Foreign if !self.tool.is_empty() => Conclusion::Complete(String::new()),
            Flow::Repairing(repairing) if wait && repairing.repairer.is_repairing() => Conclusion::Pending,
            _ => Conclusion::Incomplete(self.bail_out(NEXT_CALL_BEGAN, state)),
        }
    }

    /// Handles the beginning of another call that replaces this one. Returns the held arguments, which are sent now,
    /// and whether the call is complete. Later arguments of an incomplete call pass unchanged.
    pub(crate) fn finalize_or_bail_out(&mut self, state: &mut StreamState) -> (String, bool) {
        match self.conclude(false, state) {
            Conclusion::Complete(rest) => (rest, true),
            Conclusion::Incomplete(rest) => (rest, false),
            Conclusion::Pending => (String::new(), false),
        }
    }

    /// Passes all of the arguments unchanged.
    pub(crate) fn pass(&mut self, reason: &'static str, state: &mut StreamState) {
        self.decide(state);
        self.bail_out(reason, state);
    }

    /// Holds all of the arguments until their end.
    pub(crate) fn withhold(&mut self, state: &mut StreamState) {
        self.decide(state);
        if let Flow::Repairing(repairing) = &mut self.flow {
            repairing.withheld = Some(String::new());
        }
    }

    /// Returns whether all of the arguments are held.
    pub(crate) fn is_withheld(&self) -> bool {
        matches!(&self.flow, Flow::Repairing(repairing) if repairing.withheld.is_some())
    }

    /// Stops reading the arguments, which pass unchanged from here on, and returns the held bytes.
    pub(crate) fn bail_out(
        &mut self,
        reason: impl Into<Cow<'static, str>>,
        state: &mut StreamState,
    ) -> String {
        let Flow::Repairing(repairing) = &mut self.flow else {
            return String::new();
        };
        let reason = Reason::new(repairing.received, reason);
        // A piece that may continue another call has no known call, so the invalid JSON is not an error of this call.
        let not_json = repairing.repairer.is_repairing() && reason.message != MAY_CONTINUE_PREVIOUS_CALL;
        state.held -= repairing.held;
        let rest = repairing.take_unchanged();
        self.flow = Flow::BailedOut { reason, not_json };
        rest
    }

    /// Ends the arguments: as cut off with `cut`, otherwise as complete. Calls that are not repaired have no outcome.
    pub(crate) fn end(&mut self, cut: bool, state: &mut StreamState) -> Option<Outcome> {
        if !matches!(self.flow, Flow::Ended) {
            state.held -= self.carrier;
        }
        match std::mem::replace(&mut self.flow, Flow::Ended) {
            Flow::Undecided | Flow::Ended => None,
            Flow::Foreign if state.fixing.target_tools.contains(&self.tool) => {
                let message = "the tool's name arrived after the first arguments";
                Some(Outcome::refused(String::new(), Reason::new(0, message), false))
            }
            Flow::Foreign => {
                state.record_skipped(&self.tool);
                None
            }
            Flow::BailedOut { reason, not_json } => Some(Outcome::refused(String::new(), reason, not_json)),
            Flow::Finalized(outcome) => Some(*outcome),
            Flow::Repairing(mut repairing) => {
                state.held -= repairing.held;
                let not_json = repairing.repairer.is_repairing();
                if repairing.half.is_some() {
                    let reason = Reason::new(repairing.received, LONE_SURROGATE);
                    return Some(Outcome::refused(repairing.take_unchanged(), reason, not_json));
                }
                let closed = repairing.is_closed();
                let end = if cut { Repairer::cut_off } else { Repairer::finish };
                Some(Outcome::new(
                    repairing.take_end(end),
                    repairing.received,
                    not_json,
                    closed,
                ))
            }
        }
    }

    /// Reports that the call began.
    pub(crate) fn report_begin(&self, choice: Option<u64>, context: &mut EventContext<'_>) {
        context.steps.push(Step::Begun {
            call: self.serial,
            choice,
            id: self.id.clone(),
            tool: self.tool.clone(),
        });
    }

    /// Reports the end of the call.
    pub(crate) fn report_end(&self, ending: Ending, context: &mut EventContext<'_>) {
        context.steps.push(Step::Ended(Box::new(EndedCall {
            call: self.serial,
            id: self.id.clone(),
            tool: self.tool.clone(),
            ending,
        })));
    }

    /// Records the outcome of arguments that were not a string with valid JSON. Returns an error message to send in place of
    /// arguments that must not be sent unchanged.
    pub(crate) fn record(
        &self,
        outcome: Outcome,
        position: Position,
        state: &mut StreamState,
    ) -> Option<String> {
        let message = (outcome.not_json && !state.fixing.fallback_on_error)
            .then(|| self.error_message(outcome.reason.as_ref()));
        if outcome.status != Status::Valid || self.was_object {
            let validated = outcome.status == Status::Valid
                || (outcome.status == Status::Repaired && state.fixing.strict_validation);
            state.record(RepairRecord {
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

    fn error_message(&self, reason: Option<&Reason>) -> String {
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

    fn decide(&mut self, state: &mut StreamState) {
        if !state.fixing.target_tools.contains(&self.tool) {
            self.flow = Flow::Foreign;
            return;
        }
        let mut repairer = Repairer::with(state.limits.arguments).validate(state.fixing.strict_validation);
        if !self.tool.is_empty() {
            repairer = repairer.for_tool(&self.tool);
        }
        self.flow = Flow::Repairing(Box::new(Repairing {
            repairer,
            half: None,
            received: 0,
            held: 0,
            last: 0,
            checked_at: 0,
            withheld: None,
        }));
    }

    /// Handles a lone surrogate: held arguments are sent before the piece, which is unchanged.
    fn bail_out_at_surrogate(&mut self, piece: Piece<'_>, state: &mut StreamState) -> Option<String> {
        let mut contents = self.bail_out(LONE_SURROGATE, state);
        if contents.is_empty() && matches!(piece, Piece::Text(_)) {
            return None;
        }
        contents.push_str(&piece.contents());
        Some(contents)
    }
}

/// Reason to stop repairing calls before an event that clients may read differently.
pub(crate) const UNREADABLE: &str = "an event that is not UTF-8 may have a piece of the call";
const LONE_SURROGATE: &str = "a lone surrogate in the string of the arguments";
/// Maximum length of a tool's name in bytes. The APIs allow 64 or 128 bytes, but a stream can have any number of pieces.
const MAX_NAME_LENGTH: usize = 4096;
