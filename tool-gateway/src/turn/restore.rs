//! True transcript: the earlier messages of a request in the upstream's form, followed by the new messages.

use std::collections::{HashMap, HashSet};

use super::system_messages::SystemMessages;
use super::thinking::without_thinking;
use crate::session::chain::ChainKey;
use crate::session::message_groups::Group;
use crate::session::recognize::Recognized;
use crate::session::record::{Call, Origin, Owner, SystemMessage, TrueMessage, Turn};
use crate::session::texts::{BegunEnd, Divided, ends_in_visible};
use crate::wire::block::{Block, BlockText};
use crate::wire::error::ApiError;
use crate::wire::message::Message;
use crate::wire::message_list::MessageList;
use crate::wire::object::{push_string, set_field};
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Returns the deferred calls of the turn that a request resumes. The request must be [checked](check).
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
    let deferred = turn.calls.iter().filter(|call| call.is_deferred());
    deferred.cloned().collect()
}

/// Transcript for the upstream.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    pub(crate) messages: MessageList,
    /// Whether the client's last message answers a turn in which the gateway ran calls.
    pub(crate) continues_internal: bool,
    /// Whether thinking blocks were removed after the user's last text. The API accepts such messages with thinking off only.
    pub(crate) lacks_thinking: bool,
    pub(crate) systems: Vec<SystemMessage>,
    /// Stored messages that the answer continues, if the request ends with a known message of the model.
    pub(crate) prior: Vec<TrueMessage>,
    pub(crate) prior_visible: Vec<Origin>,
    /// End of the client's own blocks before the prior messages. The client sends these blocks with each later request.
    pub(crate) begun: Option<BegunEnd>,
    /// Whether the answer continues only messages that are forwarded as the client sends them.
    pub(crate) is_prior_sent: bool,
}

/// Checks that each external call of a suspended turn has one result.
pub(crate) fn check(recognized: &Recognized, request: &MessagesRequest) -> Result<(), ApiError> {
    for (index, turn) in &recognized.turns {
        if turn.is_suspended() && recognized.groups.len() > index + 1 {
            results(
                turn,
                blocks_of(recognized, request, index + 1),
                last_message(recognized, *index),
            )?;
        }
    }
    Ok(())
}

/// Restores the messages of a request. `run` has the results of deferred calls by call id.
pub(crate) fn restore(
    key: &ChainKey,
    recognized: &Recognized,
    request: &MessagesRequest,
    run: &HashMap<String, Block>,
) -> Result<Restored, ApiError> {
    let mut transcript = Transcript {
        recognized,
        request,
        systems: SystemMessages::locate(key, recognized, request),
        messages: MessageList::default(),
        prior: Vec::new(),
        prior_visible: Vec::new(),
        begun: None,
        is_prior_sent: false,
    };
    // New system messages follow the known turn and the results of its calls.
    let added_at = recognized
        .last_known
        .map(|last| match recognized.last_known_turn() {
            Some(turn) if turn.is_suspended() => last + 2,
            _ => last + 1,
        });
    // The upstream accepted all messages before such a turn only without thinking.
    let turns = recognized.turns.iter().filter(|(_, turn)| turn.drops_thinking);
    let without_thinking_to = turns.map(|(index, _)| *index).max();
    let end = recognized.groups.len();
    for index in 0..end {
        if without_thinking_to == Some(index)
            && let Some(text) = without_thinking(&transcript.messages.to_text(request))
        {
            transcript.messages = MessageList::from_text(text);
        }
        let form = GroupForm::new(recognized, index);
        match form {
            // System messages must not separate calls from their results.
            GroupForm::Results(_) => {}
            GroupForm::Replaced(_) => transcript.push_systems(index, |_, _| true),
            GroupForm::AsSent => {
                let first = transcript.first_message(index);
                transcript.push_systems(index, |at, system| !is_inside(first, at, system));
            }
        }
        if added_at == Some(index) {
            transcript.push_added(index);
        }
        match form {
            GroupForm::Replaced(turn) => transcript.push_known(index, turn),
            GroupForm::Results(turn) => transcript.push_results(index, turn, run)?,
            GroupForm::AsSent => transcript.push_as_sent(index),
        }
    }
    transcript.push_systems(end, |_, _| true);
    if added_at.is_some_and(|at| at >= end) {
        transcript.push_added(end);
    }
    Ok(Restored {
        messages: transcript.messages,
        continues_internal: end
            .checked_sub(1)
            .is_some_and(|last| continues_internal(recognized, last)),
        lacks_thinking: without_thinking_to.is_some_and(|turn| !has_user_text(recognized, request, turn + 1)),
        systems: transcript.systems.into_records(),
        prior: transcript.prior,
        prior_visible: transcript.prior_visible,
        begun: transcript.begun,
        is_prior_sent: transcript.is_prior_sent,
    })
}

