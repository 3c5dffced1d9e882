//! The true transcript: the messages of a request as the upstream has seen them before, and what is new behind them.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::session::canonical;
use crate::session::chain::{ChainKey, Digest};
use crate::session::recognize::Recognized;
use crate::session::record::{Call, Origin, Owner, Role, SystemMessage, TrueMessage, Turn};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::message::{Message, push_message, push_text};
use crate::wire::object::{Object, with_field};
use crate::wire::request::MessagesRequest;

/// The calls of the gateway that wait for the client's results, which the request has: those with side effects. The request is
/// [checked](check).
pub(crate) fn deferred(recognized: &Recognized) -> Vec<Call> {
    let Some((index, turn)) = recognized
        .last_known
        .and_then(|index| Some((index, recognized.turns.get(&index)?)))
    else {
        return Vec::new();
    };
    if recognized.groups.len() <= index + 1 {
        return Vec::new();
    }
    let calls = turn
        .calls
        .iter()
        .filter(|call| call.owner == Owner::Gateway && call.result.is_none());
    calls.cloned().collect()
}

/// What goes up.
#[derive(Debug)]
pub(crate) struct Restored {
    /// The text of the list of messages, without its brackets.
    pub(crate) messages: String,
    /// Whether the last message of the client answers a turn in which the gateway ran calls.
    pub(crate) continues_internal: bool,
    pub(crate) systems: Vec<SystemMessage>,
    /// The message of the model that the answer goes on with, if the last one is the model's.
    pub(crate) prior: Vec<TrueMessage>,
    pub(crate) prior_visible: Vec<Origin>,
}

/// Checks that each call of a suspended turn that the client has to answer is answered once.
pub(crate) fn check(recognized: &Recognized, request: &MessagesRequest<'_>) -> Result<(), ApiError> {
    for (index, turn) in &recognized.turns {
        if turn.is_suspended() && recognized.groups.len() > index + 1 {
            results(
                turn,
                &blocks_of(recognized, request, index + 1),
                last_message(recognized, *index),
            )?;
        }
    }
    Ok(())
}

/// Restores the messages of a request. `run` has the results of deferred calls, by the call's id.
pub(crate) fn restore(
    key: &ChainKey,
    recognized: &Recognized,
    request: &MessagesRequest<'_>,
    run: &HashMap<String, Block>,
) -> Result<Restored, ApiError> {
    let (systems, added) = locate_systems(key, recognized, request);
    let mut transcript = Transcript {
        recognized,
        request,
        systems,
        text: String::new(),
        prior: Vec::new(),
        prior_visible: Vec::new(),
    };
    // System messages that are new go behind the known turn, and behind the results that belong to it.
    let added_at = recognized
        .last_known
        .map(|last| match recognized.last_known_turn() {
            Some(turn) if turn.is_suspended() => last + 2,
            _ => last + 1,
        });
    // What came before this turn was accepted without thinking only.
    let turns = recognized.turns.iter().filter(|(_, turn)| turn.drops_thinking);
    let without_thinking_to = turns.map(|(index, _)| *index).max();
    let end = recognized.groups.len();
    for index in 0..end {
        if without_thinking_to == Some(index)
            && let Some(text) = without_thinking(&transcript.text)
        {
            transcript.text = text;
        }
        let form = Form::of(recognized, index);
        match form {
            // Nothing stands between calls and their results.
            Form::Results(_) => {}
            Form::Known(_) => transcript.push_systems(index, |_, _| true),
            Form::AsSent => {
                let first = transcript.first_message(index);
                transcript.push_systems(index, |at, system| !is_inside(first, at, system));
            }
        }
        if added_at == Some(index) {
            transcript.push_added(&added, index);
        }
        match form {
            Form::Known(turn) => transcript.push_known(index, turn),
            Form::Results(turn) => transcript.push_results(index, turn, run)?,
            Form::AsSent => transcript.push_as_sent(index),
        }
    }
    transcript.push_systems(end, |_, _| true);
    if added_at.is_some_and(|at| at >= end) {
        transcript.push_added(&added, end);
    }
    Ok(Restored {
        messages: transcript.text,
        continues_internal: end
            .checked_sub(1)
            .is_some_and(|last| continues_internal(recognized, last)),
        systems: transcript.systems.into_iter().map(|(_, system)| system).collect(),
        prior: transcript.prior,
        prior_visible: transcript.prior_visible,
    })
}

