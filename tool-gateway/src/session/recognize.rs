//! Recognizes the session of a request, and the stored turns in its history. An ambiguous history is forwarded unchanged: no session is
//! resumed by a guess.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::added_defaults::without_added;
use super::chain::{AnswerContent, ChainKey, Digest, Group, Groups, exact_chain, groups};
use super::finder::Finder;
use super::principal::Principal;
use super::record::{SessionId, Turn};
use super::store::{Lookup, MAX_TURNS_OF_POINT, SessionStore, StoreError};
use crate::wire::block::{Block, BlockText};
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Means by which a session was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Id of a call that this gateway created.
    Minted,
    /// Session key of the client.
    Key,
    /// History of the request.
    Chain,
    /// History of the request, with another system prompt or other tools.
    History,
    /// No session was found.
    New,
    /// The history has an id of a call that the gateway created for this client, but the store does not have its turn.
    Lost,
}

impl Found {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Minted => "minted",
            Self::Key => "key",
            Self::Chain => "chain",
            Self::History => "history",
            Self::New => "new",
            Self::Lost => "lost",
        }
    }
}

/// Client of a request, with the session keys that the client sends.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) principal: Principal,
    /// Digest by which a store separates the entries of clients.
    pub(crate) digest: Digest,
    /// Session keys of the request.
    pub(crate) keys: Vec<String>,
}

impl Client {
    pub(crate) fn new(key: &ChainKey, principal: Principal, keys: Vec<String>) -> Self {
        Self {
            digest: key.digest(&[b"client", principal.as_bytes()]),
            principal,
            keys,
        }
    }
}

/// The known part of a request's conversation (`extract_new_messages` in requirements 004).
#[derive(Debug, Clone)]
pub(crate) struct Recognized {
    pub(crate) session: Option<SessionId>,
    pub(crate) found: Found,
    pub(crate) groups: Vec<Group>,
    /// Canonical content of the assistant message at the end of the request, which the response continues.
    pub(crate) begun: String,
    /// Stored turns by the index of their group.
    pub(crate) turns: HashMap<usize, Arc<Turn>>,
    /// Index of the last known group; later groups are new.
    pub(crate) last_known: Option<usize>,
    /// State of the session before the turn.
    pub(crate) state: Map<String, Value>,
    pub(crate) context: Digest,
    pub(crate) beginning: Digest,
}

impl Recognized {
    /// Creates the result for a request with an unknown conversation.
    pub(crate) fn unknown(key: &ChainKey, client: &Client, request: &MessagesRequest) -> Self {
        let beginning = key.beginning(&client.principal);
        let Groups { groups, begun } = groups(key, beginning, request);
        Self {
            session: None,
            found: Found::New,
            groups,
            begun,
            turns: HashMap::new(),
            last_known: None,
            state: Map::new(),
            context: key.context(request),
            beginning,
        }
    }

    /// Returns the last known turn.
    pub(crate) fn last_known_turn(&self) -> Option<&Arc<Turn>> {
        self.turns.get(&self.last_known?)
    }
}

/// Computes the digest by which a store finds the call with this id.
pub(crate) fn call_digest(key: &ChainKey, principal: &Principal, id: &str) -> Digest {
    key.digest(&[b"call", principal.as_bytes(), id.as_bytes()])
}

/// Computes the digest by which a store finds a session, from a client's session key.
pub(crate) fn key_digest(key: &ChainKey, principal: &Principal, name: &str) -> Digest {
    key.digest(&[b"key", principal.as_bytes(), name.as_bytes()])
}

/// Returns whether a tool is declared to the upstream with a request.
pub(crate) type IsDeclared<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// Recognizes a request with one pass over its messages and one look-up in the store.
pub(crate) async fn recognize(
    key: &ChainKey,
    store: &dyn SessionStore,
    client: &Client,
    request: &MessagesRequest,
    ignore_context: Option<IsDeclared<'_>>,
) -> Result<Recognized, StoreError> {
    let mut recognized = Recognized::unknown(key, client, request);
    let finder = Finder::new(store, client.digest);
    let lookup = look_up(key, finder, client, request, &recognized, ignore_context).await?;
    let chosen = choose(&lookup);
    recognized.found = chosen.found;
    recognized.turns = chosen.turns;
    recognized.last_known = chosen.last_known;
    match chosen.session {
        Match::New => {}
        Match::Continued(turn) => {
            recognized.session = Some(turn.session.clone());
            recognized.state.clone_from(&turn.state);
        }
        Match::Detached { session, minted } => {
            if let Some((index, turn)) = minted {
                restore_minted(key, request, &mut recognized, index, turn);
            }
            let stored = store.session(client.digest, &session).await?;
            recognized.state = stored.map(|session| session.state).unwrap_or_default();
            recognized.session = Some(session);
        }
    }
    restore_echoes(key, finder, client, request, &mut recognized).await?;
    Ok(recognized)
}

