//! [`turn_record`]: builds the record of a turn with internal tools.

use crate::server::turns::job::Job;
use crate::server::turns::session_state::StateMap;
use crate::session::chain::{AnswerContent, ChainKey};
use crate::session::record::{Origin, Turn};
use crate::turn::action::Answer;
use crate::turn::restore::Restored;
use crate::turn::thinking::{RefusedThinking, remove_thinking};
use crate::wire::block::Block;
use crate::wire::role::Role;

/// Builds the record of a turn with this answer: the true messages, and the digests that map visible messages to true ones.
pub(crate) fn turn_record(
    key: &ChainKey,
    job: &Job,
    restored: &Restored,
    answer: &Answer,
    refused_thinking: Option<RefusedThinking>,
    state: StateMap,
) -> Turn {
    let recognized = &job.recognized;
    let visible_blocks = || answer.visible.iter().map(|(block, _)| block);
    let mut content = AnswerContent::new(key, visible_blocks());
    let point = content.point(recognized.beginning, &recognized.groups);
    let begun = begun_answer(job);
    if !begun.is_empty() {
        content = AnswerContent::new(key, begun.iter().chain(visible_blocks()));
    }
    let mut blocks = begun.iter().chain(visible_blocks());
    let outline = content.joined(blocks.all(|block| block.raw_input().is_none()));
    let offset = restored.prior.len();
    let mut truth = restored.prior.clone();
    truth.extend(answer.truth.iter().cloned());
    let mut visible = restored.prior_visible.clone();
    visible.extend(answer.visible.iter().map(|(_, origin)| Origin {
        message: origin.message.saturating_add(offset),
        block: origin.block,
    }));
    let is_unchanged = answer.is_unchanged && refused_thinking.is_none();
    // A message that the client began is repeated in each later request, so an answer without hidden rounds needs no second copy of it.
    let goes_as_sent = is_unchanged && restored.is_prior_sent && answer.calls.is_empty();
    if goes_as_sent {
        truth.clear();
        visible.clear();
    }
    // Messages are stored in the form that the upstream accepted (docs/gateway.md, "A turn").
    let accepted = refused_thinking.map_or(0, |refused| offset + refused.turn_messages);
    remove_thinking(&mut truth, &mut visible, accepted);
    Turn {
        id: crate::random::id(),
        session: job.session.clone(),
        point,
        context: recognized.context,
        answer: content.exact(),
        outline,
        is_joined: true,
        is_unchanged: goes_as_sent || is_unchanged && restored.prior.is_empty(),
        drops_thinking: refused_thinking.is_some(),
        truth,
        visible,
        calls: answer.calls.clone(),
        systems: restored.systems.clone(),
        state,
    }
}

/// Returns the blocks of the assistant message at the end of the request, which the answer continues.
fn begun_answer(job: &Job) -> Vec<Block> {
    let last = job.recognized.groups.last();
    let Some(group) = last.filter(|group| group.role == Role::Assistant) else {
        return Vec::new();
    };
    let messages = group
        .messages
        .iter()
        .filter_map(|at| job.request.messages.get(*at));
    messages
        .flat_map(|message| message.blocks.iter().cloned())
        .collect()
}
