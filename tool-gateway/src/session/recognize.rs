//! Recognises the session of a request, and the stored turns in its history. When in doubt, what the client sent goes up as it
//! is: a guess is never resumed.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::chain::{AnswerContent, ChainKey, Digest, Group, groups};
use super::record::{SessionId, Turn};
use super::store::{MAX_TURNS_OF_POINT, SessionStore, StoreError};
use crate::wire::block::Block;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;

/// How a session was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// By the id of a call that was minted here.
    Minted,
    /// By a key that the client has for it.
    Key,
    /// By its history.
    Chain,
    /// It was not.
    New,
}

impl Found {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Minted => "minted",
            Self::Key => "key",
            Self::Chain => "chain",
            Self::New => "new",
        }
    }
}

/// The client, as far as sessions are concerned.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The name of its key, or a digest of its credential.
    pub(crate) principal: String,
    /// The session keys that it sends.
    pub(crate) keys: Vec<String>,
}

/// What is known of a request's conversation (`extract_new_messages` in requirements 004).
#[derive(Debug, Clone)]
pub(crate) struct Recognized {
    pub(crate) session: Option<SessionId>,
    pub(crate) found: Found,
    pub(crate) groups: Vec<Group>,
    /// The stored turns by the index of their group.
    pub(crate) turns: HashMap<usize, Arc<Turn>>,
    /// The index of the last known group; what follows is new.
    pub(crate) last_known: Option<usize>,
    /// The state to go on with.
    pub(crate) state: Map<String, Value>,
    pub(crate) context: Digest,
    pub(crate) beginning: Digest,
}

impl Recognized {
    /// A request whose conversation is not known.
    pub(crate) fn unknown(key: &ChainKey, client: &Client, request: &MessagesRequest) -> Self {
        let beginning = key.beginning(&client.principal);
        Self {
            session: None,
            found: Found::New,
            groups: groups(key, beginning, request),
            turns: HashMap::new(),
            last_known: None,
            state: Map::new(),
            context: key.context(request),
            beginning,
        }
    }

    /// The last turn that is known.
    pub(crate) fn last_known_turn(&self) -> Option<&Arc<Turn>> {
        self.turns.get(&self.last_known?)
    }
}

/// The digest under which a store has the call of this id.
pub(crate) fn call_digest(key: &ChainKey, principal: &str, id: &str) -> Digest {
    key.digest(&[b"call", principal.as_bytes(), id.as_bytes()])
}

/// The digest under which a store counts what a client has.
pub(crate) fn client_digest(key: &ChainKey, principal: &str) -> Digest {
    key.digest(&[b"client", principal.as_bytes()])
}

/// The digest under which a store has a session by a client's key.
pub(crate) fn key_digest(key: &ChainKey, principal: &str, name: &str) -> Digest {
    key.digest(&[b"key", principal.as_bytes(), name.as_bytes()])
}