/// Stored turns that may belong to a request's conversation.
struct KnownHistory {
    context: Digest,
    /// Indexes of the assistant groups.
    answers: Vec<usize>,
    /// Session of the client's session keys.
    named: Option<SessionId>,
    /// Turn of the latest call in the history with an id of this gateway, and the index of its group.
    minted: Option<(usize, Arc<Turn>)>,
    /// Stored turns after each assistant group.
    candidates: HashMap<usize, Vec<Arc<Turn>>>,
    /// Last known turn of the history.
    last: Option<LastKnown>,
}

/// Last known turn of a history, the index of its group, and the means by which it was found.
#[derive(Clone)]
struct LastKnown {
    found: Found,
    index: usize,
    turn: Arc<Turn>,
}

async fn look_up(
    key: &ChainKey,
    finder: Finder<'_>,
    client: &Client,
    request: &MessagesRequest,
    recognized: &Recognized,
    ignore_context: Option<IsDeclared<'_>>,
) -> Result<KnownHistory, StoreError> {
    let groups = &recognized.groups;
    let answers = answer_indexes(groups);
    let keys: Vec<_> = client
        .keys
        .iter()
        .map(|name| key_digest(key, &client.principal, name))
        .collect();
    let latest_calls = latest_calls(request, groups);
    let calls: Vec<_> = latest_calls
        .iter()
        .map(|(_, id)| call_digest(key, &client.principal, id))
        .collect();
    let points = points(groups, &answers);
    // The store prefers the session of a call over the session of a key.
    let found = finder
        .history(Lookup {
            keys: &keys,
            calls: &calls,
            points: &points,
            session: None,
        })
        .await?;
    let named = found.session;
    let minted = found
        .call
        .and_then(|(at, turn)| Some((latest_calls.get(at)?.0, turn)));
    let expected = minted.as_ref().map(|(_, turn)| &turn.session).or(named.as_ref());
    let expected = expected.cloned();
    let candidates =
        Candidates::new(key, finder, request, recognized, found.turns, expected.as_ref()).await?;
    let mut lookup = KnownHistory {
        context: recognized.context,
        answers,
        named,
        minted,
        candidates: candidates.turns,
        last: None,
    };
    lookup.last = lookup.last_known();
    if let Some(is_declared) = ignore_context
        && client.keys.is_empty()
        && lookup.minted.is_none()
        && !candidates.is_cut
        && let Some(last) = lookup.last_in_other_context(is_declared)
    {
        lookup.last = Some(last);
    }
    // Another session was found. The candidates of points with many turns may lack turns of this session.
    if let Some(LastKnown { turn, .. }) = &lookup.last
        && expected.as_ref() != Some(&turn.session)
        && candidates.is_cut
    {
        let turns = finder.turns(&points, Some(&turn.session)).await?;
        let candidates =
            Candidates::new(key, finder, request, recognized, turns, Some(&turn.session)).await?;
        lookup.candidates = candidates.turns;
    }
    Ok(lookup)
}

impl KnownHistory {
    /// Finds the last known turn by an id of this gateway, or else by a session key, or else by the history.
    fn last_known(&self) -> Option<LastKnown> {
        // An id of this gateway belongs to a single conversation, even if the system prompt or the tools differ.
        let minted_at = self.minted_at();
        let has_minted_id = |index, turn: &Turn| {
            let first = minted_at.get(&turn.session);
            first.is_some_and(|first| *first <= index)
        };
        self.longest(Found::Minted, has_minted_id)
            .or_else(|| {
                let named = self.named.as_ref()?;
                self.longest(Found::Key, |_, turn| turn.session == *named)
            })
            .or_else(|| self.longest(Found::Chain, |_, turn| turn.context == self.context))
    }