/// In which form a group of the client's messages goes up.
enum Form<'t> {
    /// As the messages that the upstream has seen instead.
    Known(&'t Turn),
    /// As one message with the results of all calls of a suspended turn.
    Results(&'t Turn),
    AsSent,
}

impl<'t> Form<'t> {
    fn of(recognized: &'t Recognized, index: usize) -> Self {
        let turn = |index: usize| recognized.turns.get(&index).map(|turn| &**turn);
        if let Some(turn) = turn(index).filter(|turn| !turn.truth.is_empty()) {
            return Self::Known(turn);
        }
        let suspended = index
            .checked_sub(1)
            .and_then(turn)
            .filter(|turn| turn.is_suspended());
        suspended.map_or(Self::AsSent, Self::Results)
    }
}

/// The messages that have been restored so far.
struct Transcript<'r> {
    recognized: &'r Recognized,
    request: &'r MessagesRequest<'r>,
    systems: Systems,
    text: String,
    prior: Vec<TrueMessage>,
    prior_visible: Vec<Origin>,
}

impl Transcript<'_> {
    fn is_last(&self, index: usize) -> bool {
        index + 1 == self.recognized.groups.len()
    }

    /// The index of a group's first message.
    fn first_message(&self, index: usize) -> usize {
        let group = self.recognized.groups.get(index);
        group
            .and_then(|group| group.messages.first().copied())
            .unwrap_or_default()
    }

    fn push_known(&mut self, index: usize, turn: &Turn) {
        for message in marked(turn, &blocks_of(self.recognized, self.request, index)) {
            push_message(&mut self.text, message.role.as_str(), &message.blocks);
        }
        if self.is_last(index) {
            self.prior_visible.clone_from(&turn.visible);
            self.prior.clone_from(&turn.truth);
        }
    }

    fn push_results(
        &mut self,
        index: usize,
        turn: &Turn,
        run: &HashMap<String, Block>,
    ) -> Result<(), ApiError> {
        let called = last_message(self.recognized, index - 1);
        let blocks = blocks_of(self.recognized, self.request, index);
        push_message(
            &mut self.text,
            "user",
            &results_message(turn, &blocks, called, run)?,
        );
        self.push_systems(index, |_, _| true);
        Ok(())
    }

    fn push_as_sent(&mut self, index: usize) {
        let messages = self
            .recognized
            .groups
            .get(index)
            .map(|group| group.messages.clone())
            .unwrap_or_default();
        let first = self.first_message(index);
        let mut written = first;
        for at in messages {
            let Some(message) = self.request.messages.get(at) else {
                continue;
            };
            self.push_systems(index, |system_at, system| {
                is_inside(first, system_at, system) && (written..at).contains(&system_at)
            });
            written = at;
            push_text(&mut self.text, message.text);
            if self.is_last(index) && message.is_assistant() {
                let message_at = self.prior.len();
                let blocks = message
                    .blocks
                    .iter()
                    .enumerate()
                    .filter(|(_, block)| is_counted(block));
                self.prior_visible.extend(blocks.map(|(block, _)| Origin {
                    message: message_at,
                    block,
                }));
                self.prior.push(TrueMessage {
                    role: Role::Assistant,
                    // Marks are where the client has them, request by request.
                    blocks: message.blocks.iter().map(Block::without_mark).collect(),
                });
            }
        }
    }

    /// Writes the system messages behind that many groups that are due.
    fn push_systems(&mut self, index: usize, is_due: impl Fn(usize, &SystemMessage) -> bool) {
        let here = self
            .systems
            .iter()
            .filter(|(_, system)| system.sent_after == index);
        for (at, _) in here.filter(|(at, system)| is_due(*at, system)) {
            if let Some(message) = self.request.messages.get(*at) {
                push_text(&mut self.text, message.text);
            }
        }
    }

    /// Writes the system messages that are new within the known history, and keeps where they went.
    fn push_added(&mut self, added: &Systems, index: usize) {
        for (at, system) in added {
            if let Some(message) = self.request.messages.get(*at) {
                push_text(&mut self.text, message.text);
            }
            self.systems.push((
                *at,
                SystemMessage {
                    sent_after: index,
                    ..*system
                },
            ));
        }
    }
}

