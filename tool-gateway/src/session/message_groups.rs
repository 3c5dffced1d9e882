//! Chain of digests over a conversation: one digest for each point after a response (`compute_session_hash` in requirements 004).
//! Consecutive messages of one role are one [`Group`], and [`AnswerContent`] is the response.
//!
//! `h_i = MAC_k(h_(i-1), role_i, MAC_k(canonical(content_i)))`; `h_0` contains the principal. System messages are skipped.

use super::canonical;
use super::chain::{ChainKey, Content, Digest};
use crate::wire::block::BlockText;
use crate::wire::message::Message;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Consecutive messages of one role. The struct is small, since a request may have as many groups as messages.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) role: Role,
    /// Index of the first message in the request.
    first: u32,
    /// Index of the last message in the request.
    last: u32,
    /// Digest of the canonical content, without the conversation before it.
    pub(crate) exact: Digest,
    /// Digest of the chain after this group.
    pub(crate) digest: Digest,
}

impl Group {
    /// Returns the indexes of the messages in the request. System messages between them are not part of the group.
    pub(crate) fn indexes<'r>(
        &self,
        request: &'r MessagesRequest,
    ) -> impl Iterator<Item = usize> + Clone + use<'r> {
        let is_system = |at: &usize| request.messages.get(*at).is_some_and(Message::is_system);
        (self.first()..=self.last()).filter(move |at| !is_system(at))
    }

    /// Returns the messages of the group.
    pub(crate) fn messages<'r>(
        &self,
        request: &'r MessagesRequest,
    ) -> impl Iterator<Item = &'r Message> + Clone + use<'r> {
        self.indexes(request).filter_map(|at| request.messages.get(at))
    }

    /// Returns the blocks of the messages.
    pub(crate) fn blocks<'r>(
        &self,
        request: &'r MessagesRequest,
    ) -> impl Iterator<Item = BlockText<'r>> + Clone + use<'r> {
        self.messages(request).flat_map(|message| request.blocks(message))
    }

    /// Returns the index of the first message in the request.
    pub(crate) fn first(&self) -> usize {
        // `usize` has at least 32 bits on the supported platforms.
        self.first as usize
    }

    /// Returns the index of the last message in the request.
    pub(crate) fn last(&self) -> usize {
        self.last as usize
    }
}

/// Groups the messages of a conversation, without digests.
fn undigested(beginning: Digest, request: &MessagesRequest) -> Vec<Group> {
    let messages = || {
        // A body is shorter than 4 GiB, so it has fewer than 2^32 messages.
        let messages = (0..).zip(&request.messages);
        messages.filter(|(_, message)| !message.is_system())
    };
    // The groups are counted first, since a growing list takes up to three times its size.
    let next = messages().skip(1);
    let changes = messages()
        .zip(next)
        .filter(|((_, message), (_, next))| message.role != next.role)
        .count();
    let mut groups: Vec<Group> = Vec::with_capacity(changes + 1);
    for (index, message) in messages() {
        match groups.last_mut() {
            Some(group) if group.role == message.role => group.last = index,
            _ => groups.push(Group {
                role: message.role.clone(),
                first: index,
                last: index,
                exact: beginning,
                digest: beginning,
            }),
        }
    }
    groups
}

/// Groups of a conversation's messages.
pub(crate) struct Groups {
    pub(crate) groups: Vec<Group>,
    /// Canonical content of the last group if its role is `assistant`, since the response continues this group.
    pub(crate) begun: String,
}

/// Groups the messages of a conversation, and computes the digest of the chain after each group.
pub(crate) fn groups(key: &ChainKey, beginning: Digest, request: &MessagesRequest) -> Groups {
    let mut groups = undigested(beginning, request);
    let mut begun = String::new();
    let mut digest = beginning;
    let last = groups.len().saturating_sub(1);
    for (index, group) in groups.iter_mut().enumerate() {
        let blocks = || group.blocks(request);
        let digests = |content: &str| Content {
            exact: key.content(content),
            joined: key.joined(content, true),
        };
        let user_content = || Content::exact(key.message(b"content", &blocks()));
        let of_content = if index < last {
            let texts = group.indexes(request).filter_map(|at| request.message_text(at));
            let written = std::iter::once("written messages").chain(texts);
            key.known(written.map(str::as_bytes), || match group.role {
                Role::Assistant => digests(&canonical::items(&blocks())),
                _ => user_content(),
            })
        } else if group.role == Role::Assistant {
            // The response may continue the last group, so its content is kept.
            begun = canonical::items(&blocks());
            digests(&begun)
        } else {
            // The last group is new, so it is not in the cache.
            user_content()
        };
        digest = key.next(digest, &group.role, of_content.joined);
        group.exact = of_content.exact;
        group.digest = digest;
    }
    Groups { groups, begun }
}

/// Computes the digests of the chain with exact texts, after each group. Records of version 5 and the identities of requests contain these
/// digests.
pub(crate) fn exact_chain(
    key: &ChainKey,
    beginning: Digest,
    groups: &[Group],
) -> impl Iterator<Item = Digest> {
    let mut is_equal = true;
    groups.iter().scan(beginning, move |digest, group| {
        // Only assistant messages have joined texts, so both chains have equal digests before the first of them.
        is_equal &= group.role != Role::Assistant;
        *digest = if is_equal {
            group.digest
        } else {
            key.next(*digest, &group.role, group.exact)
        };
        Some(*digest)
    })
}