    /// Returns the last turn of the history if all assistant messages are turns of exactly one session with hidden rounds, and the request
    /// declares the tools of these turns. The system prompt and other tools may differ. A request for a title or a summary has equal
    /// messages without tools, and must not receive the hidden rounds.
    fn last_in_other_context(&self, is_declared: IsDeclared<'_>) -> Option<LastKnown> {
        let index = *self.answers.last()?;
        match &self.last {
            None => {}
            Some(last) if last.found == Found::Chain && last.index < index => {}
            Some(_) => return None,
        }
        let last = self.candidates.get(&index)?;
        let session = &last.first()?.session;
        if last.iter().any(|turn| turn.session != *session) {
            return None;
        }
        let turn = |index: &usize| {
            let turn = unambiguous(self.candidates.get(index)?, Some(session))?;
            (turn.session == *session).then_some(turn)
        };
        let turns = self.answers.iter().map(turn).collect::<Option<Vec<_>>>()?;
        let mut with_hidden = turns.iter().filter(|turn| turn.has_hidden_round()).peekable();
        with_hidden.peek()?;
        let is_declared = |turn: &Arc<Turn>| turn.called().all(|name| is_declared(&name));
        let turn = with_hidden.all(is_declared).then(|| turns.last().cloned())??;
        Some(LastKnown {
            found: Found::History,
            index,
            turn,
        })
    }

    /// Returns the last turn of the history for which `accepts` returns `true`.
    fn longest(&self, found: Found, accepts: impl Fn(usize, &Turn) -> bool) -> Option<LastKnown> {
        self.answers.iter().rev().find_map(|index| {
            let mut turns = self.candidates.get(index)?.iter().rev();
            let turn = turns.find(|turn| accepts(*index, turn)).map(Arc::clone)?;
            Some(LastKnown {
                found,
                index: *index,
                turn,
            })
        })
    }

    /// Returns the index of the first turn with ids of this gateway, by session.
    fn minted_at(&self) -> HashMap<&SessionId, usize> {
        let mut minted_at = HashMap::new();
        for (at, turns) in &self.candidates {
            for turn in turns.iter().filter(|turn| turn.visible_ids().next().is_some()) {
                let first = minted_at.entry(&turn.session).or_insert(*at);
                *first = (*first).min(*at);
            }
        }
        minted_at
    }

    /// Returns whether several sessions have this visible history. The request could continue any of them, so a new session begins.
    fn is_ambiguous(&self, last: &LastKnown) -> bool {
        last.found == Found::Chain
            && self.candidates.get(&last.index).is_some_and(|all| {
                let mut same_history = all.iter().filter(|other| other.context == self.context);
                same_history.any(|other| other.session != last.turn.session)
            })
    }

    /// Returns the turns of the history up to an index, preferably of this session.
    fn turns_until(&self, last: usize, session: Option<&SessionId>) -> HashMap<usize, Arc<Turn>> {
        let known = self.answers.iter().filter(|index| **index <= last);
        let turn = |index: &usize| Some((*index, unambiguous(self.candidates.get(index)?, session)?));
        known.filter_map(turn).collect()
    }
}

/// Session and turns that were chosen for a conversation.
struct Chosen {
    found: Found,
    session: Match,
    turns: HashMap<usize, Arc<Turn>>,
    last_known: Option<usize>,
}

/// Session of a conversation.
enum Match {
    New,
    /// The session of this turn, which continues with the turn's state.
    Continued(Arc<Turn>),
    /// A session whose turn before the new messages is unknown, and which continues with its latest state.
    Detached {
        session: SessionId,
        /// Turn with an id of this gateway, after a changed history.
        minted: Option<(usize, Arc<Turn>)>,
    },
}

/// Chooses the session of a conversation, and the turns of its history.
fn choose(lookup: &KnownHistory) -> Chosen {
    let mut chosen = Chosen {
        found: Found::New,
        session: Match::New,
        turns: HashMap::new(),
        last_known: None,
    };
    if let Some(last) = &lookup.last {
        let session = (!lookup.is_ambiguous(last)).then_some(&last.turn.session);
        if session.is_some() {
            chosen.found = last.found;
            chosen.session = Match::Continued(Arc::clone(&last.turn));
        }
        chosen.turns = lookup.turns_until(last.index, session);
        chosen.last_known = Some(last.index);
    } else if let Some(named) = &lookup.named {
        chosen.found = Found::Key;
        chosen.session = Match::Detached {
            session: named.clone(),
            minted: None,
        };
    }
    if let Some((index, turn)) = &lookup.minted
        && chosen.last_known.is_none_or(|last| last < *index)
    {
        chosen.found = Found::Minted;
        chosen.session = Match::Detached {
            session: turn.session.clone(),
            minted: Some((*index, Arc::clone(turn))),
        };
    }
    chosen
}