/// Whether a system message stands between two messages of a group that goes up as it was sent.
fn is_inside(first: usize, at: usize, system: &SystemMessage) -> bool {
    system.sent_after == system.groups_before && at > first
}

/// Whether the last group goes on with a turn in which the gateway ran calls.
fn continues_internal(recognized: &Recognized, last: usize) -> bool {
    match Form::of(recognized, last) {
        Form::Known(turn) => turn.truth.iter().any(|message| message.role == Role::User),
        Form::Results(_) => ran_internal(recognized, last - 1),
        Form::AsSent => false,
    }
}

/// Whether the gateway ran calls in the suspended turn at this index, or in those that it resumed.
fn ran_internal(recognized: &Recognized, index: usize) -> bool {
    let suspended = |index: usize| recognized.turns.get(&index).filter(|turn| turn.is_suspended());
    std::iter::successors(Some(index), |index| index.checked_sub(2))
        .map_while(suspended)
        .any(|turn| {
            turn.calls.iter().any(|call| call.owner == Owner::Gateway)
                || turn.truth.iter().any(|message| message.role == Role::User)
        })
}

type Systems = Vec<(usize, SystemMessage)>;

/// The system messages with their places: those that go where they are or were, and those that are new within the known history.
fn locate_systems(
    key: &ChainKey,
    recognized: &Recognized,
    request: &MessagesRequest<'_>,
) -> (Systems, Systems) {
    let known = recognized
        .last_known_turn()
        .map(|turn| turn.systems.as_slice())
        .unwrap_or_default();
    let mut used = vec![false; known.len()];
    let mut before = Vec::new();
    let mut added = Vec::new();
    for (at, message) in request
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.is_system())
    {
        let in_front =
            |group: &&crate::session::chain::Group| group.messages.last().is_some_and(|last| *last < at);
        let index = recognized.groups.iter().take_while(in_front).count();
        let digest: Digest = {
            let content = Value::Array(canonical::content(message.blocks.iter()));
            key.digest(&[b"system", &canonical::bytes(&content)])
        };
        let mut system = SystemMessage {
            groups_before: index,
            sent_after: index,
            digest,
        };
        let seen = known.iter().enumerate().find(|(seen_at, known)| {
            known.groups_before == index && known.digest == digest && used.get(*seen_at) == Some(&false)
        });
        match seen {
            Some((seen_at, known)) => {
                if let Some(used) = used.get_mut(seen_at) {
                    *used = true;
                }
                system.sent_after = known.sent_after;
                before.push((seen_at, (at, system)));
            }
            None if recognized.last_known.is_some_and(|last| index <= last) => added.push((at, system)),
            None => before.push((usize::MAX, (at, system))),
        }
    }
    // In the order in which they went up first.
    before.sort_by_key(|(seen_at, _)| *seen_at);
    (before.into_iter().map(|(_, system)| system).collect(), added)
}

/// The index of a group's last message in the request.
fn last_message(recognized: &Recognized, index: usize) -> usize {
    let group = recognized.groups.get(index);
    group
        .and_then(|group| group.messages.last())
        .copied()
        .unwrap_or(index)
}

