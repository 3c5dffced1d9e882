//! [`RoundMessages`]: the messages of a request to the upstream.

use super::thinking::{RefusedThinking, without_thinking};
use crate::session::record::TrueMessage;
use crate::wire::message::push_message;
use crate::wire::message_list::{MessageList, max_message_len};
use crate::wire::request::{MessagesRequest, MessagesText};

/// Messages before a turn, and messages of the turn, in the form that the upstream accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundMessages<'r> {
    /// The client's request.
    pub(crate) request: &'r MessagesRequest,
    /// Messages before the turn.
    pub(crate) restored: &'r MessageList,
    /// Messages of the turn.
    pub(crate) asked: &'r [TrueMessage],
    pub(crate) refused_thinking: Option<RefusedThinking>,
}

impl RoundMessages<'_> {
    /// Returns whether messages have thinking that can be removed.
    pub(crate) fn have_thinking(&self) -> bool {
        let mut text = String::with_capacity(self.max_len());
        self.write(&mut text);
        without_thinking(&text).is_some()
    }
}

impl MessagesText for RoundMessages<'_> {
    fn max_len(&self) -> usize {
        let asked = self.asked.iter();
        let asked = asked.map(|message| max_message_len(&message.role, message.blocks.iter()));
        self.restored.max_len(self.request) + asked.sum::<usize>()
    }

    fn write(&self, out: &mut String) {
        let begin = out.len();
        self.restored.write(self.request, out);
        let before = self.refused_thinking.map_or(0, |refused| refused.turn_messages);
        let (before, after) = self.asked.split_at(before);
        for message in before {
            push_message(out, &message.role, &message.blocks);
        }
        if self.refused_thinking.is_some()
            && let Some(without) = out.get(begin..).and_then(without_thinking)
        {
            out.truncate(begin);
            out.push_str(&without);
        }
        for message in after {
            push_message(out, &message.role, &message.blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::block::Block;
    use crate::wire::role::Role;

    /// Thinking of the first round was refused; the second round may have thinking again.
    #[test]
    fn refused_thinking_is_left_out_before_its_refusal() {
        let thought = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
        let text = r#"{"type":"text","text":"a"}"#;
        let user = r#"{"role":"user","content":"a"}"#;
        let message = |blocks: &[&str]| TrueMessage {
            role: Role::Assistant,
            blocks: blocks.iter().map(|block| Block::new(*block)).collect(),
        };
        let asked = [message(&[thought, text]), message(&[thought])];
        let answer = |blocks: &str| format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
        let both = answer(&format!("{thought},{text}"));
        let request = format!(r#"{{"messages":[{user},{both}]}}"#);
        let request = MessagesRequest::parse(request).unwrap();
        for (sent, refused, expected) in [
            (0, None, vec![both.clone(), answer(thought)]),
            (0, Some(1), vec![answer(text), answer(thought)]),
            (
                2,
                None,
                vec![user.to_owned(), both.clone(), both.clone(), answer(thought)],
            ),
            (
                2,
                Some(0),
                vec![user.to_owned(), answer(text), both.clone(), answer(thought)],
            ),
            (
                2,
                Some(1),
                vec![user.to_owned(), answer(text), answer(text), answer(thought)],
            ),
        ] {
            let mut restored = MessageList::default();
            (0..sent).for_each(|index| restored.push_sent(index));
            let messages = RoundMessages {
                request: &request,
                restored: &restored,
                asked: &asked,
                refused_thinking: refused.map(|turn_messages| RefusedThinking { turn_messages }),
            };
            let mut out = "[".to_owned();
            messages.write(&mut out);
            assert_eq!(out, format!("[{}", expected.join(",")), "{sent} {refused:?}");
            assert!(messages.max_len() >= out.len());
            // A message of thinking alone remains.
            assert_eq!(messages.have_thinking(), expected.contains(&both));
        }
    }
}