/// Restores a turn with an id of this gateway if the request contains the complete turn. Unknown earlier messages are forwarded unchanged.
fn restore_minted(
    key: &ChainKey,
    request: &MessagesRequest,
    recognized: &mut Recognized,
    index: usize,
    turn: Arc<Turn>,
) {
    if is_echo_of(key, request, &recognized.groups, index, &turn) {
        recognized.turns.insert(index, turn);
        recognized.last_known = Some(index);
    } else {
        tracing::warn!(session = %turn.session, "a message with calls was edited; its internal calls are omitted");
    }
}

/// Stored turns after each assistant group.
struct Candidates {
    turns: HashMap<usize, Vec<Arc<Turn>>>,
    /// Whether a point has more turns than a store returns.
    is_cut: bool,
}

impl Candidates {
    /// Selects the candidates among the turns that were found after each assistant group.
    async fn new(
        key: &ChainKey,
        finder: Finder<'_>,
        request: &MessagesRequest,
        recognized: &Recognized,
        mut turns: Vec<Vec<Arc<Turn>>>,
        session: Option<&SessionId>,
    ) -> Result<Self, StoreError> {
        let groups = &recognized.groups;
        let answers = answer_indexes(groups);
        if finder.has_earlier_records() {
            find_exact(key, finder, recognized, &answers, &mut turns, session).await?;
        }
        let is_cut = turns.iter().any(|turns| turns.len() >= MAX_TURNS_OF_POINT);
        // The history after an edited message does not belong to the session.
        let mut edited: HashSet<SessionId> = HashSet::new();
        for (index, turns) in answers.iter().zip(&mut turns) {
            let found: HashSet<_> = turns.iter().map(|turn| turn.session.clone()).collect();
            let exact = groups.get(*index).map(|group| group.exact);
            turns.retain(|turn| {
                let is_same =
                    || exact == Some(turn.answer) || turn.has_texts(group_blocks(request, groups, *index));
                !edited.contains(&turn.session) && is_same()
            });
            let is_edited = |session: &SessionId| turns.iter().all(|turn| turn.session != *session);
            edited.extend(found.into_iter().filter(is_edited));
        }
        Ok(Self {
            turns: answers
                .into_iter()
                .zip(turns)
                .filter(|(_, turns)| !turns.is_empty())
                .collect(),
            is_cut,
        })
    }
}

/// Adds turns of records of version 5, whose points are digests of each text. Version 6 is the last version that reads such records.
async fn find_exact(
    key: &ChainKey,
    finder: Finder<'_>,
    recognized: &Recognized,
    answers: &[usize],
    turns: &mut [Vec<Arc<Turn>>],
    session: Option<&SessionId>,
) -> Result<(), StoreError> {
    let mut missing: Vec<_> = answers
        .iter()
        .zip(turns)
        .filter(|(_, turns)| turns.is_empty())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut chain = exact_chain(key, recognized.beginning, &recognized.groups);
    let mut points = Vec::new();
    let mut at = 0;
    for (index, _) in &missing {
        // Indexes increase.
        points.extend(chain.nth(**index - at));
        at = **index + 1;
    }
    let earlier = finder.turns(&points, session).await?;
    for ((_, turns), mut earlier) in missing.iter_mut().zip(earlier) {
        earlier.retain(|turn| !turn.is_joined);
        **turns = earlier;
    }
    Ok(())
}

/// Returns whether a group of messages equals a turn's visible message, except for changes that clients make.
fn is_echo_of(
    key: &ChainKey,
    request: &MessagesRequest,
    groups: &[Group],
    index: usize,
    turn: &Turn,
) -> bool {
    let blocks = group_blocks(request, groups, index);
    is_echo(key, blocks.clone(), turn)
        || without_added(request, blocks, turn)
            .is_some_and(|blocks| is_echo(key, blocks.iter().map(Block::borrowed), turn))
}

/// Returns whether the blocks equal a turn's visible blocks, except for the division of texts and for invalid arguments.
fn is_echo<'b>(key: &ChainKey, blocks: impl Iterator<Item = BlockText<'b>> + Clone, turn: &Turn) -> bool {
    let content = AnswerContent::new(key, &blocks);
    if !turn.is_joined {
        return content.exact() == turn.answer
            || [true, false]
                .into_iter()
                .any(|has_input| content.trimmed(has_input) == turn.outline);
    }
    let is_outline = |has_input| content.joined(has_input) == turn.outline;
    (is_outline(true) || is_outline(false)) && turn.has_texts(blocks)
}