/// Recognises a request: one pass over its messages, and one look into the store.
pub(crate) async fn recognize(
    key: &ChainKey,
    store: &dyn SessionStore,
    client: &Client,
    request: &MessagesRequest,
) -> Result<Recognized, StoreError> {
    let mut recognized = Recognized::unknown(key, client, request);
    let context = recognized.context;
    let answers: Vec<usize> = answer_indexes(&recognized.groups);
    let named = named(key, store, client).await?;
    let minted = minted(key, store, client, request, &recognized.groups).await?;
    // Those that come first, if they are in the history at all.
    let expected = minted.as_ref().map(|(_, turn)| &turn.session).or(named.as_ref());
    let mut candidates = candidates(store, &recognized.groups, expected).await?;

    let longest = |accepts: &dyn Fn(usize, &Turn) -> bool| {
        answers.iter().rev().find_map(|index| {
            let turn = candidates
                .get(index)?
                .iter()
                .rev()
                .find(|turn| accepts(*index, turn))?;
            Some((*index, Arc::clone(turn)))
        })
    };
    // An id that was minted here is in the history: no other conversation has it, whatever its prompt and its tools are now.
    let mut minted_at: HashMap<&SessionId, usize> = HashMap::new();
    for (at, turns) in &candidates {
        for turn in turns.iter().filter(|turn| turn.visible_ids().next().is_some()) {
            let first = minted_at.entry(&turn.session).or_insert(*at);
            *first = (*first).min(*at);
        }
    }
    let has_minted_id = |index: usize, turn: &Turn| {
        let first = minted_at.get(&turn.session);
        first.is_some_and(|first| *first <= index)
    };
    let by_id = longest(&has_minted_id);
    let by_key = || {
        named
            .as_ref()
            .and_then(|named| longest(&|_, turn| turn.session == *named))
    };
    let by_chain = || longest(&|_, turn| turn.context == context);
    let last = by_id
        .map(|last| (Found::Minted, last))
        .or_else(|| by_key().map(|last| (Found::Key, last)))
        .or_else(|| by_chain().map(|last| (Found::Chain, last)));

    // It was not expected, and its turns may be missing after points that have many.
    if let Some((_, (_, turn))) = last
        .as_ref()
        .filter(|(_, (_, turn))| expected != Some(&turn.session))
        && candidates.values().any(|turns| turns.len() >= MAX_TURNS_OF_POINT)
    {
        candidates = self::candidates(store, &recognized.groups, Some(&turn.session)).await?;
    }

    // Whether the session is known and the turn before this one is not.
    let mut is_detached = false;
    if let Some((found, (index, turn))) = last {
        // Two sessions with one visible history: which of them goes on is not known, so a new one does.
        let is_ambiguous = found == Found::Chain
            && candidates.get(&index).is_some_and(|all| {
                let mut same_history = all.iter().filter(|other| other.context == context);
                same_history.any(|other| other.session != turn.session)
            });
        let session = (!is_ambiguous).then_some(&turn.session);
        if !is_ambiguous {
            recognized.found = found;
            recognized.session = Some(turn.session.clone());
            recognized.state.clone_from(&turn.state);
        }
        for index in answers.iter().filter(|known| **known <= index) {
            if let Some(known) = candidates
                .get(index)
                .and_then(|turns| unambiguous(turns, session))
            {
                recognized.turns.insert(*index, known);
            }
        }
        recognized.last_known = Some(index);
    } else if let Some(named) = named {
        recognized.found = Found::Key;
        recognized.session = Some(named);
        is_detached = true;
    }
    // A turn with an id that was minted here, after a history that is not what it was: what is not known goes up as sent, and
    // this turn is restored, if it is whole. The session goes on with its latest state.
    if let Some((index, turn)) = minted
        && recognized.last_known.is_none_or(|last| last < index)
    {
        recognized.found = Found::Minted;
        recognized.session = Some(turn.session.clone());
        is_detached = true;
        if is_echo(key, &group_blocks(request, &recognized.groups, index), &turn) {
            recognized.turns.insert(index, turn);
            recognized.last_known = Some(index);
        } else {
            tracing::warn!(session = %turn.session, "a message with calls was edited; what the gateway ran in it is left out");
        }
    }
    restore_echoes(key, store, client, request, &mut recognized).await?;
    if is_detached && let Some(session) = &recognized.session {
        let session = store.session(session).await?;
        recognized.state = session.map(|session| session.state).unwrap_or_default();
    }
    Ok(recognized)
}

/// The stored turns after each of the model's groups.
async fn candidates(
    store: &dyn SessionStore,
    groups: &[Group],
    session: Option<&SessionId>,
) -> Result<HashMap<usize, Vec<Arc<Turn>>>, StoreError> {
    let answers = answer_indexes(groups);
    // The first request of a conversation needs nothing of the store.
    if answers.is_empty() {
        return Ok(HashMap::new());
    }
    let points: Vec<Digest> = answers
        .iter()
        .filter_map(|index| Some(groups.get(*index)?.digest))
        .collect();
    let turns = store.turns(&points, session).await?;
    Ok(answers.into_iter().zip(turns).collect())
}

/// Whether these are the blocks of a turn, perhaps with other space around texts, or other arguments where they were no JSON.
fn is_echo<'b>(key: &ChainKey, blocks: &(impl Iterator<Item = &'b Block> + Clone), turn: &Turn) -> bool {
    let content = AnswerContent::new(key, blocks.clone());
    content.digest() == turn.answer
        || [true, false]
            .into_iter()
            .any(|has_input| content.outline(has_input) == turn.outline)
}

/// Finds, by the ids of their calls, turns in front of the last known one that the client does not send as it got them. The last known
/// one proves that this is their conversation.
async fn restore_echoes(
    key: &ChainKey,
    store: &dyn SessionStore,
    client: &Client,
    request: &MessagesRequest,
    recognized: &mut Recognized,
) -> Result<(), StoreError> {
    let Some(last) = recognized.last_known_turn().cloned() else {
        return Ok(());
    };
    let last_known = recognized.last_known.unwrap_or_default();
    for (index, id) in latest_calls(request, &recognized.groups) {
        if index >= last_known || recognized.turns.contains_key(&index) {
            continue;
        }
        let call = call_digest(key, &client.principal, &id);
        if let Some(turn) = store.turn_of_call(call).await?
            && turn.session == last.session
            && is_echo(key, &group_blocks(request, &recognized.groups, index), &turn)
        {
            recognized.turns.insert(index, turn);
        }
    }
    Ok(())
}

