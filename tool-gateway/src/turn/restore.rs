//! The true transcript: the messages of a request as the upstream has seen them before, and what is new behind them.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::session::chain::{ChainKey, Digest};
use crate::session::recognize::Recognized;
use crate::session::record::{Call, Origin, Owner, SystemMessage, TrueMessage, Turn};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::message::{Message, push_message, push_text};
use crate::wire::object::{Object, with_field};
use crate::wire::request::MessagesRequest;

/// The calls of suspended turns that wait for the client's results and have not run yet: those with side effects.
pub(crate) fn deferred(recognized: &Recognized, request: &MessagesRequest<'_>) -> Vec<Call> {
    let Some((place, turn)) = recognized
        .head
        .and_then(|place| Some((place, recognized.turns.get(&place)?)))
    else {
        return Vec::new();
    };
    if recognized.groups.len() <= place + 1 || check(recognized, request).is_err() {
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
    let mut out = String::new();
    let mut continues_internal = false;
    let mut prior = Vec::new();
    let mut prior_visible = Vec::new();
    let (mut systems, later) = place_systems(key, recognized, request);
    let last = recognized.groups.len().saturating_sub(1);
    // System messages that are new go behind the known turn, and behind the results that belong to it.
    let new_systems_at = recognized.head.map(|head| match recognized.head() {
        Some(turn) if turn.is_suspended() => head + 2,
        _ => head + 1,
    });
    // What came before this turn was accepted without thinking only.
    let without = recognized
        .turns
        .iter()
        .filter(|(_, turn)| turn.drops_thinking)
        .map(|(place, _)| *place)
        .max();
    for (place, group) in recognized.groups.iter().enumerate() {
        if without == Some(place) {
            out = without_thinking(&out).unwrap_or(out);
        }
        let is_known = recognized
            .turns
            .get(&place)
            .is_some_and(|turn| !turn.truth.is_empty());
        let is_resume = !is_known
            && place
                .checked_sub(1)
                .and_then(|previous| recognized.turns.get(&previous))
                .is_some_and(|turn| turn.is_suspended());
        let first = group.messages.first().copied().unwrap_or_default();
        // Between two messages of the client's, which stand as they were sent.
        let is_inside = |at: usize, system: &SystemMessage| {
            !is_known && !is_resume && system.sent_at == system.place && at > first
        };
        if !is_resume {
            push_systems(&mut out, request, &systems, place, |at, system| {
                !is_inside(at, system)
            });
        }
        if new_systems_at == Some(place) {
            push_later(&mut out, request, &later, place, &mut systems);
        }
        let previous = place
            .checked_sub(1)
            .and_then(|previous| recognized.turns.get(&previous));
        if let Some(turn) = recognized.turns.get(&place).filter(|turn| !turn.truth.is_empty()) {
            let messages = marked(turn, &blocks_of(recognized, request, place));
            for message in &messages {
                push_message(&mut out, message.role, &message.blocks);
            }
            if place == last {
                prior_visible.clone_from(&turn.visible);
                prior.clone_from(&turn.truth);
            }
        } else if let Some(turn) = previous.filter(|turn| turn.is_suspended()) {
            let called = last_message(recognized, place - 1);
            let blocks = results_message(turn, &blocks_of(recognized, request, place), called, run)?;
            push_message(&mut out, "user", &blocks);
            // Nothing stands between calls and their results.
            push_systems(&mut out, request, &systems, place, |_, _| true);
            continues_internal = place == last && ran_internal(recognized, place - 1);
        } else {
            let mut written = first;
            for (at, message) in group
                .messages
                .iter()
                .filter_map(|at| Some((*at, request.messages.get(*at)?)))
            {
                push_systems(&mut out, request, &systems, place, |system_at, system| {
                    is_inside(system_at, system) && (written..at).contains(&system_at)
                });
                written = at;
                push_text(&mut out, message.text);
                if place == last && message.is_assistant() {
                    let at = prior.len();
                    let blocks = 0..message.blocks.len();
                    prior_visible.extend(blocks.map(|block| Origin { message: at, block }));
                    prior.push(TrueMessage {
                        role: "assistant",
                        blocks: message.blocks.clone(),
                    });
                }
            }
        }
        continues_internal |= place == last
            && recognized
                .turns
                .get(&place)
                .is_some_and(|turn| turn.truth.iter().any(|message| message.role == "user"));
    }
    let end = recognized.groups.len();
    push_systems(&mut out, request, &systems, end, |_, _| true);
    if new_systems_at.is_some_and(|at| at >= end) {
        push_later(&mut out, request, &later, end, &mut systems);
    }
    let systems = systems.into_iter().map(|(_, system)| system).collect();
    Ok(Restored {
        messages: out,
        continues_internal,
        systems,
        prior,
        prior_visible,
    })
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
        let digest: Digest = key.digest(&[b"system", message.text.as_bytes()]);
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

fn push_systems(
    out: &mut String,
    request: &MessagesRequest<'_>,
    systems: &Systems,
    place: usize,
    is_due: impl Fn(usize, &SystemMessage) -> bool,
) {
    let here = systems.iter().filter(|(_, system)| system.sent_at == place);
    for (at, _) in here.filter(|(at, system)| is_due(*at, system)) {
        if let Some(message) = request.messages.get(*at) {
            push_text(out, message.text);
        }
    }
}

fn push_later(
    out: &mut String,
    request: &MessagesRequest<'_>,
    later: &Systems,
    place: usize,
    systems: &mut Systems,
) {
    for (at, system) in later {
        if let Some(message) = request.messages.get(*at) {
            push_text(out, message.text);
        }
        // Already written: the caller has passed this place, or is at it.
        systems.push((
            *at,
            SystemMessage {
                sent_at: place,
                ..*system
            },
        ));
    }
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
        let is_thinking = |block: &&Block| {
            let kind = serde_json::from_str::<Value>(block.as_str()).ok();
            let kind = kind.as_ref().and_then(|block| block.get("type")?.as_str());
            matches!(kind, Some("thinking" | "redacted_thinking"))
        };
        let kept: Vec<&Block> = parsed.blocks.iter().filter(|block| !is_thinking(block)).collect();
        if kept.len() == parsed.blocks.len() || kept.is_empty() {
            push_text(&mut out, message.get());
        } else {
            is_changed = true;
            push_message(&mut out, &parsed.role, kept);
        }
    }
    is_changed.then_some(out)
}
