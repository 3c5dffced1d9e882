//! [`SystemMessages`]: the system messages between other messages of a request, with their places in the upstream request.

use std::collections::{HashMap, VecDeque};

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

/// Maximum number of system messages whose places a turn stores. If a request has more, all of them stay at the client's places: the record
/// of a turn would take several times the memory of such a request.
const MAX_STORED: usize = 1_000;

impl SystemMessages {
    /// Locates the system messages of a request.
    pub(super) fn locate(key: &ChainKey, recognized: &Recognized, request: &MessagesRequest) -> Self {
        // A body is shorter than 4 GiB, so it has fewer than 2^32 messages.
        let systems = || {
            let messages = (0..).zip(&request.messages);
            messages.filter(|(_, message)| message.is_system())
        };
        let count = systems().count();
        let last_known = recognized.last_known.filter(|_| count <= MAX_STORED);
        let known = last_known.and_then(|_| recognized.last_known_turn());
        let known = known.map(|turn| turn.systems.as_slice()).unwrap_or_default();
        // Known system messages by position and content; equal messages are matched in order.
        let mut unused: HashMap<(u32, Digest), VecDeque<(u32, &SystemMessage)>> = HashMap::new();
        for (seen_at, system) in (0..).zip(known) {
            let key = (system.groups_before, system.digest);
            unused.entry(key).or_default().push_back((seen_at, system));
        }
        let mut located = Vec::with_capacity(count);
        let mut groups_before: u32 = 0;
        for (at, message) in systems() {
            let is_in_front = |group: &Group| group.last() < at as usize;
            let group = |index: u32| recognized.groups.get(index as usize);
            while group(groups_before).is_some_and(is_in_front) {
                groups_before += 1;
            }
            let digest = key.message(b"system", &request.blocks(message));
            let seen = unused.get_mut(&(groups_before, digest));
            let seen = seen.and_then(VecDeque::pop_front);
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
    pub(super) fn into_records(self) -> Vec<SystemMessage> {
        if self.located.len() > MAX_STORED {
            return Vec::new();
        }
        self.located.iter().map(|message| message.system).collect()
    }
}
