//! The turn as a state machine, which converts events to actions. The machine has no clock and no connection.
//!
//! ```text
//! a new turn                                                           a turn that resumes a suspended one
//!  │                ┌─ all calls are the gateway's, all results are there ─┼────────────────────────────┐
//!  ▼                ▼                                                      ▼                            │
//! Ask ──► events of the upstream ──► the message is complete ──► Run the gateway's calls ──► results ───┤
//!            │ text, thinking, the           │ none to run                                              │ the client has some, too
//!            ▼ client's calls                ▼                                                          ▼
//!           Send                 finish or suspend: Record, Send the end, End ◄─────────────────────────┘
//! ```

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::action::{Action, Answer, Sent};
use super::client_calls::{BrokenCall, ReadCall, ValidCall};
use super::event::Event;
use super::incoming::{CallIds, Incoming, NOWHERE, Shown};
use super::round_ends::RoundEnds;
use super::rules::Rules;
use crate::session::record::{Call, Origin, Owner, TrueMessage};
use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;
use crate::wire::message::WholeMessage;
use crate::wire::object::set_field;
use crate::wire::role::Role;
use crate::wire::usage;

/// State of a turn. A copy that was stored between two messages of the upstream can continue in another process, with the rules of that
/// process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnMachine {
    #[serde(skip)]
    rules: Rules,
    message: Incoming,
    is_started: bool,
    /// Number of rounds in which the gateway ran calls.
    rounds: usize,
    is_out_of_time: bool,
    usage: Map<String, Value>,
    #[serde(default)]
    ends: RoundEnds,
    #[serde(default)]
    call_ids: CallIds,
    truth: Vec<TrueMessage>,
    visible: Vec<(Block, Origin)>,
    next_index: usize,
    phase: Phase,
    /// Names of the tools that ran, in order.
    ran: Vec<String>,
    #[serde(default)]
    broken: BrokenRounds,
}

/// Consecutive rounds with calls that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct BrokenRounds {
    in_row: usize,
    /// Text for the client about the last of these calls; `None` after a round without such calls.
    notice: Option<String>,
}

impl BrokenRounds {
    /// Handles the end of a message, with the last of its calls that cannot be read.
    fn push(&mut self, broken: Option<BrokenCall>) {
        self.in_row = if broken.is_some() { self.in_row + 1 } else { 0 };
        self.notice = broken.map(|broken| broken.notice());
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// The upstream sends a message.
    Asking,
    /// Internal calls run.
    Running {
        calls: Vec<Call>,
        open: BTreeSet<usize>,
        /// Open calls that were stopped, and that run again when the turn continues.
        #[serde(default)]
        stopped: BTreeSet<usize>,
        /// Whether the calls belong to the suspended turn that this one resumes.
        #[serde(skip)]
        is_resumed: bool,
    },
    Over,
}

/// Lists of a machine that grow with the turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MachineLists {
    pub(crate) truth: Vec<TrueMessage>,
    pub(crate) visible: Vec<(Block, Origin)>,
    /// Calls of the running round.
    pub(crate) calls: Vec<Call>,
}