/// Finds earlier turns by the ids of their calls, if the client has changed the content of these turns. The last known turn proves that the
/// turns belong to this conversation.
async fn restore_echoes(
    key: &ChainKey,
    finder: Finder<'_>,
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
        if let Some(turn) = finder.turn_of_call(call).await?
            && turn.session == last.session
            && is_echo_of(key, request, &recognized.groups, index, &turn)
        {
            recognized.turns.insert(index, turn);
        }
    }
    Ok(())
}

/// Returns the blocks of a group of messages.
fn group_blocks<'r>(
    request: &'r MessagesRequest,
    groups: &'r [Group],
    index: usize,
) -> impl Iterator<Item = BlockText<'r>> + Clone {
    let group = groups.get(index).into_iter();
    group.flat_map(|group| group.blocks(request))
}

/// Returns the turn after a point of a conversation, preferably a turn of this session. Returns `None` if the visible history has several
/// true transcripts, since the client could continue any of them.
fn unambiguous(turns: &[Arc<Turn>], session: Option<&SessionId>) -> Option<Arc<Turn>> {
    let is_own = |turn: &&Arc<Turn>| session.is_some_and(|session| turn.session == *session);
    let has_own = turns.iter().any(|turn| is_own(&turn));
    let mut among = turns.iter().rev().filter(|turn| !has_own || is_own(turn));
    let last = among.next()?;
    // A turn without visible content has the point of the turn that it continues.
    let is_beginning = |other: &Turn| !other.truth.is_empty() && last.truth.starts_with(&other.truth);
    among
        .all(|other| {
            (other.truth == last.truth && other.begun == last.begun && other.calls == last.calls)
                || is_beginning(other)
        })
        .then(|| Arc::clone(last))
}

/// Returns the indexes of the assistant groups.
fn answer_indexes(groups: &[Group]) -> Vec<usize> {
    let groups = groups.iter().enumerate();
    groups
        .filter(|(_, group)| group.role == Role::Assistant)
        .map(|(index, _)| index)
        .collect()
}

/// Returns the points after these groups.
fn points(groups: &[Group], indexes: &[usize]) -> Vec<Digest> {
    let points = indexes
        .iter()
        .filter_map(|index| Some(groups.get(*index)?.digest));
    points.collect()
}

/// Maximum number of calls in a history that are looked up by id.
const MAX_LOOKUPS: usize = 32;

/// Returns the ids of the latest calls in a history, with the indexes of their groups.
fn latest_calls(request: &MessagesRequest, groups: &[Group]) -> Vec<(usize, String)> {
    let mut calls = Vec::new();
    for (index, group) in groups
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, group)| group.role == Role::Assistant)
    {
        calls.extend(
            group
                .blocks(request)
                .filter_map(|block| block.tool_use())
                .map(|call| (index, call.id)),
        );
        if calls.len() >= MAX_LOOKUPS {
            break;
        }
    }
    calls.truncate(MAX_LOOKUPS);
    calls
}

