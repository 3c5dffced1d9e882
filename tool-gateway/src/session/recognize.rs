//! Recognizes the session of a request, and the stored turns in its history. An ambiguous history is forwarded unchanged: no session is
//! resumed by a guess.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::added_defaults::without_added;
use super::chain::{ChainKey, Digest};
use super::client::{Client, call_digest, key_digest};
use super::finder::Finder;
use super::known_history::{Found, IsDeclared, KnownHistory, LastKnown, Match, choose};
use super::message_groups::{
    AnswerContent, AnswerPlace, Group, GroupDigests, GroupedMessages, exact_points, groups,
};
use super::record::{SessionId, Turn};
use super::store::{Lookup, MAX_TURNS_OF_POINT, SessionStore, StoreError};
use crate::wire::block::{Block, BlockText};
use crate::wire::request::MessagesRequest;

/// The known part of a request's conversation (`extract_new_messages` in requirements 004).
#[derive(Debug, Clone)]
pub(crate) struct Recognized {
    pub(crate) session: Option<SessionId>,
    pub(crate) found: Found,
    pub(crate) groups: Vec<Group>,
    pub(crate) answer_place: AnswerPlace,
    /// Stored turns by the index of their group.
    pub(crate) turns: HashMap<usize, Arc<Turn>>,
    /// Index of the last known group; later groups are new.
    pub(crate) last_known: Option<usize>,
    /// State of the session before the turn.
    pub(crate) state: Map<String, Value>,
    /// Index of the group with the latest known call, if the record of its turn is not readable.
    pub(crate) unreadable: Option<usize>,
    pub(crate) context: Digest,
}

impl Recognized {
    /// Creates the result for a request with an unknown conversation, with the digests of the conversation.
    pub(crate) fn unknown(
        key: &ChainKey,
        client: &Client,
        request: &MessagesRequest,
    ) -> (Self, GroupDigests) {
        let GroupedMessages {
            groups,
            digests,
            answer_place,
        } = groups(key, client.beginning, request);
        let unknown = Self {
            session: None,
            found: Found::New,
            groups,
            answer_place,
            turns: HashMap::new(),
            last_known: None,
            state: Map::new(),
            unreadable: None,
            context: key.context(request),
        };
        (unknown, digests)
    }

    /// Returns the last known turn.
    pub(crate) fn last_known_turn(&self) -> Option<&Arc<Turn>> {
        self.turns.get(&self.last_known?)
    }
}

/// Recognizes a request with one pass over its messages and one look-up in the store. Returns the digests of the conversation, too.
pub(crate) async fn recognize(
    key: &ChainKey,
    store: &dyn SessionStore,
    client: &Client,
    request: &MessagesRequest,
    ignore_context: Option<IsDeclared<'_>>,
) -> Result<(Recognized, GroupDigests), StoreError> {
    let (mut recognized, digests) = Recognized::unknown(key, client, request);
    let finder = Finder::new(store, client.digest);
    let lookup = look_up(
        key,
        finder,
        client,
        request,
        &recognized,
        &digests,
        ignore_context,
    )
    .await?;
    recognized.unreadable = lookup.unreadable;
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
    Ok((recognized, digests))
}

async fn look_up(
    key: &ChainKey,
    finder: Finder<'_>,
    client: &Client,
    request: &MessagesRequest,
    recognized: &Recognized,
    digests: &GroupDigests,
    ignore_context: Option<IsDeclared<'_>>,
) -> Result<KnownHistory, StoreError> {
    let groups = &recognized.groups;
    let answers = answer_indexes(request, groups, digests);
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
    let points = digests.points();
    // The store prefers the session of a call over the session of a key.
    let found = finder
        .history(Lookup {
            keys: &keys,
            calls: &calls,
            points,
            session: None,
        })
        .await?;
    let group_of = |at: usize| latest_calls.get(at).map(|(index, _)| *index);
    let unreadable = found.unreadable_call.and_then(group_of);
    let named = found.session;
    let minted = found.call.and_then(|(at, turn)| Some((group_of(at)?, turn)));
    let expected = minted.as_ref().map(|(_, turn)| &turn.session).or(named.as_ref());
    let expected = expected.cloned();
    let candidates = Candidates::new(
        key,
        finder,
        request,
        groups,
        digests,
        found.turns,
        expected.as_ref(),
    )
    .await?;
    let mut lookup = KnownHistory {
        context: recognized.context,
        answers,
        named,
        minted,
        unreadable,
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
        let turns = finder.turns(points, Some(&turn.session)).await?;
        let candidates =
            Candidates::new(key, finder, request, groups, digests, turns, Some(&turn.session)).await?;
        lookup.candidates = candidates.turns;
    }
    Ok(lookup)
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
        groups: &[Group],
        digests: &GroupDigests,
        mut turns: Vec<Vec<Arc<Turn>>>,
        session: Option<&SessionId>,
    ) -> Result<Self, StoreError> {
        let answers = answer_indexes(request, groups, digests);
        if finder.has_earlier_records() {
            find_exact(key, finder, request, groups, digests, &mut turns, session).await?;
        }
        let is_cut = turns.iter().any(|turns| turns.len() >= MAX_TURNS_OF_POINT);
        // The history after an edited message does not belong to the session.
        let mut edited: HashSet<SessionId> = HashSet::new();
        for (index, turns) in answers.iter().zip(&mut turns) {
            let found: HashSet<_> = turns.iter().map(|turn| turn.session.clone()).collect();
            let exact = digests.exact(*index);
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
    request: &MessagesRequest,
    groups: &[Group],
    digests: &GroupDigests,
    turns: &mut [Vec<Arc<Turn>>],
    session: Option<&SessionId>,
) -> Result<(), StoreError> {
    if !turns.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let points = exact_points(key, request, groups, digests);
    let missing = points.zip(&*turns).filter(|(_, turns)| turns.is_empty());
    let points: Vec<_> = missing.map(|(point, _)| point).collect();
    let earlier = finder.turns(&points, session).await?;
    let missing = turns.iter_mut().filter(|turns| turns.is_empty());
    for (turns, mut earlier) in missing.zip(earlier) {
        earlier.retain(|turn| !turn.is_joined);
        *turns = earlier;
    }
    Ok(())
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

/// Returns the blocks of a group of messages.
fn group_blocks<'r>(
    request: &'r MessagesRequest,
    groups: &'r [Group],
    index: usize,
) -> impl Iterator<Item = BlockText<'r>> + Clone {
    let group = groups.get(index).into_iter();
    group.flat_map(|group| group.blocks(request))
}

/// Returns the indexes of the assistant groups, as many as there are points.
fn answer_indexes(request: &MessagesRequest, groups: &[Group], digests: &GroupDigests) -> Vec<usize> {
    let answers = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.is_answer(request));
    let mut indexes = Vec::with_capacity(digests.points().len());
    indexes.extend(answers.map(|(index, _)| index));
    indexes
}

/// Returns the ids of the latest calls in a history, with the indexes of their groups.
fn latest_calls(request: &MessagesRequest, groups: &[Group]) -> Vec<(usize, String)> {
    let mut calls = Vec::new();
    for (index, group) in groups
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, group)| group.is_answer(request))
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

/// Maximum number of calls in a history that are looked up by id.
const MAX_LOOKUPS: usize = 32;