/// The blocks of a group of the client's.
fn blocks_of(recognized: &Recognized, request: &MessagesRequest<'_>, index: usize) -> Vec<Block> {
    let messages = recognized
        .groups
        .get(index)
        .map(|group| group.messages.as_slice())
        .unwrap_or_default();
    let messages = messages.iter().filter_map(|at| request.messages.get(*at));
    messages
        .flat_map(|message: &Message<'_>| message.blocks.iter().cloned())
        .collect()
}

/// The truth of a turn, with the client's marks for the cache where it has them now.
fn marked(turn: &Turn, echoed: &[Block]) -> Vec<TrueMessage> {
    let mut messages = turn.truth.clone();
    let marks = echoed.iter().filter(|block| is_counted(block)).map(mark);
    for (mark, origin) in marks.zip(&turn.visible) {
        let block = messages
            .get_mut(origin.message)
            .and_then(|message| message.blocks.get_mut(origin.block));
        if let (Some(mark), Some(block)) = (mark, block) {
            *block = Block::new(with_field(block.as_str(), "cache_control", &mark));
        }
    }
    messages
}

/// Whether a block counts among the visible ones: clients may leave out thinking and empty texts.
pub(crate) fn is_counted(block: &Block) -> bool {
    let object = Object::parse(block.as_str()).unwrap_or_default();
    match object.string("type").as_deref() {
        Some("thinking" | "redacted_thinking") => false,
        Some("text") => object.string("text").is_some_and(|text| !text.is_empty()),
        _ => true,
    }
}

/// The mark for the cache that a block has.
fn mark(block: &Block) -> Option<String> {
    let object = Object::parse(block.as_str()).ok()?;
    object
        .get("cache_control")
        .filter(|mark| *mark != "null")
        .map(str::to_owned)
}

/// The client's results by the visible id of their call, and its other blocks.
fn results(
    turn: &Turn,
    blocks: &[Block],
    index: usize,
) -> Result<(HashMap<String, Block>, Vec<Block>), ApiError> {
    let mut results = HashMap::new();
    let mut rest = Vec::new();
    for block in blocks {
        let object = Object::parse(block.as_str()).unwrap_or_default();
        if !object.is("type", "tool_result") {
            rest.push(block.clone());
            continue;
        }
        let id = object.string("tool_use_id").unwrap_or_default();
        if !turn.visible_ids().any(|known| known == id) {
            return Err(ApiError::invalid(format!(
                "messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must \
                 have a corresponding `tool_use` block in the previous message."
            )));
        }
        if results.insert(id.clone(), block.clone()).is_some() {
            return Err(ApiError::invalid(format!(
                "messages.{index}: each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )));
        }
    }
    let missing: Vec<&str> = turn
        .visible_ids()
        .filter(|id| !results.contains_key(*id))
        .collect();
    if !missing.is_empty() {
        return Err(ApiError::invalid(format!(
            "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
             block must have a corresponding `tool_result` block in the next message.",
            missing.join(", ")
        )));
    }
    Ok((results, rest))
}

/// The user message behind a suspended turn: all results in the order of the calls, then the rest of what the client sent.
fn results_message(
    turn: &Turn,
    blocks: &[Block],
    index: usize,
    run: &HashMap<String, Block>,
) -> Result<Vec<Block>, ApiError> {
    let (mut results, rest) = results(turn, blocks, index)?;
    let calls = turn.calls.iter().filter_map(|call| match call.owner {
        Owner::Gateway => call.result.clone().or_else(|| run.get(&call.id).cloned()),
        Owner::Client => Some(
            results
                .remove(&call.visible_id)?
                .with_string("tool_use_id", &call.id),
        ),
    });
    let mut message: Vec<Block> = calls.collect();
    message.extend(rest);
    Ok(message)
}

/// The messages without thinking; `None` if they have none. Messages that would be empty are kept.
pub(crate) fn without_thinking(messages: &str) -> Option<String> {
    let text = format!("[{messages}]");
    let all: Vec<&RawValue> = serde_json::from_str(&text).ok()?;
    let mut out = String::with_capacity(messages.len());
    let mut is_changed = false;
    for message in all {
        let parsed = Message::parse(message.get()).ok()?;
        let kept: Vec<&Block> = parsed
            .blocks
            .iter()
            .filter(|block| !block.is_thinking())
            .collect();
        if kept.len() == parsed.blocks.len() || kept.is_empty() {
            push_text(&mut out, message.get());
        } else {
            is_changed = true;
            push_message(&mut out, &parsed.role, kept);
        }
    }
    is_changed.then_some(out)
}