/// Form of a group of the client's messages in the upstream request.
enum GroupForm<'t> {
    /// The messages that the upstream saw in place of the group.
    Replaced(&'t Turn),
    /// Message with the results of all calls of a suspended turn.
    Results(&'t Turn),
    AsSent,
}

impl<'t> GroupForm<'t> {
    fn new(recognized: &'t Recognized, index: usize) -> Self {
        let turn = |index: usize| recognized.turns.get(&index).map(|turn| &**turn);
        // A turn that passed unchanged has no stored messages. A turn whose messages are all hidden replaces the group by no messages.
        if let Some(turn) = turn(index).filter(|turn| !turn.truth.is_empty() || !turn.is_unchanged) {
            return Self::Replaced(turn);
        }
        let suspended = index
            .checked_sub(1)
            .and_then(turn)
            .filter(|turn| turn.is_suspended());
        suspended.map_or(Self::AsSent, Self::Results)
    }
}

/// Restored messages.
struct Transcript<'r> {
    recognized: &'r Recognized,
    request: &'r MessagesRequest,
    systems: SystemMessages,
    messages: MessageList,
    prior: Vec<TrueMessage>,
    prior_visible: Vec<Origin>,
    begun: Option<BegunEnd>,
    is_prior_sent: bool,
}

impl Transcript<'_> {
    fn is_last(&self, index: usize) -> bool {
        index + 1 == self.recognized.groups.len()
    }

    /// Returns the index of a group's first message.
    fn first_message(&self, index: usize) -> usize {
        let group = self.recognized.groups.get(index);
        group.map(Group::first).unwrap_or_default()
    }

    fn push_known(&mut self, index: usize, turn: &Turn) {
        let Divided { mut begun, rest } = turn.divide(blocks_of(self.recognized, self.request, index));
        if turn.drops_thinking && !begun.iter().all(BlockText::is_thinking) {
            begun.retain(|block| !block.is_thinking());
        }
        if !begun.is_empty() {
            self.messages.push_written(&Role::Assistant, &begun);
        }
        for message in marked(turn, rest) {
            self.messages.push_written(&message.role, &message.blocks);
        }
        if self.is_last(index) {
            self.begun = turn.begun;
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
        push_results(&mut self.messages, turn, blocks, called, run)?;
        self.push_systems(index, |_, _| true);
        Ok(())
    }

    fn push_as_sent(&mut self, index: usize) {
        let group = self.recognized.groups.get(index).into_iter();
        let messages = group.flat_map(|group| group.indexes(self.request));
        let first = self.first_message(index);
        let here = self.systems.after(index);
        let inside: Vec<usize> = here
            .filter(|(at, system)| is_inside(first, *at, system))
            .map(|(at, _)| at)
            .collect();
        let mut inside = inside.into_iter().peekable();
        for at in messages {
            while let Some(system_at) = inside.next_if(|system_at| *system_at < at) {
                self.messages.push_sent(system_at);
            }
            self.messages.push_sent(at);
            let message = self.request.messages.get(at);
            self.is_prior_sent = self.is_last(index) && message.is_some_and(Message::is_assistant);
        }
        if self.is_prior_sent {
            let blocks = blocks_of(self.recognized, self.request, index);
            self.begun = Some(BegunEnd::new(blocks));
        }
    }

    /// Writes the system messages that are due after `index` groups.
    fn push_systems(&mut self, index: usize, is_due: impl Fn(usize, &SystemMessage) -> bool) {
        let here = self.systems.after(index);
        for (at, _) in here.filter(|(at, system)| is_due(*at, system)) {
            self.messages.push_sent(at);
        }
    }

    /// Writes the new system messages within the known history, and records their positions.
    fn push_added(&mut self, index: usize) {
        for at in self.systems.place_added(index) {
            self.messages.push_sent(at);
        }
    }
}

/// Returns whether a system message is between two messages of a group that is forwarded unchanged.
fn is_inside(first: usize, at: usize, system: &SystemMessage) -> bool {
    system.sent_after == system.groups_before && at > first
}

/// Returns whether the last group continues a turn in which the gateway ran calls.
fn continues_internal(recognized: &Recognized, last: usize) -> bool {
    match GroupForm::new(recognized, last) {
        GroupForm::Replaced(turn) => turn.truth.iter().any(|message| message.role == Role::User),
        GroupForm::Results(_) => ran_internal(recognized, last - 1),
        GroupForm::AsSent => false,
    }
}

/// Returns whether the gateway ran calls in the suspended turn at this index, or in the turns that it resumed.
fn ran_internal(recognized: &Recognized, index: usize) -> bool {
    let suspended = |index: usize| recognized.turns.get(&index).filter(|turn| turn.is_suspended());
    std::iter::successors(Some(index), |index| index.checked_sub(2))
        .map_while(suspended)
        .any(|turn| {
            turn.calls.iter().any(|call| call.owner == Owner::Internal)
                || turn.truth.iter().any(|message| message.role == Role::User)
        })
}

