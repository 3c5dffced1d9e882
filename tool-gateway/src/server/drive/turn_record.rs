//! [`turn_record`]: builds the record of a turn with internal tools.

use super::conversation::TurnConversation;
use crate::server::turns::job::Job;
use crate::server::turns::session_state::StateMap;
use crate::session::chain::{ChainKey, Digest};
use crate::session::message_groups::AnswerContent;
use crate::session::record::{Origin, Turn};
use crate::turn::action::Answer;
use crate::turn::thinking::remove_thinking;
use crate::wire::block::BlockText;

/// Builds the record of a turn with this answer: the true messages, and the digests that map visible messages to true messages.
pub(crate) fn turn_record(
    key: &ChainKey,
    job: &Job,
    conversation: &TurnConversation,
    answer: &Answer,
    state: StateMap,
) -> Turn {
    let (restored, refused_thinking) = (&conversation.restored, conversation.refused_thinking);
    let recognized = &job.recognized;
    let visible_blocks = || answer.visible.iter().map(|(block, _)| block.borrowed());
    let content = AnswerContent::new(key, &visible_blocks());
    let point = content.point(&recognized.answer_place);
    let has_input = answer
        .visible
        .iter()
        .all(|(block, _)| block.raw_input().is_none());
    let [exact, outline] = if begun_answer(job).next().is_some() {
        let content = AnswerContent::new(key, &begun_answer(job).chain(visible_blocks()));
        digests(&content, has_input)
    } else {
        digests(&content, has_input)
    };
    let offset = restored.prior.len();
    let mut truth: Vec<_> = restored.prior.iter().chain(&answer.truth).cloned().collect();
    let shifted = answer.visible.iter().map(|(_, origin)| Origin {
        message: origin.message.saturating_add(offset),
        block: origin.block,
    });
    let mut visible: Vec<_> = restored.prior_visible.iter().copied().chain(shifted).collect();
    let is_unchanged = answer.is_unchanged && refused_thinking.is_none();
    // An answer without hidden rounds after the client's own blocks is repeated in each later request.
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
        answer: exact,
        outline,
        is_joined: true,
        is_unchanged: goes_as_sent || is_unchanged && restored.prior.is_empty() && restored.begun.is_none(),
        begun: restored.begun.filter(|_| !goes_as_sent),
        drops_thinking: refused_thinking.is_some(),
        truth,
        visible,
        calls: answer.calls.clone(),
        systems: restored.systems.clone(),
        state,
        generation: job.generation.digest,
    }
}

/// Returns the digests of the visible content, and of its outline.
fn digests(content: &AnswerContent<'_>, has_input: bool) -> [Digest; 2] {
    [content.exact(), content.joined(has_input)]
}

/// Returns the blocks of the model's message at the end of the request, which the answer continues.
fn begun_answer(job: &Job) -> impl Iterator<Item = BlockText<'_>> + Clone {
    let last = job.recognized.groups.last();
    let group = last.filter(|group| group.is_answer(&job.request));
    group.into_iter().flat_map(|group| group.blocks(&job.request))
}
