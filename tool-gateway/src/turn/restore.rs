//! The true transcript: the messages of a request as the upstream has seen them before, and what is new behind them.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::session::canonical;
use crate::session::chain::{ChainKey, Digest};
use crate::session::recognize::Recognized;
use crate::session::record::{Call, Origin, Owner, SystemMessage, TrueMessage, Turn};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::message::{Message, push_message, push_text};
use crate::wire::object::{Object, with_field};
use crate::wire::request::MessagesRequest;

/// The calls of the gateway that wait for the client's results, which the request has: those with side effects. The request is
/// [checked](check).
pub(crate) fn deferred(recognized: &Recognized) -> Vec<Call> {
    let Some((place, turn)) = recognized
        .head
        .and_then(|place| Some((place, recognized.turns.get(&place)?)))
    else {
        return Vec::new();
    };
    if recognized.groups.len() <= place + 1 {
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
    for (place, turn) in &recognized.turns {
        if turn.is_suspended() && recognized.groups.len() > place + 1 {
            results(
                turn,
                &blocks_of(recognized, request, place + 1),
                last_message(recognized, *place),
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
    let (systems, later) = place_systems(key, recognized, request);
    let mut transcript = Transcript {
        recognized,
        request,
        systems,
        text: String::new(),
        prior: Vec::new(),
        prior_visible: Vec::new(),
    };
    // System messages that are new go behind the known turn, and behind the results that belong to it.
    let later_at = recognized.head.map(|head| match recognized.head() {
        Some(turn) if turn.is_suspended() => head + 2,
        _ => head + 1,
    });
    // What came before this turn was accepted without thinking only.
    let turns = recognized.turns.iter().filter(|(_, turn)| turn.drops_thinking);
    let without_thinking_to = turns.map(|(place, _)| *place).max();
    let end = recognized.groups.len();
    for place in 0..end {
        if without_thinking_to == Some(place)
            && let Some(text) = without_thinking(&transcript.text)
        {
            transcript.text = text;
        }
        let form = Form::of(recognized, place);
        match form {
            // Nothing stands between calls and their results.
            Form::Results(_) => {}
            Form::Known(_) => transcript.push_systems(place, |_, _| true),
            Form::AsSent => {
                let first = transcript.first_message(place);
                transcript.push_systems(place, |at, system| !is_inside(first, at, system));
            }
        }
        if later_at == Some(place) {
            transcript.push_later(&later, place);
        }
        match form {
            Form::Known(turn) => transcript.push_known(place, turn),
            Form::Results(turn) => transcript.push_results(place, turn, run)?,
            Form::AsSent => transcript.push_as_sent(place),
        }
    }
    transcript.push_systems(end, |_, _| true);
    if later_at.is_some_and(|at| at >= end) {
        transcript.push_later(&later, end);
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
    /// As the messages that the upstream has seen in its place.
    Known(&'t Turn),
    /// As one message with the results of all calls of a suspended turn.
    Results(&'t Turn),
    AsSent,
}

impl<'t> Form<'t> {
    fn of(recognized: &'t Recognized, place: usize) -> Self {
        let turn = |place: usize| recognized.turns.get(&place).map(|turn| &**turn);
        if let Some(turn) = turn(place).filter(|turn| !turn.truth.is_empty()) {
            return Self::Known(turn);
        }
        let suspended = place
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
    fn is_last(&self, place: usize) -> bool {
        place + 1 == self.recognized.groups.len()
    }

    /// The index of a group's first message.
    fn first_message(&self, place: usize) -> usize {
        let group = self.recognized.groups.get(place);
        group
            .and_then(|group| group.messages.first().copied())
            .unwrap_or_default()
    }

    fn push_known(&mut self, place: usize, turn: &Turn) {
        for message in marked(turn, &blocks_of(self.recognized, self.request, place)) {
            push_message(&mut self.text, message.role, &message.blocks);
        }
        if self.is_last(place) {
            self.prior_visible.clone_from(&turn.visible);
            self.prior.clone_from(&turn.truth);
        }
    }

    fn push_results(
        &mut self,
        place: usize,
        turn: &Turn,
        run: &HashMap<String, Block>,
    ) -> Result<(), ApiError> {
        let called = last_message(self.recognized, place - 1);
        let blocks = blocks_of(self.recognized, self.request, place);
        push_message(
            &mut self.text,
            "user",
            &results_message(turn, &blocks, called, run)?,
        );
        self.push_systems(place, |_, _| true);
        Ok(())
    }

    fn push_as_sent(&mut self, place: usize) {
        let messages = self
            .recognized
            .groups
            .get(place)
            .map(|group| group.messages.clone())
            .unwrap_or_default();
        let first = self.first_message(place);
        let mut written = first;
        for at in messages {
            let Some(message) = self.request.messages.get(at) else {
                continue;
            };
            self.push_systems(place, |system_at, system| {
                is_inside(first, system_at, system) && (written..at).contains(&system_at)
            });
            written = at;
            push_text(&mut self.text, message.text);
            if self.is_last(place) && message.is_assistant() {
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
                    role: "assistant",
                    // Marks are where the client has them, request by request.
                    blocks: message.blocks.iter().map(Block::without_mark).collect(),
                });
            }
        }
    }

    /// Writes the system messages of a place that are due.
    fn push_systems(&mut self, place: usize, is_due: impl Fn(usize, &SystemMessage) -> bool) {
        let here = self.systems.iter().filter(|(_, system)| system.sent_at == place);
        for (at, _) in here.filter(|(at, system)| is_due(*at, system)) {
            if let Some(message) = self.request.messages.get(*at) {
                push_text(&mut self.text, message.text);
            }
        }
    }

    /// Writes the system messages that are new within the known history, and keeps where they went.
    fn push_later(&mut self, later: &Systems, place: usize) {
        for (at, system) in later {
            if let Some(message) = self.request.messages.get(*at) {
                push_text(&mut self.text, message.text);
            }
            self.systems.push((
                *at,
                SystemMessage {
                    sent_at: place,
                    ..*system
                },
            ));
        }
    }
}

/// Whether a system message stands between two messages of a group that goes up as it was sent.
fn is_inside(first: usize, at: usize, system: &SystemMessage) -> bool {
    system.sent_at == system.place && at > first
}

/// Whether the last group goes on with a turn in which the gateway ran calls.
fn continues_internal(recognized: &Recognized, last: usize) -> bool {
    match Form::of(recognized, last) {
        Form::Known(turn) => turn.truth.iter().any(|message| message.role == "user"),
        Form::Results(_) => ran_internal(recognized, last - 1),
        Form::AsSent => false,
    }
}

/// Whether the gateway ran calls in the suspended turn at this place, or in those that it resumed.
fn ran_internal(recognized: &Recognized, place: usize) -> bool {
    let suspended = |place: usize| recognized.turns.get(&place).filter(|turn| turn.is_suspended());
    std::iter::successors(Some(place), |place| place.checked_sub(2))
        .map_while(suspended)
        .any(|turn| {
            turn.calls.iter().any(|call| call.owner == Owner::Gateway)
                || turn.truth.iter().any(|message| message.role == "user")
        })
}

type Systems = Vec<(usize, SystemMessage)>;

/// The system messages with their places: those that go where they are or were, and those that are new within the known history.
fn place_systems(
    key: &ChainKey,
    recognized: &Recognized,
    request: &MessagesRequest<'_>,
) -> (Systems, Systems) {
    let known = recognized
        .head()
        .map(|turn| turn.systems.as_slice())
        .unwrap_or_default();
    let mut used = vec![false; known.len()];
    let mut before = Vec::new();
    let mut later = Vec::new();
    for (at, message) in request
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.is_system())
    {
        let in_front =
            |group: &&crate::session::chain::Group| group.messages.last().is_some_and(|last| *last < at);
        let place = recognized.groups.iter().take_while(in_front).count();
        let digest: Digest = {
            let content = Value::Array(canonical::content(message.blocks.iter()));
            key.digest(&[b"system", &canonical::bytes(&content)])
        };
        let mut system = SystemMessage {
            place,
            sent_at: place,
            digest,
        };
        let seen = known.iter().enumerate().find(|(index, known)| {
            known.place == place && known.digest == digest && used.get(*index) == Some(&false)
        });
        match seen {
            Some((index, known)) => {
                if let Some(used) = used.get_mut(index) {
                    *used = true;
                }
                system.sent_at = known.sent_at;
                before.push((index, (at, system)));
            }
            None if recognized.head.is_some_and(|head| place <= head) => later.push((at, system)),
            None => before.push((usize::MAX, (at, system))),
        }
    }
    // In the order in which they went up first.
    before.sort_by_key(|(index, _)| *index);
    (before.into_iter().map(|(_, system)| system).collect(), later)
}

/// The place of a group's last message in the request.
fn last_message(recognized: &Recognized, place: usize) -> usize {
    let group = recognized.groups.get(place);
    group
        .and_then(|group| group.messages.last())
        .copied()
        .unwrap_or(place)
}

/// The blocks of a group of the client's.
fn blocks_of(recognized: &Recognized, request: &MessagesRequest<'_>, place: usize) -> Vec<Block> {
    let messages = recognized
        .groups
        .get(place)
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

/// Whether a block has a place among the visible ones: clients may leave out thinking and empty texts.
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
    place: usize,
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
                "messages.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must \
                 have a corresponding `tool_use` block in the previous message."
            )));
        }
        if results.insert(id.clone(), block.clone()).is_some() {
            return Err(ApiError::invalid(format!(
                "messages.{place}: each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )));
        }
    }
    let missing: Vec<&str> = turn
        .visible_ids()
        .filter(|id| !results.contains_key(*id))
        .collect();
    if !missing.is_empty() {
        return Err(ApiError::invalid(format!(
            "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
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
    place: usize,
    run: &HashMap<String, Block>,
) -> Result<Vec<Block>, ApiError> {
    let (mut results, rest) = results(turn, blocks, place)?;
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
