//! [`MessageList`]: the messages of an upstream request, most of which the client sent.

use std::ops::RangeInclusive;

use super::message::{push_message, push_text};
use super::request::MessagesRequest;
use super::role::Role;

/// Messages that refer to the client's request, and other messages with their texts. A list takes little memory if most of its messages are
/// as the client sent them, and in the client's order.
#[derive(Debug, Default)]
pub(crate) struct MessageList {
    parts: Vec<ListPart>,
}

/// One or more messages.
#[derive(Debug)]
enum ListPart {
    /// Consecutive messages of the client's request, by their indexes. The text between them, such as white space, is the client's, too.
    Sent { first: usize, last: usize },
    /// Text of messages, separated by commas.
    Written(String),
}

impl MessageList {
    /// Creates a list from the text of a list without its brackets.
    pub(crate) fn from_text(messages: String) -> Self {
        Self {
            parts: vec![ListPart::Written(messages)],
        }
    }

    /// Appends the message with this index in the client's request.
    pub(crate) fn push_sent(&mut self, index: usize) {
        match self.parts.last_mut() {
            Some(ListPart::Sent { last, .. }) if *last + 1 == index => *last = index,
            _ => self.parts.push(ListPart::Sent {
                first: index,
                last: index,
            }),
        }
    }

    /// Appends a message with these blocks.
    pub(crate) fn push_written<B>(&mut self, role: &Role, blocks: B)
    where
        B: IntoIterator<Item: AsRef<str>, IntoIter: Clone>,
    {
        let blocks = blocks.into_iter();
        let size = max_message_len(role, blocks.clone());
        if !matches!(self.parts.last(), Some(ListPart::Written(_))) {
            self.parts.push(ListPart::Written(String::new()));
        }
        if let Some(ListPart::Written(text)) = self.parts.last_mut() {
            text.reserve(size);
            push_message(text, role, blocks);
        }
    }

    /// Returns an upper bound of the size in bytes.
    pub(crate) fn max_len(&self, request: &MessagesRequest) -> usize {
        let parts = self.parts.iter().map(|part| part.text(request).len() + 1);
        parts.sum()
    }

    /// Appends the messages to the text of a list. `request` is the client's.
    pub(crate) fn write(&self, request: &MessagesRequest, out: &mut String) {
        for part in &self.parts {
            push_text(out, part.text(request));
        }
    }

    /// Returns the text of the list without brackets.
    pub(crate) fn to_text(&self, request: &MessagesRequest) -> String {
        let mut text = String::with_capacity(self.max_len(request));
        self.write(request, &mut text);
        text
    }
}

impl ListPart {
    fn text<'p>(&'p self, request: &'p MessagesRequest) -> &'p str {
        match self {
            Self::Sent { first, last } => request.messages_text(RangeInclusive::new(*first, *last)),
            Self::Written(text) => text,
        }
    }
}

/// Returns an upper bound of the size of a written message, with its comma.
pub(crate) fn max_message_len(role: &Role, blocks: impl Iterator<Item: AsRef<str>>) -> usize {
    const NAMES: usize = r#",{"role":"","content":[]}"#.len();
    // An escape is at most six times as long as its character.
    let role = 6 * role.as_str().len();
    NAMES + role + blocks.map(|block| block.as_ref().len() + 1).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_messages_are_one_part() {
        let [a, b, c] = ["a", "b", "c"].map(|text| format!(r#"{{"role":"user","content":"{text}"}}"#));
        let request = MessagesRequest::parse(format!(r#"{{"messages":[{a},{b} , {c}]}}"#)).unwrap();
        let mut list = MessageList::default();
        assert_eq!(list.to_text(&request), "");
        for index in 0..3 {
            list.push_sent(index);
        }
        assert_eq!(list.parts.len(), 1);
        assert_eq!(list.to_text(&request), format!("{a},{b} , {c}"));
        // Messages in another order, or with others between them, are separate.
        list.push_sent(1);
        list.push_sent(0);
        list.push_written(&Role::Assistant, ["1", "2"]);
        list.push_written(&Role::from("\u{1}"), [""; 0]);
        list.push_sent(0);
        list.push_sent(2);
        let written = r#"{"role":"assistant","content":[1,2]},{"role":"\u0001","content":[]}"#;
        let expected = format!("{a},{b} , {c},{b},{a},{written},{a},{c}");
        assert_eq!(list.to_text(&request), expected);
        assert_eq!(list.parts.len(), 6);
        assert!(list.max_len(&request) >= expected.len());
    }
}