impl TurnMachine {
    /// Creates a turn that begins with a request to the upstream.
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            message: Incoming::default(),
            is_started: false,
            rounds: 0,
            is_out_of_time: false,
            usage: Map::new(),
            ends: RoundEnds::default(),
            call_ids: CallIds::default(),
            truth: Vec::new(),
            visible: Vec::new(),
            next_index: 0,
            phase: Phase::Asking,
            ran: Vec::new(),
            broken: BrokenRounds::default(),
        }
    }

    /// Creates a turn that resumes a suspended one with these calls. The client has answered the external calls; the deferred calls run
    /// before the first request to the upstream.
    pub(crate) fn resume(rules: Rules, calls: Vec<Call>) -> Self {
        let mut machine = Self::new(rules);
        let deferred = calls.iter().enumerate().filter(|(_, call)| call.is_deferred());
        let open: BTreeSet<usize> = deferred.map(|(index, _)| index).collect();
        if !open.is_empty() {
            machine.phase = Phase::Running {
                calls,
                open,
                stopped: BTreeSet::new(),
                is_resumed: true,
            };
        }
        machine
    }

    /// Returns whether deferred calls of the suspended turn are running, or run next.
    pub(crate) fn is_resuming(&self) -> bool {
        matches!(self.phase, Phase::Running { is_resumed: true, .. })
    }

    /// Takes the lists that grow with the turn, for a record of only the changes.
    pub(crate) fn take_lists(&mut self) -> MachineLists {
        MachineLists {
            truth: std::mem::take(&mut self.truth),
            visible: std::mem::take(&mut self.visible),
            calls: match &mut self.phase {
                Phase::Running { calls, .. } => std::mem::take(calls),
                Phase::Asking | Phase::Over => Vec::new(),
            },
        }
    }

    /// Puts the lists back.
    pub(crate) fn put_lists(&mut self, lists: MachineLists) {
        self.truth = lists.truth;
        self.visible = lists.visible;
        if let Phase::Running { calls, .. } = &mut self.phase {
            *calls = lists.calls;
        }
    }

    /// Estimates the size of the machine in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        let blocks = self.truth.iter().flat_map(|message| &message.blocks);
        let results = match &self.phase {
            Phase::Running { calls, .. } => calls.as_slice(),
            Phase::Asking | Phase::Over => &[],
        };
        let results = results.iter().filter_map(|call| call.result.as_ref());
        blocks.chain(results).map(Block::size).sum()
    }

    /// Returns whether the turn is over.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Replaces the rules.
    pub(crate) fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Returns the internal calls without a result.
    pub(crate) fn open_calls(&self) -> Vec<(usize, &Call)> {
        match &self.phase {
            Phase::Running { calls, open, .. } => {
                let open = open.iter().filter_map(|index| Some((*index, calls.get(*index)?)));
                open.collect()
            }
            Phase::Asking | Phase::Over => Vec::new(),
        }
    }

    /// Returns the open calls that may have taken effect.
    pub(crate) fn begun_calls(&self) -> Vec<(usize, &Call)> {
        let mut open = self.open_calls();
        if let Phase::Running { stopped, .. } = &self.phase {
            open.retain(|(index, _)| !stopped.contains(index));
        }
        open
    }

    /// Returns whether the gateway has run calls in this turn.
    pub(crate) fn has_internal_round(&self) -> bool {
        self.rounds > 0
    }

    /// Returns the total usage of all complete rounds.
    pub(crate) fn usage(&self) -> &Map<String, Value> {
        &self.usage
    }

    /// Returns the container in which the upstream's code execution continues in the next round.
    pub(crate) fn container(&self) -> Option<&ObjectText> {
        self.ends.container()
    }

    /// Returns the names of the tools that the gateway ran.
    pub(crate) fn ran(&self) -> &[String] {
        &self.ran
    }

    /// Returns the first actions of a new turn, or of a copy that was made during a request to the upstream or while calls ran.
    pub(crate) fn start(&mut self) -> Vec<Action> {
        match &mut self.phase {
            Phase::Over => Vec::new(),
            Phase::Asking => {
                self.message = Incoming::default();
                vec![Action::Ask(self.truth.clone())]
            }
            Phase::Running { stopped, .. } => {
                stopped.clear();
                let open = self.open_calls().into_iter();
                vec![Action::Run(
                    open.map(|(index, call)| (index, call.clone())).collect(),
                )]
            }
        }
    }

    /// Handles an event. Returns the resulting actions in order.
    pub(crate) fn on(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match (&mut self.phase, event) {
            (Phase::Over, _) => {}
            (_, Event::OutOfTime) => self.is_out_of_time = true,
            (Phase::Asking, Event::Stream(event)) => self.on_stream(event, &mut actions),
            (Phase::Asking, Event::Block(block)) => self.on_block(block, false, &mut actions),
            (Phase::Asking, Event::RecoveredCall(call)) => self.on_block(call, true, &mut actions),
            (Phase::Asking, Event::Message(message)) => self.on_whole(message, &mut actions),
            (
                Phase::Running {
                    open,
                    is_resumed: true,
                    ..
                },
                Event::Result { call, .. },
            ) => {
                open.remove(&call);
                if open.is_empty() {
                    self.phase = Phase::Asking;
                    actions.push(Action::Ask(self.truth.clone()));
                }
            }
            (Phase::Running { calls, open, .. }, Event::Result { call, result }) => {
                if open.remove(&call)
                    && let Some(call) = calls.get_mut(call)
                {
                    self.ran.push(call.name.clone());
                    call.result = Some(result);
                }
                self.on_done(&mut actions);
            }
            (Phase::Running { calls, open, .. }, Event::Interrupted { call }) => {
                if open.remove(&call)
                    && let Some(call) = calls.get_mut(call)
                {
                    call.owner = Owner::External;
                }
                self.on_done(&mut actions);
            }
            (Phase::Running { stopped, .. }, Event::Stopped { call }) => {
                stopped.insert(call);
            }
            // Events after the end of a message, and results of unknown calls, have no effect.
            (Phase::Asking | Phase::Running { .. }, _) => {}
        }
        actions
    }

    fn on_stream(&mut self, event: StreamEvent, actions: &mut Vec<Action>) {
        match event {
            StreamEvent::MessageStart(message) => {
                self.message.start(&message.object());
                if !std::mem::replace(&mut self.is_started, true) {
                    actions.push(send(StreamEvent::MessageStart(message)));
                }
            }
            StreamEvent::BlockStart { index, block } => self.on_block_start(index, block, actions),
            StreamEvent::BlockDelta { index, delta } => {
                if let Some(index) = self.message.push_delta(index, &delta) {
                    actions.push(send(StreamEvent::BlockDelta { index, delta }));
                }
            }
            StreamEvent::BlockStop { index } => {
                if let Some(index) = self.message.stop_block(index) {
                    actions.push(send(StreamEvent::BlockStop { index }));
                }
            }
            StreamEvent::MessageDelta(fields) => self.message.add_end(fields),
            StreamEvent::MessageStop => self.on_message(actions),
            StreamEvent::Error(error) => {
                self.phase = Phase::Over;
                actions.push(Action::Fail(error));
            }
            StreamEvent::Ping | StreamEvent::Other(_) => actions.push(send(event)),
        }
    }

    fn on_block_start(&mut self, upstream_index: usize, mut block: Block, actions: &mut Vec<Action>) {
        // Clients append the pieces of the arguments to the arguments of the start.
        let started = block.clone().with_object_input();
        if started.raw_input().is_none() {
            block = started;
        }
        let call = block.tool_use();
        let shown = if self.rules.hides_thinking && block.is_thinking() {
            Shown::default()
        } else {
            self.shown(call.as_ref().map(|call| call.name.as_str()))
        };
        if let Some(index) = shown.index {
            let block = shown.block(&block);
            actions.push(send(StreamEvent::BlockStart { index, block }));
        }
        self.message.start_block(upstream_index, block, shown);
    }

    /// Handles a whole block. `is_from_text` is whether the block is a call that was recovered from text.
    fn on_block(&mut self, block: Block, is_from_text: bool, actions: &mut Vec<Action>) {
        let mut block = block.with_object_input();
        let call = block.tool_use();
        let called = call.as_ref().map(|call| call.name.as_str());
        let mut coerced = None;
        if let Some(called) = called
            && let Some(client_calls) = self.rules.reader_of(is_from_text)
            && self.rules.internal_name(called).is_none()
        {
            let name = self.rules.declared_name(called);
            let internal = self.rules.internal.iter().map(String::as_str);
            match client_calls.read(&block, name, internal) {
                ReadCall::Valid(ValidCall { sent, shown }) => {
                    block = sent;
                    coerced = shown.map(Box::new);
                }
                ReadCall::Broken(broken) if client_calls.rules().fallback_on_error => {
                    return self.message.push_broken(&block, broken);
                }
                ReadCall::Broken(broken) => {
                    self.phase = Phase::Over;
                    return actions.push(Action::FailUpstream(broken.error()));
                }
            }
        }
        let shown = Shown {
            coerced,
            ..self.shown(called)
        };
        if let Some(index) = shown.index {
            let block = shown.block(&block);
            actions.push(Action::Send(Sent::Block { index, block }));
        }
        self.message.push_block(block, shown, is_from_text);
    }

    /// Allocates the position and the id of the next block in the client's stream. `called` is the tool if the block is a call.
    fn shown(&mut self, called: Option<&str>) -> Shown {
        let is_internal = called.is_some_and(|name| self.rules.internal_name(name).is_some());
        Shown {
            id: (called.is_some() && !is_internal).then(|| self.rules.ids.mint()),
            index: (!is_internal).then(|| self.next_index()),
            coerced: None,
        }
    }

    /// Handles a message without calls. In the first round, this message is the answer, and is sent to the client unchanged.
    fn on_whole(&mut self, message: WholeMessage, actions: &mut Vec<Action>) {
        if self.is_started || message.blocks().next().is_none() {
            let (start, end) = message.start_and_end();
            self.on_stream(StreamEvent::MessageStart(start), actions);
            for block in message.shared_blocks() {
                self.on_block(block, false, actions);
            }
            self.on_stream(StreamEvent::MessageDelta(end), actions);
            return self.on_stream(StreamEvent::MessageStop, actions);
        }
        self.phase = Phase::Over;
        self.is_started = true;
        usage::add(&mut self.usage, message.usage());
        self.next_index = message.blocks().len();
        let mut sent_up = Vec::with_capacity(self.next_index);
        self.visible.reserve_exact(self.next_index);
        let mut is_unchanged = true;
        for block in message.shared_blocks() {
            let kind = block.kind();
            let is_blank = block.is_blank_text(kind);
            let origin = Origin {
                message: 0,
                block: sent_up.len(),
            };
            if kind.is_counted() {
                self.visible
                    .push((block.clone(), if is_blank { NOWHERE } else { origin }));
            }
            if is_blank {
                is_unchanged = false;
                continue;
            }
            if !kind.is_call() {
                sent_up.push(block);
                continue;
            }
            let accepted = block.clone().with_object_input();
            is_unchanged &= accepted == block;
            sent_up.push(accepted);
        }
        // No API takes an empty message back.
        if !sent_up.is_empty() {
            self.truth.push(TrueMessage {
                role: Role::Assistant,
                blocks: sent_up,
            });
        }
        actions.push(Action::Record(Answer {
            truth: self.truth.clone(),
            visible: self.visible.clone(),
            calls: Vec::new(),
            is_unchanged,
        }));
        actions.push(Action::Send(Sent::Message(message)));
        actions.push(Action::End);
    }

    fn next_index(&mut self) -> usize {
        self.next_index += 1;
        self.next_index - 1
    }

    /// Handles the end of the upstream's message.
    fn on_message(&mut self, actions: &mut Vec<Action>) {
        let mut incoming = std::mem::take(&mut self.message);
        self.ends.push(&mut incoming.usage, &incoming.end);
        usage::add(&mut self.usage, &incoming.usage);
        self.message.end.clone_from(&incoming.end);
        let ids = &mut self.rules.ids;
        let complete = incoming.complete(self.truth.len(), &mut self.call_ids, || ids.mint());
        self.visible.extend(complete.visible);
        // No API accepts an empty message in a history.
        if !complete.message.blocks.is_empty() {
            self.truth.push(complete.message);
        }
        let has_broken = complete.broken.is_some();
        self.broken.push(complete.broken);
        let mut calls = complete.calls;
        self.correct_names(&mut calls);
        let is_mixed = calls.iter().any(|call| call.owner == Owner::External);
        let is_deferred = |call: &Call| self.rules.deferred.contains(&call.name);
        // A deferred call waits until no other call can become external.
        let waits = is_mixed
            || calls
                .iter()
                .any(|call| call.owner == Owner::Internal && call.result.is_none() && !is_deferred(call));
        let run: Vec<(usize, Call)> = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.owner == Owner::Internal && call.result.is_none())
            .filter(|(_, call)| !waits || !is_deferred(call))
            .map(|(index, call)| (index, call.clone()))
            .collect();
        if run.is_empty() {
            if is_mixed {
                self.suspend(calls, actions);
            } else if has_broken {
                self.end_round(calls, actions);
            } else {
                self.finish(actions);
            }
            return;
        }
        let open = run.iter().map(|(index, _)| *index).collect();
        self.phase = Phase::Running {
            calls,
            open,
            stopped: BTreeSet::new(),
            is_resumed: false,
        };
        actions.push(Action::Run(run));
    }

    /// Corrects the case of internal tools' names. The true transcript keeps the model's spelling.
    fn correct_names(&self, calls: &mut [Call]) {
        for call in calls.iter_mut().filter(|call| call.owner == Owner::Internal) {
            if let Some(name) = self.rules.internal_name(&call.name)
                && name != call.name
            {
                tracing::warn!(
                    called = call.name,
                    tool = name,
                    "a tool was called in other letters"
                );
                call.name = name.to_owned();
            }
        }
    }

    /// Handles the end of an internal call. The last call ends the round.
    fn on_done(&mut self, actions: &mut Vec<Action>) {
        let Phase::Running { calls, open, .. } = &mut self.phase else {
            return;
        };
        if !open.is_empty() {
            return;
        }
        if calls.iter().all(|call| call.owner == Owner::Internal) {
            let deferred = calls.iter().enumerate().filter(|(_, call)| call.result.is_none());
            let deferred: Vec<_> = deferred.map(|(index, call)| (index, call.clone())).collect();
            if !deferred.is_empty() {
                open.extend(deferred.iter().map(|(index, _)| *index));
                actions.push(Action::Run(deferred));
                return;
            }
        }
        let calls = std::mem::take(calls);
        self.end_round(calls, actions);
    }

    /// Ends a round whose calls of the gateway have results: suspends the turn, or asks for the next message.
    fn end_round(&mut self, mut calls: Vec<Call>, actions: &mut Vec<Action>) {
        self.rounds += 1;
        self.show_interrupted(&mut calls, actions);
        if calls.iter().any(|call| call.owner == Owner::External) {
            return self.suspend(calls, actions);
        }
        let results = TrueMessage {
            role: Role::User,
            blocks: calls.into_iter().filter_map(|call| call.result).collect(),
        };
        self.truth.push(results);
        let client_calls = self.rules.reader_of(true);
        let most_broken = client_calls.map_or(0, |calls| calls.rules().broken_calls);
        if self.broken.in_row > most_broken
            && let Some(notice) = self.broken.notice.take()
        {
            self.add_text(&notice, actions);
            self.set_stop_reason(r#""end_turn""#);
            return self.finish(actions);
        }
        if self.is_over_a_cap() {
            self.set_stop_reason(r#""pause_turn""#);
            return self.finish(actions);
        }
        self.message = Incoming::default();
        self.phase = Phase::Asking;
        actions.push(Action::Ask(self.truth.clone()));
    }

    /// Adds a message of the gateway to the client's message and to the true transcript.
    fn add_text(&mut self, text: &str, actions: &mut Vec<Action>) {
        let block = Block::text(text);
        let index = self.next_index();
        actions.push(Action::Send(Sent::Block {
            index,
            block: block.clone(),
        }));
        let origin = Origin {
            message: self.truth.len(),
            block: 0,
        };
        self.visible.push((block.clone(), origin));
        self.truth.push(TrueMessage {
            role: Role::Assistant,
            blocks: vec![block],
        });
    }

    /// Sets the stop reason of the client's message, in JSON's form.
    fn set_stop_reason(&mut self, reason: &str) {
        let end = &mut self.message.end;
        let delta = end.get("delta").unwrap_or("{}");
        let delta = set_field(delta, "stop_reason", reason);
        end.set("delta", delta);
    }

    /// Returns whether the limit of rounds, time or tokens forbids another round.
    fn is_over_a_cap(&self) -> bool {
        let tokens = || usage::tokens(&self.usage);
        self.is_out_of_time
            || self.rounds >= self.rules.max_rounds
            || self.rules.max_tokens.is_some_and(|max| tokens() >= max)
    }

    /// Sends the client the calls that have become external.
    fn show_interrupted(&mut self, calls: &mut [Call], actions: &mut Vec<Action>) {
        let at = self.truth.len().saturating_sub(1);
        for call in calls
            .iter_mut()
            .filter(|call| call.owner == Owner::External && call.id == call.visible_id)
        {
            let block_at = self.truth.get(at).and_then(|message| {
                message
                    .blocks
                    .iter()
                    .position(|block| block.tool_use().is_some_and(|other| other.id == call.id))
            });
            let Some(block_at) = block_at else { continue };
            let Some(block) = self
                .truth
                .get(at)
                .and_then(|message| message.blocks.get(block_at))
                .cloned()
            else {
                continue;
            };
            call.visible_id = self.rules.ids.mint();
            // The permission was asked for the repaired arguments; the true transcript has arguments that the API accepts.
            let block = block.repaired().with_string("id", &call.visible_id);
            let block = block.with_string("name", &call.name);
            let index = self.next_index();
            actions.push(Action::Send(Sent::Block {
                index,
                block: block.clone(),
            }));
            self.visible.push((
                block,
                Origin {
                    message: at,
                    block: block_at,
                },
            ));
        }
    }

    /// Suspends the turn until the client answers calls of the last message. Deferred calls have no result yet.
    fn suspend(&mut self, calls: Vec<Call>, actions: &mut Vec<Action>) {
        self.end(calls, false, actions);
    }

    /// Finishes the turn, since no call is left.
    fn finish(&mut self, actions: &mut Vec<Action>) {
        // A client cannot echo an empty message.
        if self.visible.is_empty() && self.hides_something() {
            let block = Block::text(&self.notice());
            let index = self.next_index();
            actions.push(Action::Send(Sent::Block {
                index,
                block: block.clone(),
            }));
            self.visible.push((block, NOWHERE));
        }
        let is_unchanged = self.truth.len() == 1 && self.next_index == self.truth_len();
        self.end(Vec::new(), is_unchanged, actions);
    }

    /// Ends the client's message like the upstream's last message, with the usage of all rounds.
    fn end(&mut self, calls: Vec<Call>, is_unchanged: bool, actions: &mut Vec<Action>) {
        self.phase = Phase::Over;
        actions.push(Action::Record(Answer {
            truth: self.truth.clone(),
            visible: self.visible.clone(),
            calls,
            is_unchanged,
        }));
        let mut end = std::mem::take(&mut self.message.end);
        self.ends.write(&mut end, &self.usage);
        actions.push(send(StreamEvent::MessageDelta(end)));
        actions.push(send(StreamEvent::MessageStop));
        actions.push(Action::End);
    }

    fn truth_len(&self) -> usize {
        self.truth.iter().map(|message| message.blocks.len()).sum()
    }

    /// Returns whether the gateway has hidden blocks of a message whose visible blocks are only thinking. Clients drop thinking, so the
    /// message would be empty.
    fn hides_something(&self) -> bool {
        self.rounds > 0 || self.next_index == 0
    }

    /// Builds the text of a notice with the names of the tools that ran.
    fn notice(&self) -> String {
        let mut names: Vec<&str> = self.ran.iter().map(String::as_str).collect();
        names.dedup();
        if names.is_empty() {
            "[The model gave no answer.]".to_owned()
        } else {
            format!("[Tools that ran: {}.]", names.join(", "))
        }
    }
}

fn send(event: StreamEvent) -> Action {
    Action::Send(Sent::Event(event))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::wire::fields::RawFields;

    fn message(usage: u64, blocks: &[Value]) -> WholeMessage {
        let message = json!({ "id": "m", "content": blocks, "stop_reason": "end_turn", "usage": { "output_tokens": usage } });
        WholeMessage::parse(&message.to_string()).unwrap()
    }

    fn started() -> TurnMachine {
        let mut machine = TurnMachine::new(Rules {
            internal: Arc::new(["Internal".to_owned()].into()),
            max_rounds: 5,
            ..Rules::default()
        });
        machine.start();
        machine
    }

    #[test]
    fn first_message_without_calls_is_the_answer_as_it_is() {
        let thinking = json!({ "type": "thinking", "thinking": "", "signature": "s" });
        let whole = message(5, &[thinking, json!({ "type": "text", "text": "a" })]);
        let mut machine = started();
        let actions = machine.on(Event::Message(whole.clone()));
        let [
            Action::Record(answer),
            Action::Send(Sent::Message(sent)),
            Action::End,
        ] = actions.as_slice()
        else {
            panic!("{actions:?}")
        };
        assert_eq!(*sent, whole);
        assert!(answer.is_unchanged && machine.is_over());
        let blocks: Vec<_> = whole.shared_blocks().collect();
        assert_eq!(answer.truth[0].blocks, blocks);
        let origin = Origin { message: 0, block: 1 };
        assert_eq!(answer.visible, [(blocks[1].clone(), origin)]);
        assert_eq!(machine.usage()["output_tokens"], 5);
    }

    #[test]
    fn later_and_empty_messages_are_written_again() {
        let mut machine = started();
        let call = json!({ "type": "tool_use", "id": "t", "name": "Internal", "input": {} });
        let start = StreamEvent::MessageStart(ObjectText::new("{}").unwrap());
        machine.on(Event::Stream(start));
        machine.on(Event::Block(Block::new(call.to_string())));
        let mut end = RawFields::default();
        end.set("delta", r#"{"stop_reason":"tool_use"}"#);
        end.set("usage", r#"{"output_tokens":2}"#);
        machine.on(Event::Stream(StreamEvent::MessageDelta(end)));
        machine.on(Event::Stream(StreamEvent::MessageStop));
        let result = Block::new(json!({ "type": "tool_result", "tool_use_id": "t" }).to_string());
        let actions = machine.on(Event::Result { call: 0, result });
        assert!(matches!(actions.as_slice(), [Action::Ask(_)]), "{actions:?}");
        let actions = machine.on(Event::Message(message(
            5,
            &[json!({ "type": "text", "text": "a" })],
        )));
        let ended = actions.iter().find_map(|action| match action {
            Action::Send(Sent::Event(StreamEvent::MessageDelta(end))) => Some(end),
            _ => None,
        });
        let usage: Value = serde_json::from_str(ended.unwrap().get("usage").unwrap()).unwrap();
        assert_eq!(usage["output_tokens"], 7);
        assert!(
            matches!(actions.first(), Some(Action::Send(Sent::Block { index: 0, .. }))),
            "{actions:?}"
        );

        let actions = started().on(Event::Message(message(5, &[])));
        let notice = actions
            .iter()
            .any(|action| matches!(action, Action::Send(Sent::Block { .. })));
        assert!(notice, "a client cannot echo an empty message: {actions:?}");
    }

    #[test]
    fn truncated_message_runs_no_calls() {
        let mut machine = started();
        let events = [
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "a", "name": "Internal", "input": {} } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" } }),
            json!({ "type": "message_stop" }),
        ];
        let mut actions = Vec::new();
        for event in &events {
            actions.extend(machine.on(Event::Stream(StreamEvent::parse(&event.to_string()).unwrap())));
        }
        assert!(
            !actions.iter().any(|action| matches!(action, Action::Run(_))),
            "{actions:?}"
        );
        let recorded = actions.iter().find_map(|action| match action {
            Action::Record(answer) => Some(&answer.truth),
            _ => None,
        });
        assert_eq!(recorded, Some(&Vec::new()));
    }
}
