//! [`KnownHistory`]: the stored turns that may belong to a request, and the choice of the session among them.

use std::collections::HashMap;
use std::sync::Arc;

use super::chain::Digest;
use super::record::{SessionId, Turn};

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

/// Stored turns that may belong to a request's conversation.
pub(super) struct KnownHistory {
    pub(super) context: Digest,
    /// Indexes of the assistant groups.
    pub(super) answers: Vec<usize>,
    /// Session of the client's session keys.
    pub(super) named: Option<SessionId>,
    /// Turn of the latest call in the history with an id of this gateway, and the index of its group.
    pub(super) minted: Option<(usize, Arc<Turn>)>,
    /// Index of the group with this call, if the record of the turn is not readable.
    pub(super) unreadable: Option<usize>,
    /// Stored turns after each assistant group.
    pub(super) candidates: HashMap<usize, Vec<Arc<Turn>>>,
    /// Last known turn of the history.
    pub(super) last: Option<LastKnown>,
}

/// Last known turn of a history, the index of its group, and the means by which it was found.
#[derive(Clone)]
pub(super) struct LastKnown {
    pub(super) found: Found,
    pub(super) index: usize,
    pub(super) turn: Arc<Turn>,
}

/// Session and turns that were chosen for a conversation.
pub(super) struct Chosen {
    pub(super) found: Found,
    pub(super) session: Match,
    pub(super) turns: HashMap<usize, Arc<Turn>>,
    pub(super) last_known: Option<usize>,
}

/// Session of a conversation.
pub(super) enum Match {
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
pub(super) fn choose(lookup: &KnownHistory) -> Chosen {
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

/// Returns whether a tool is declared to the upstream with a request.
pub(crate) type IsDeclared<'a> = &'a (dyn Fn(&str) -> bool + Sync);

impl KnownHistory {
    /// Finds the last known turn by an id of this gateway, or else by a session key, or else by the history.
    pub(super) fn last_known(&self) -> Option<LastKnown> {
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
    pub(super) fn last_in_other_context(&self, is_declared: IsDeclared<'_>) -> Option<LastKnown> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::digest;

    /// Builds a turn from `session:context`; a suffix `!` adds a call of the client.
    fn turn(text: &str) -> Arc<Turn> {
        let (text, has_call) = text.strip_suffix('!').map_or((text, false), |text| (text, true));
        let (session, context) = text.split_once(':').unwrap();
        // A turn of this name has a call of the client.
        let name = if has_call { "suspended" } else { text };
        Arc::new(Turn {
            context: digest(context),
            truth: Vec::new(),
            ..crate::session::tests::turn(name, session, context)
        })
    }

    /// Describes the choice for a request with the context `c` and a history with these turns after each assistant message.
    fn chosen(history: &[&[&str]], named: Option<&str>, minted: Option<(usize, &str)>) -> String {
        let mut lookup = KnownHistory {
            context: digest("c"),
            answers: (0..history.len()).collect(),
            named: named.map(|name| SessionId::new(name.to_owned())),
            minted: minted.map(|(index, text)| (index, turn(text))),
            unreadable: None,
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
            Match::Continued(turn) => format!("{} continues", turn.session),
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
            (&[&["a:c"], &[]], None, None, "chain: a continues; [0] to Some(0)"),
            (
                &[&["a:c"], &["a:c"]],
                None,
                None,
                "chain: a continues; [0, 1] to Some(1)",
            ),
            // A session key or an id also finds a conversation with another system prompt.
            (&[&["a:other"]], None, None, "new: new; [] to None"),
            (
                &[&["a:other"]],
                Some("a"),
                None,
                "key: a continues; [0] to Some(0)",
            ),
            (
                &[&["a:other!"]],
                None,
                None,
                "minted: a continues; [0] to Some(0)",
            ),
            (
                &[&["a:other!"], &["a:c"]],
                None,
                None,
                "minted: a continues; [0, 1] to Some(1)",
            ),
            (
                &[&["a:other"], &["a:other!"]],
                None,
                None,
                "minted: a continues; [0, 1] to Some(1)",
            ),
            // Two conversations with one visible history.
            (&[&["a:c", "b:c"]], None, None, "new: new; [0] to Some(0)"),
            (
                &[&["a:c", "b:c"]],
                Some("a"),
                None,
                "key: a continues; [0] to Some(0)",
            ),
            (
                &[&["a:c", "b:c!"]],
                Some("a"),
                None,
                "minted: b continues; [0] to Some(0)",
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
                "minted: a continues; [0, 1] to Some(1)",
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
