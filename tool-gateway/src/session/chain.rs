//! The chain of digests over a conversation: one for each point at which the model had answered (`compute_session_hash` in requirements 004).
//!
//! `h_i = MAC_k(h_(i-1), canonical(message_i))`, from a beginning that holds the principal. The key is a secret of the server: who
//! knows a history cannot find its session. Neighbouring messages of one role count as one, system messages not at all.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::canonical;
use crate::wire::message::Message;
use crate::wire::request::MessagesRequest;

/// A point in a conversation of one principal, or a digest of something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// As lower-case hexadecimal digits, for stores and logs.
    pub fn to_hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// The bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(&digits).map_err(D::Error::custom)?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// The key of the digests.
#[derive(Clone)]
pub(crate) struct ChainKey([u8; 32]);

impl std::fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChainKey(..)")
    }
}

impl ChainKey {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    pub(crate) fn digest(&self, parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            // Lengths, so that no two lists of parts are the same bytes.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// Where the conversations of a principal begin.
    pub(crate) fn beginning(&self, principal: &str) -> Digest {
        self.digest(&[b"principal", principal.as_bytes()])
    }

    fn next(&self, previous: Digest, role: &str, content: Vec<Value>) -> Digest {
        self.digest(&[
            &previous.0,
            role.as_bytes(),
            &canonical::bytes(&Value::Array(content)),
        ])
    }

    /// The digest of what is not a message: system prompt and tools.
    pub(crate) fn context(&self, request: &MessagesRequest<'_>) -> Digest {
        let context = json!([
            canonical::system(request.get("system")),
            canonical::tools(&request.tools)
        ]);
        self.digest(&[b"context", &canonical::bytes(&context)])
    }
}

/// Messages of one role that follow each other.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) role: String,
    /// The indexes of the messages in the request.
    pub(crate) messages: Vec<usize>,
    /// Of the last group only.
    content: Vec<Value>,
    /// The chain behind this group.
    pub(crate) digest: Digest,
}

/// The groups of a conversation, each with the chain behind it.
pub(crate) fn groups(key: &ChainKey, beginning: Digest, messages: &[Message<'_>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, message) in messages
        .iter()
        .enumerate()
        .filter(|(_, message)| !message.is_system())
    {
        let content = canonical::content(message.blocks.iter());
        match groups.last_mut() {
            Some(last) if last.role == message.role => {
                last.messages.push(index);
                last.content.extend(content);
            }
            _ => groups.push(Group {
                role: message.role.clone(),
                messages: vec![index],
                content,
                digest: beginning,
            }),
        }
    }
    let mut digest = beginning;
    let last = groups.len().saturating_sub(1);
    for (index, group) in groups.iter_mut().enumerate() {
        // Only the last is needed again, if the answer goes on with it.
        let content = if index == last {
            group.content.clone()
        } else {
            std::mem::take(&mut group.content)
        };
        digest = key.next(digest, &group.role, content);
        group.digest = digest;
    }
    groups
}

/// The chain behind an answer with these blocks, to a request with these groups.
pub(crate) fn after_answer<'b>(
    key: &ChainKey,
    beginning: Digest,
    groups: &[Group],
    blocks: impl Iterator<Item = &'b crate::wire::block::Block>,
) -> Digest {
    let answer = canonical::content(blocks);
    match groups {
        // The answer goes on with a message of the model: together they are one.
        [before @ .., last] if last.role == "assistant" => {
            let previous = before.last().map_or(beginning, |group| group.digest);
            let content = last.content.iter().cloned().chain(answer).collect();
            key.next(previous, "assistant", content)
        }
        _ => {
            let previous = groups.last().map_or(beginning, |group| group.digest);
            key.next(previous, "assistant", answer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::block::Block;

    fn chain(body: &str) -> Vec<(String, Digest)> {
        let key = ChainKey::new([7; 32]);
        let request = MessagesRequest::parse(body).unwrap();
        let groups = groups(&key, key.beginning("p"), &request.messages);
        groups
            .into_iter()
            .map(|group| (group.role, group.digest))
            .collect()
    }

    #[test]
    fn neighbours_of_one_role_are_one_and_system_messages_do_not_count() {
        let plain = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"assistant","content":"c"}]}"#;
        let split = r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"},
            {"role":"user","content":"b"},{"role":"assistant","content":[{"type":"text","text":"c"}]}]}"#;
        assert_eq!(chain(plain), chain(split));
        assert_eq!(chain(plain).len(), 2);
    }

    #[test]
    fn an_answer_is_where_the_next_request_goes_on() {
        let key = ChainKey::new([7; 32]);
        let beginning = key.beginning("p");
        for (before, after) in [
            (
                r#"{"messages":[{"role":"user","content":"a"}]}"#,
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"}]}"#,
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"assistant","content":"b"}]}"#,
            ),
        ] {
            let before = MessagesRequest::parse(before).unwrap();
            let before = groups(&key, beginning, &before.messages);
            let answered = after_answer(&key, beginning, &before, [Block::text("b")].iter());
            assert_eq!(Some(answered), chain(after).last().map(|(_, digest)| *digest));
        }
    }

    #[test]
    fn principals_secrets_and_boundaries_distinguish_chains() {
        let body = r#"{"messages":[{"role":"user","content":"a"}]}"#;
        let request = MessagesRequest::parse(body).unwrap();
        let of = |secret: u8, principal: &str| {
            let key = ChainKey::new([secret; 32]);
            groups(&key, key.beginning(principal), &request.messages)
                .last()
                .unwrap()
                .digest
        };
        assert_ne!(of(1, "p"), of(2, "p"));
        assert_ne!(of(1, "p"), of(1, "q"));
        let key = ChainKey::new([1; 32]);
        assert_ne!(key.digest(&[b"ab", b"c"]), key.digest(&[b"a", b"bc"]));
    }
}