/// Returns the session keys of a request, combined with the agent of the session. A session key is only a hint: the history must confirm
/// the session.
pub(crate) fn session_keys(
    header: Option<&str>,
    agent: Option<&str>,
    request: &MessagesRequest,
) -> Vec<String> {
    let mut keys: Vec<String> = header.map(|id| format!("header {id}")).into_iter().collect();
    let user = request
        .get("metadata")
        .and_then(Object::from_json)
        .and_then(|metadata| metadata.string("user_id"));
    // Claude Code sends JSON in this field. Other clients send the name of a user, which is no session key, since a user has many sessions.
    let session = user
        .as_deref()
        .and_then(|user| Object::parse(user).ok()?.string("session_id"));
    keys.extend(session.map(|id| format!("user_id {id}")));
    let thread = request
        .get("thread")
        .and_then(|thread| serde_json::from_str::<String>(thread).ok());
    keys.extend(thread.map(|id| format!("thread {id}")));
    if let Some(agent) = agent.filter(|agent| !agent.is_empty()) {
        // Headers have no line breaks, so keys of different agents differ.
        keys = keys.iter().map(|key| format!("agent {agent}\n{key}")).collect();
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::record::{Call, Owner};

    fn digest(name: &str) -> Digest {
        ChainKey::new([1; 32]).digest(&[name.as_bytes()])
    }

    /// Builds a turn from `session:context`; a suffix `!` adds a call of the client.
    fn turn(text: &str) -> Arc<Turn> {
        let (text, has_call) = text.strip_suffix('!').map_or((text, false), |text| (text, true));
        let (session, context) = text.split_once(':').unwrap();
        let call = Call {
            id: String::new(),
            visible_id: "toolu_1".to_owned(),
            name: String::new(),
            input: String::new(),
            owner: Owner::External,
            result: None,
            is_begun: false,
            is_from_text: false,
        };
        let digest = digest(context);
        Arc::new(Turn {
            id: text.to_owned(),
            session: SessionId::new(session.to_owned()),
            point: digest,
            context: digest,
            answer: digest,
            outline: digest,
            is_joined: true,
            begun: None,
            truth: Vec::new(),
            is_unchanged: true,
            drops_thinking: false,
            generation: None,
            visible: Vec::new(),
            calls: has_call.then_some(call).into_iter().collect(),
            systems: Vec::new(),
            state: Map::new(),
        })
    }

    /// Describes the choice for a request with the context `c` and a history with these turns after each assistant message.
    fn chosen(history: &[&[&str]], named: Option<&str>, minted: Option<(usize, &str)>) -> String {
        let mut lookup = KnownHistory {
            context: digest("c"),
            answers: (0..history.len()).collect(),
            named: named.map(|name| SessionId::new(name.to_owned())),
            minted: minted.map(|(index, text)| (index, turn(text))),
            candidates: history
                .iter()
                .map(|turns| turns.iter().map(|text| turn(text)).collect())
                .enumerate()
                .collect(),
            last: None,
        };
        lookup.last = lookup.last_known();
        let chosen = choose(&lookup);
        let session = match chosen.session {
            Match::New => "new".to_owned(),
            Match::Continued(turn) => format!("{} goes on", turn.session),
            Match::Detached {
                session,
                minted: None,
            } => format!("{session} detached"),
            Match::Detached {
                session,
                minted: Some((index, _)),
            } => format!("{session} detached, minted at {index}"),
        };
        let mut known: Vec<_> = chosen.turns.into_keys().collect();
        known.sort_unstable();
        let found = chosen.found.as_str();
        format!("{found}: {session}; {known:?} to {:?}", chosen.last_known)
    }

    #[test]
    fn chooses_by_ids_then_keys_then_the_history() {
        type Row<'a> = (
            &'a [&'a [&'a str]],
            Option<&'a str>,
            Option<(usize, &'a str)>,
            &'a str,
        );
        let rows: &[Row<'_>] = &[
            (&[], None, None, "new: new; [] to None"),
            (&[&[]], None, None, "new: new; [] to None"),
            (&[&["a:c"], &[]], None, None, "chain: a goes on; [0] to Some(0)"),
            (
                &[&["a:c"], &["a:c"]],
                None,
                None,
                "chain: a goes on; [0, 1] to Some(1)",
            ),
            // A session key or an id also finds a conversation with another system prompt.
            (&[&["a:other"]], None, None, "new: new; [] to None"),
            (&[&["a:other"]], Some("a"), None, "key: a goes on; [0] to Some(0)"),
            (&[&["a:other!"]], None, None, "minted: a goes on; [0] to Some(0)"),
            (
                &[&["a:other!"], &["a:c"]],
                None,
                None,
                "minted: a goes on; [0, 1] to Some(1)",
            ),
            (
                &[&["a:other"], &["a:other!"]],
                None,
                None,
                "minted: a goes on; [0, 1] to Some(1)",
            ),
            // Two conversations with one visible history.
            (&[&["a:c", "b:c"]], None, None, "new: new; [0] to Some(0)"),
            (
                &[&["a:c", "b:c"]],
                Some("a"),
                None,
                "key: a goes on; [0] to Some(0)",
            ),
            (
                &[&["a:c", "b:c!"]],
                Some("a"),
                None,
                "minted: b goes on; [0] to Some(0)",
            ),
            // The history has changed.
            (&[&[]], Some("a"), None, "key: a detached; [] to None"),
            (
                &[&[], &[]],
                None,
                Some((1, "a:c!")),
                "minted: a detached, minted at 1; [] to None",
            ),
            (
                &[&["a:c"], &[]],
                Some("b"),
                Some((1, "a:c!")),
                "minted: a detached, minted at 1; [0] to Some(0)",
            ),
            (
                &[&["a:c"], &["a:c!"]],
                None,
                Some((1, "a:c!")),
                "minted: a goes on; [0, 1] to Some(1)",
            ),
        ];
        for (history, named, minted, expected) in rows {
            assert_eq!(
                chosen(history, *named, *minted),
                *expected,
                "{history:?} {named:?}"
            );
        }
    }
}