/// Whether the user sent anything but results of calls, from the group with this index on.
fn has_user_text(recognized: &Recognized, request: &MessagesRequest, from: usize) -> bool {
    let groups = recognized.groups.iter().enumerate().skip(from);
    let mut users = groups.filter(|(_, group)| *group.role(request) == Role::User);
    users.any(|(index, _)| {
        let mut blocks = blocks_of(recognized, request, index);
        blocks.any(|block| !block.object().is("type", "tool_result"))
    })
}

/// Returns the index of a group's last message in the request.
fn last_message(recognized: &Recognized, index: usize) -> usize {
    let group = recognized.groups.get(index);
    group.map_or(index, Group::last)
}

/// Returns the blocks of a group of the client's messages.
fn blocks_of<'r>(
    recognized: &'r Recognized,
    request: &'r MessagesRequest,
    index: usize,
) -> impl Iterator<Item = BlockText<'r>> + Clone {
    let group = recognized.groups.get(index).into_iter();
    group.flat_map(|group| group.blocks(request))
}

/// Returns the true messages of a turn with the cache marks of the client's request.
fn marked(turn: &Turn, mut echoed: Vec<BlockText<'_>>) -> Vec<TrueMessage> {
    let mut messages = turn.truth.clone();
    echoed.retain(BlockText::is_counted);
    let marks: Vec<_> = echoed.iter().map(mark).collect();
    if marks.iter().all(Option::is_none) {
        return messages;
    }
    let visible = turn
        .visible_blocks()
        .map(|(origin, block)| (origin, block.borrowed()));
    let (origins, visible): (Vec<_>, Vec<_>) = visible.unzip();
    for (mark, end) in marks.into_iter().zip(ends_in_visible(&echoed, &visible)) {
        let origin = end.and_then(|end| turn.visible.get(*origins.get(end)?));
        let block = origin.and_then(|origin| messages.get_mut(origin.message)?.blocks.get_mut(origin.block));
        if let (Some(mark), Some(block)) = (mark, block) {
            // Two parts of one text may have marks.
            *block = Block::new(set_field(block.as_str(), "cache_control", &mark));
        }
    }
    messages
}

/// Returns the cache mark of a block.
fn mark(block: &BlockText<'_>) -> Option<String> {
    block
        .object()
        .get("cache_control")
        .filter(|mark| *mark != "null")
        .map(str::to_owned)
}

/// Whether a block is the result of a call.
fn is_result(block: &BlockText<'_>) -> bool {
    block.object().is("type", "tool_result")
}

/// Returns the client's results by the visible ids of their calls.
fn results<'b>(
    turn: &Turn,
    blocks: impl Iterator<Item = BlockText<'b>>,
    index: usize,
) -> Result<HashMap<String, BlockText<'b>>, ApiError> {
    let known: HashSet<&str> = turn.visible_ids().collect();
    let mut results = HashMap::new();
    for block in blocks.filter(is_result) {
        let id = block.object().string("tool_use_id").unwrap_or_default();
        if !known.contains(id.as_str()) {
            return Err(ApiError::invalid(format!(
                "messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must \
                 have a corresponding `tool_use` block in the previous message."
            )));
        }
        if results.insert(id.clone(), block).is_some() {
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
    Ok(results)
}

/// Writes the user message after a suspended turn: all results in the order of the calls, then the client's other blocks.
fn push_results<'b>(
    messages: &mut MessageList,
    turn: &Turn,
    blocks: impl Iterator<Item = BlockText<'b>> + Clone,
    index: usize,
    run: &HashMap<String, Block>,
) -> Result<(), ApiError> {
    let mut results = results(turn, blocks.clone(), index)?;
    let calls = turn.calls.iter().filter_map(|call| match call.owner {
        Owner::Internal => {
            let result = call.result.as_ref().or_else(|| run.get(&call.id));
            // No API accepts messages in which a call has no result.
            Some(result.cloned().unwrap_or_else(|| lost_result(call)))
        }
        Owner::External => Some(
            results
                .remove(&call.visible_id)?
                .with_string("tool_use_id", &call.id),
        ),
    });
    let rest = blocks.filter(|block| !is_result(block));
    let message: Vec<_> = calls
        .map(ResultsBlock::Result)
        .chain(rest.map(ResultsBlock::Other))
        .collect();
    messages.push_written(&Role::User, &message);
    Ok(())
}

/// A block of the user message after a suspended turn.
enum ResultsBlock<'b> {
    Result(Block),
    Other(BlockText<'b>),
}

impl AsRef<str> for ResultsBlock<'_> {
    fn as_ref(&self) -> &str {
        match self {
            Self::Result(block) => block.as_ref(),
            Self::Other(block) => block.as_ref(),
        }
    }
}

/// Builds the result of a call whose own result could not be stored.
fn lost_result(call: &Call) -> Block {
    let mut text = r#"{"type":"tool_result","tool_use_id":"#.to_owned();
    push_string(&mut text, &call.id);
    text.push_str(
        r#","content":"the result of this call was lost; find out whether it took effect","is_error":true}"#,
    );
    Block::new(text)
}