/// Visible content of a response, in canonical form.
pub(crate) struct AnswerContent<'k> {
    key: &'k ChainKey,
    /// Blocks without the brackets of their list.
    blocks: String,
    joined: Digest,
}

impl<'k> AnswerContent<'k> {
    pub(crate) fn new(key: &'k ChainKey, blocks: &(impl Iterator<Item: AsRef<str>> + Clone)) -> Self {
        let blocks = canonical::items(blocks);
        Self {
            key,
            joined: key.joined(&blocks, true),
            blocks,
        }
    }

    /// Computes the digest of the chain after the response to a request with these groups. `begun` is the canonical content of the
    /// assistant message that the response continues.
    pub(crate) fn point(&self, beginning: Digest, groups: &[Group], begun: &str) -> Digest {
        match groups {
            // The response continues an assistant message, so both are one group.
            [before @ .., last] if last.role == Role::Assistant => {
                let previous = before.last().map_or(beginning, |group| group.digest);
                let both = [begun, &self.blocks];
                let content = both
                    .into_iter()
                    .filter(|items| !items.is_empty())
                    .collect::<Vec<_>>()
                    .join(",");
                self.key
                    .next(previous, &Role::Assistant, self.key.joined(&content, true))
            }
            _ => {
                let previous = groups.last().map_or(beginning, |group| group.digest);
                self.key.next(previous, &Role::Assistant, self.joined)
            }
        }
    }

    /// Computes the digest of the content, without the conversation before it.
    pub(crate) fn exact(&self) -> Digest {
        self.key.content(&self.blocks)
    }

    /// Computes the digest of the content with joined texts, and with the arguments of calls only if all arguments are JSON.
    pub(crate) fn joined(&self, has_input: bool) -> Digest {
        if has_input {
            return self.joined;
        }
        self.key.joined(&self.blocks, false)
    }

    /// Computes the outline in records of version 5, which is the digest of the content with trimmed texts.
    pub(crate) fn trimmed(&self, has_input: bool) -> Digest {
        self.key.canonical(b"content", |out| {
            out.push(b"[");
            canonical::write_outline(out, &self.blocks, has_input);
            out.push(b"]");
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::principal::Principal;
    use crate::wire::block::Block;

    fn chain(body: &str) -> Vec<(Role, Digest)> {
        let key = ChainKey::new([7; 32]);
        let request = MessagesRequest::parse(body).unwrap();
        let groups = groups(
            &key,
            key.principal(&Principal::from_key_name("p")).beginning,
            &request,
        );
        let groups = groups.groups;
        groups
            .into_iter()
            .map(|group| (group.role, group.digest))
            .collect()
    }

    #[test]
    fn merges_messages_of_one_role_and_ignores_system_messages() {
        let plain = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"assistant","content":"c"}]}"#;
        let split = r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"},
            {"role":"user","content":"b"},{"role":"assistant","content":[{"type":"text","text":"c"}]}]}"#;
        assert_eq!(chain(plain), chain(split));
        assert_eq!(chain(plain).len(), 2);
    }

    #[test]
    fn point_after_a_response_equals_the_point_in_the_next_request() {
        let key = ChainKey::new([7; 32]);
        let beginning = key.principal(&Principal::from_key_name("p")).beginning;
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
            let Groups { groups, begun } = groups(&key, beginning, &before);
            let answer = AnswerContent::new(&key, &[Block::text("b")].iter());
            let answered = answer.point(beginning, &groups, &begun);
            assert_eq!(Some(answered), chain(after).last().map(|(_, digest)| *digest));
        }
    }

    #[test]
    fn cached_digests_equal_the_digests_of_the_canonical_form() {
        let key = ChainKey::new([7; 32]);
        let chain = |body: &str| {
            let request = MessagesRequest::parse(body).unwrap();
            let groups = groups(
                &key,
                key.principal(&Principal::from_key_name("p")).beginning,
                &request,
            );
            let groups = groups.groups.into_iter();
            groups.map(|group| group.digest).collect::<Vec<_>>()
        };
        let first = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
        let other = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"content":"b","role":"assistant"},
            {"role":"user","content":"c"}]}"#;
        let joined = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"b"}]}"#;
        let expected = chain(first);
        assert_eq!(chain(first), expected);
        assert_eq!(chain(other), expected);
        assert_eq!(chain(other), expected);
        assert_ne!(chain(joined)[0], expected[0]);
        assert_ne!(chain(joined)[1], expected[1]);
    }

    #[test]
    fn principals_secrets_and_boundaries_distinguish_chains() {
        let body = r#"{"messages":[{"role":"user","content":"a"}]}"#;
        let request = MessagesRequest::parse(body).unwrap();
        let of = |secret: u8, principal: &str| {
            let key = ChainKey::new([secret; 32]);
            groups(
                &key,
                key.principal(&Principal::from_key_name(principal)).beginning,
                &request,
            )
            .groups
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