/// The blocks of a group of the client's messages.
fn group_blocks<'r>(
    request: &'r MessagesRequest,
    groups: &'r [Group],
    index: usize,
) -> impl Iterator<Item = &'r Block> + Clone {
    let messages = groups
        .get(index)
        .map(|group| group.messages.as_slice())
        .unwrap_or_default();
    let messages = messages.iter().filter_map(|at| request.messages.get(*at));
    messages.flat_map(|message| &message.blocks)
}

/// The turn after a point of a conversation, of this session if it has one there. `None` if the visible history hides different
/// truths: which of them the client goes on with is not known.
fn unambiguous(turns: &[Arc<Turn>], session: Option<&SessionId>) -> Option<Arc<Turn>> {
    let is_own = |turn: &&Arc<Turn>| session.is_some_and(|session| turn.session == *session);
    let has_own = turns.iter().any(|turn| is_own(&turn));
    let mut among = turns.iter().rev().filter(|turn| !has_own || is_own(turn));
    let last = among.next()?;
    // One that went on without anything visible is after the same point.
    let is_beginning = |other: &Turn| !other.truth.is_empty() && last.truth.starts_with(&other.truth);
    among
        .all(|other| (other.truth == last.truth && other.calls == last.calls) || is_beginning(other))
        .then(|| Arc::clone(last))
}

/// The indexes of the model's groups.
fn answer_indexes(groups: &[Group]) -> Vec<usize> {
    let groups = groups.iter().enumerate();
    groups
        .filter(|(_, group)| group.role == "assistant")
        .map(|(index, _)| index)
        .collect()
}

/// How many calls of a history are looked up by their ids.
const MAX_LOOKUPS: usize = 32;

/// The ids of the latest calls in a history, with the indexes of their groups.
fn latest_calls(request: &MessagesRequest, groups: &[Group]) -> Vec<(usize, String)> {
    let mut calls = Vec::new();
    for (index, group) in groups
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, group)| group.role == "assistant")
    {
        let messages = group.messages.iter().filter_map(|at| request.messages.get(*at));
        let blocks = messages.flat_map(|message| &message.blocks);
        calls.extend(blocks.filter_map(Block::tool_use).map(|call| (index, call.id)));
        if calls.len() >= MAX_LOOKUPS {
            break;
        }
    }
    calls.truncate(MAX_LOOKUPS);
    calls
}

/// The turn of the latest call in the history that was minted here, and the index of its group.
async fn minted(
    key: &ChainKey,
    store: &dyn SessionStore,
    client: &Client,
    request: &MessagesRequest,
    groups: &[Group],
) -> Result<Option<(usize, Arc<Turn>)>, StoreError> {
    for (index, id) in latest_calls(request, groups) {
        if let Some(turn) = store
            .turn_of_call(call_digest(key, &client.principal, &id))
            .await?
        {
            return Ok(Some((index, turn)));
        }
    }
    Ok(None)
}

/// The session that the client names by one of its keys.
async fn named(
    key: &ChainKey,
    store: &dyn SessionStore,
    client: &Client,
) -> Result<Option<SessionId>, StoreError> {
    for name in &client.keys {
        let digest = key_digest(key, &client.principal, name);
        if let Some(session) = store.session_of_key(digest).await? {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

/// The keys that clients send for their sessions: hints, which the history has to confirm.
pub(crate) fn session_keys(header: Option<&str>, request: &MessagesRequest) -> Vec<String> {
    let mut keys: Vec<String> = header.map(|id| format!("header {id}")).into_iter().collect();
    let user = request
        .get("metadata")
        .and_then(|metadata| Object::parse(metadata).ok())
        .and_then(|metadata| metadata.string("user_id"));
    // Claude Code sends JSON there; other clients name a user, who has many sessions.
    let session = user
        .as_deref()
        .and_then(|user| Object::parse(user).ok()?.string("session_id"));
    keys.extend(session.map(|id| format!("user_id {id}")));
    let thread = request
        .get("thread")
        .and_then(|thread| serde_json::from_str::<String>(thread).ok());
    keys.extend(thread.map(|id| format!("thread {id}")));
    keys
}
