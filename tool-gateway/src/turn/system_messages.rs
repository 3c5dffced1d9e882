//! [`SystemMessages`]: the system messages between other messages of a request, with their places in the upstream request.

use std::sync::Arc;

use crate::session::chain::{ChainKey, Digest};
use crate::session::message_groups::Group;
use crate::session::recognize::Recognized;
use crate::session::record::SystemMessage;
use crate::wire::request::MessagesRequest;

/// The system messages of a request, in the order of the upstream request.
#[derive(Debug)]
pub(super) struct SystemMessages {
    /// Messages with a known or unchanged place, and then the new messages within the known history.
    located: Vec<Located>,
    /// Number of messages with a known or unchanged place.
    placed: usize,
}

/// A system message of a request. The struct is small, since all messages of a request may be system messages.
#[derive(Debug)]
struct Located {
    /// Index of the message in the request.
    at: u32,
    /// Index of the message in the last known turn; `u32::MAX` for a message that is not known, which comes last.
    seen_at: u32,
    system: SystemMessage,
}

impl SystemMessages {
    /// Locates the system messages of a request.
    pub(super) fn locate(key: &ChainKey, recognized: &Recognized, request: &MessagesRequest) -> Self {
        let known = recognized.last_known_turn();
        let known = known.map(|turn| &*turn.systems).unwrap_or_default();
        let mut unused = UnusedMessages::new(known);
        // A body is shorter than 4 GiB, so it has fewer than 2^32 messages.
        let systems = || {
            (0..)
                .zip(&request.messages)
                .filter(|(_, message)| message.is_system())
        };
        let mut located = Vec::with_capacity(systems().count());
        let mut groups_before: u32 = 0;
        for (at, message) in systems() {
            let is_in_front = |group: &Group| group.last() < at as usize;
            while recognized
                .groups
                .get(groups_before as usize)
                .is_some_and(is_in_front)
            {
                groups_before += 1;
            }
            let digest = key.message(b"system", &request.blocks(message));
            let seen = unused.take(groups_before, digest);
            let system = SystemMessage {
                groups_before,
                sent_after: seen.map_or(groups_before, |(_, known)| known.sent_after),
                digest,
            };
            located.push(Located {
                at,
                seen_at: seen.map_or(u32::MAX, |(seen_at, _)| seen_at),
                system,
            });
        }
        let last_known = recognized.last_known;
        let is_added = |message: &Located| {
            let index = message.system.groups_before as usize;
            message.seen_at == u32::MAX && last_known.is_some_and(|last| index <= last)
        };
        // Messages at one place are in the order in which they were first sent upstream.
        located.sort_unstable_by_key(|message| {
            let is_added = is_added(message);
            let place = (!is_added).then_some((message.system.sent_after, message.seen_at));
            (is_added, place, message.at)
        });
        Self {
            placed: located.partition_point(|message| !is_added(message)),
            located,
        }
    }

    /// Returns the messages with a known or unchanged place after this number of groups, with their indexes in the request.
    pub(super) fn after(&self, groups: usize) -> impl Iterator<Item = (usize, &SystemMessage)> {
        let placed = self.located.get(..self.placed).unwrap_or_default();
        let begin = placed.partition_point(|message| (message.system.sent_after as usize) < groups);
        let later = placed.get(begin..).unwrap_or_default().iter();
        later
            .take_while(move |message| message.system.sent_after as usize == groups)
            .map(|message| (message.at as usize, &message.system))
    }

    /// Places the new messages within the known history after this number of groups. Returns their indexes in the request.
    pub(super) fn place_added(&mut self, groups: usize) -> impl Iterator<Item = usize> {
        let groups = u32::try_from(groups).unwrap_or(u32::MAX);
        let added = self.located.get_mut(self.placed..).unwrap_or_default();
        for message in &mut *added {
            message.system.sent_after = groups;
        }
        added.iter().map(|message| message.at as usize)
    }

    /// Returns the messages for the record of the turn.
    pub(super) fn into_records(self) -> Arc<[SystemMessage]> {
        self.located.iter().map(|message| message.system).collect()
    }
}

/// System messages of the last known turn that no message of the request has matched.
struct UnusedMessages<'k> {
    known: &'k [SystemMessage],
    /// Indexes in `known`, sorted by place and content.
    sorted: Vec<u32>,
    /// Number of used messages, at the first of equal messages in `sorted`.
    used: Vec<u32>,
}

impl<'k> UnusedMessages<'k> {
    fn new(known: &'k [SystemMessage]) -> Self {
        let mut sorted: Vec<u32> = (0..).zip(known).map(|(at, _)| at).collect();
        sorted.sort_unstable_by_key(|at| {
            let system = known.get(*at as usize);
            (system.map(|system| (system.groups_before, system.digest)), *at)
        });
        Self {
            known,
            used: vec![0; sorted.len()],
            sorted,
        }
    }

    /// Returns the next message at this place with this content, and its index.
    fn take(&mut self, groups_before: u32, digest: Digest) -> Option<(u32, &'k SystemMessage)> {
        let place = |system: &SystemMessage| (system.groups_before, system.digest);
        let wanted = (groups_before, digest);
        let known = self.known;
        let first = self.sorted.partition_point(|at| {
            known
                .get(*at as usize)
                .is_some_and(|system| place(system) < wanted)
        });
        let used = self.used.get_mut(first)?;
        let at = *self.sorted.get(first + *used as usize)?;
        let system = known.get(at as usize).filter(|system| place(system) == wanted)?;
        *used += 1;
        Some((at, system))
    }
}
