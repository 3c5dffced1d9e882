//! Chain of digests over a conversation: one digest for each point after a response (`compute_session_hash` in requirements 004).
//! Consecutive messages of one role are one [`Group`], and [`AnswerContent`] is the response.
//!
//! `h_i = MAC_k(h_(i-1), role_i, MAC_k(canonical(content_i)))`; `h_0` contains the principal. System messages are skipped.

use super::canonical;
use super::chain::{ChainKey, Content, Digest, MAX_WRITTEN};
use crate::wire::block::BlockText;
use crate::wire::message::Message;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Consecutive messages of one role. The struct is small, since a request may have as many groups as messages.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Index of the first message in the request.
    first: u32,
    /// Index of the last message in the request.
    last: u32,
}

impl Group {
    /// Returns the role of the messages.
    pub(crate) fn role<'r>(&self, request: &'r MessagesRequest) -> &'r Role {
        let first = request.messages.get(self.first());
        first.map_or(&Role::User, |message| &message.role)
    }

    /// Returns whether the messages are of the model.
    pub(crate) fn is_answer(&self, request: &MessagesRequest) -> bool {
        *self.role(request) == Role::Assistant
    }

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

/// Groups the messages of a conversation.
fn group_messages(request: &MessagesRequest) -> Vec<Group> {
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
            Some(group) if *group.role(request) == message.role => group.last = index,
            _ => groups.push(Group {
                first: index,
                last: index,
            }),
        }
    }
    groups
}

/// Digests of a conversation. They take more memory than the groups, so a turn does not keep them.
#[derive(Debug)]
pub(crate) struct GroupDigests {
    /// Digest of the canonical content of each group, without the conversation before it.
    exact: Vec<Digest>,
    /// Digest of the chain after each assistant group.
    points: Vec<Digest>,
    /// Digest of the chain before the first assistant group.
    before_answers: Digest,
}

impl GroupDigests {
    /// Returns the digest of a group's content, without the conversation before it.
    pub(crate) fn exact(&self, index: usize) -> Option<Digest> {
        self.exact.get(index).copied()
    }

    /// Returns the points of the conversation: the digest of the chain after each assistant group.
    pub(crate) fn points(&self) -> &[Digest] {
        &self.points
    }
}

/// The groups of a conversation, with their digests.
pub(crate) struct GroupedMessages {
    pub(crate) groups: Vec<Group>,
    pub(crate) digests: GroupDigests,
    pub(crate) answer_place: AnswerPlace,
}

/// The place of the response in a conversation.
#[derive(Debug, Clone)]
pub(crate) struct AnswerPlace {
    /// Digest of the chain before the response, and before the message that the response continues.
    before: Digest,
    /// Canonical content of the last group if its role is `assistant`, since the response continues this group.
    begun: Option<String>,
}

/// Groups the messages of a conversation, and computes the digests of the chain.
pub(crate) fn groups(key: &ChainKey, beginning: Digest, request: &MessagesRequest) -> GroupedMessages {
    let groups = group_messages(request);
    let answers = groups.iter().filter(|group| group.is_answer(request));
    let mut digests = GroupDigests {
        exact: Vec::with_capacity(groups.len()),
        points: Vec::with_capacity(answers.count()),
        before_answers: beginning,
    };
    let (mut begun, mut before) = (None, beginning);
    let mut digest = beginning;
    let last = groups.len().saturating_sub(1);
    // More groups displace the digests of other requests from the cache, and few of their own digests are found again.
    let is_cached = groups.len() <= MAX_WRITTEN;
    for (index, group) in groups.iter().enumerate() {
        let blocks = || group.blocks(request);
        let of_text = |content: &str| Content {
            exact: key.content(content),
            joined: key.joined(content, true),
        };
        let user_content = || Content::exact(key.message(b"content", &blocks()));
        let of_content = if index < last {
            let compute = || match group.role(request) {
                Role::Assistant => of_text(&canonical::items(&blocks())),
                _ => user_content(),
            };
            if is_cached {
                let texts = group.indexes(request).filter_map(|at| request.message_text(at));
                let written = std::iter::once("written messages").chain(texts);
                key.known(written.map(str::as_bytes), compute)
            } else {
                compute()
            }
        } else if group.is_answer(request) {
            let content = canonical::items(&blocks());
            let of_content = of_text(&content);
            begun = Some(content);
            of_content
        } else {
            // The last group is new, so it is not in the cache.
            user_content()
        };
        digests.exact.push(of_content.exact);
        before = digest;
        digest = key.next(digest, group.role(request), of_content.joined);
        if group.is_answer(request) {
            digests.points.push(digest);
        } else if digests.points.is_empty() {
            digests.before_answers = digest;
        }
    }
    GroupedMessages {
        groups,
        digests,
        answer_place: AnswerPlace {
            before: if begun.is_some() { before } else { digest },
            begun,
        },
    }
}

/// Computes the digests of the chain with exact texts, after the first assistant group and each later group. Records of version 5 and the
/// identities of requests contain these digests.
fn exact_chain<'g>(
    key: &'g ChainKey,
    request: &'g MessagesRequest,
    groups: &'g [Group],
    digests: &'g GroupDigests,
) -> impl Iterator<Item = (&'g Group, Digest)> {
    // Only assistant messages have joined texts, so both chains have equal digests before the first of them.
    let groups = groups.iter().zip(&digests.exact);
    let mut chain = digests.before_answers;
    groups
        .skip_while(|(group, _)| !group.is_answer(request))
        .map(move |(group, exact)| {
            chain = key.next(chain, group.role(request), *exact);
            (group, chain)
        })
}

/// Computes the digest of a conversation with exact texts.
pub(crate) fn exact_history(
    key: &ChainKey,
    request: &MessagesRequest,
    groups: &[Group],
    digests: &GroupDigests,
) -> Digest {
    let last = exact_chain(key, request, groups, digests).last();
    last.map_or(digests.before_answers, |(_, digest)| digest)
}

/// Computes the points of a conversation with exact texts: the digest of the chain after each assistant group.
pub(crate) fn exact_points<'g>(
    key: &'g ChainKey,
    request: &'g MessagesRequest,
    groups: &'g [Group],
    digests: &'g GroupDigests,
) -> impl Iterator<Item = Digest> + 'g {
    let answers = exact_chain(key, request, groups, digests).filter(|(group, _)| group.is_answer(request));
    answers.map(|(_, digest)| digest)
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

    /// Computes the digest of the chain after the response.
    pub(crate) fn point(&self, place: &AnswerPlace) -> Digest {
        let joined = match &place.begun {
            // The response continues an assistant message, so both are one group.
            Some(begun) => {
                let both = [begun, &self.blocks];
                let content = both
                    .into_iter()
                    .filter(|items| !items.is_empty())
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(",");
                self.key.joined(&content, true)
            }
            None => self.joined,
        };
        self.key.next(place.before, &Role::Assistant, joined)
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

    /// Returns the groups of a new principal's request.
    fn groups_of(key: &ChainKey, principal: &str, body: &str) -> GroupedMessages {
        let principal = key.principal(&Principal::from_key_name(principal));
        groups(key, principal.beginning, &MessagesRequest::parse(body).unwrap())
    }

    /// All digests of a conversation.
    #[derive(Debug, PartialEq)]
    struct Chain {
        exact: Vec<Digest>,
        points: Vec<Digest>,
        before_answer: Digest,
    }

    impl From<GroupedMessages> for Chain {
        fn from(groups: GroupedMessages) -> Self {
            assert_eq!(groups.digests.exact.len(), groups.groups.len());
            Self {
                exact: groups.digests.exact,
                points: groups.digests.points,
                before_answer: groups.answer_place.before,
            }
        }
    }

    fn chain(body: &str) -> Chain {
        groups_of(&ChainKey::new([7; 32]), "p", body).into()
    }

    #[test]
    fn merges_messages_of_one_role_and_ignores_system_messages() {
        let plain = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"assistant","content":"c"}]}"#;
        let split = r#"{"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"},
            {"role":"user","content":"b"},{"role":"assistant","content":[{"type":"text","text":"c"}]}]}"#;
        assert_eq!(chain(plain), chain(split));
        assert_eq!((chain(plain).exact.len(), chain(plain).points.len()), (2, 1));
    }

    #[test]
    fn point_after_a_response_equals_the_point_in_the_next_request() {
        let key = ChainKey::new([7; 32]);
        for (before, after) in [
            (
                r#"{"messages":[{"role":"user","content":"a"}]}"#,
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
            ),
            (
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"}]}"#,
                r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"},{"role":"assistant","content":"b"}]}"#,
            ),
            (
                r#"{"messages":[{"role":"assistant","content":[]}]}"#,
                r#"{"messages":[{"role":"assistant","content":"b"}]}"#,
            ),
            (
                r#"{"messages":[{"role":"system","content":"s"}]}"#,
                r#"{"messages":[{"role":"assistant","content":"b"}]}"#,
            ),
        ] {
            let before = groups_of(&key, "p", before);
            let answer = AnswerContent::new(&key, &[Block::text("b")].iter());
            let answered = answer.point(&before.answer_place);
            assert_eq!(Some(&answered), chain(after).points.last());
        }
    }

    #[test]
    fn cached_digests_equal_the_digests_of_the_canonical_form() {
        let key = ChainKey::new([7; 32]);
        let chain = |body: &str| Chain::from(groups_of(&key, "p", body));
        let first = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
        let other = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"content":"b","role":"assistant"},
            {"role":"user","content":"c"}]}"#;
        let joined = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"b"}]}"#;
        let expected = chain(first);
        assert_eq!(chain(first), expected);
        assert_eq!(chain(other), expected);
        assert_eq!(chain(other), expected);
        assert_ne!(chain(joined).exact[0], expected.exact[0]);
        assert_ne!(chain(joined).points[0], expected.points[0]);
    }

    #[test]
    fn long_histories_have_the_digests_of_the_cached_form() {
        let key = ChainKey::new([7; 32]);
        let pair = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"},"#;
        let body = |pairs| {
            format!(
                r#"{{"messages":[{}{{"role":"user","content":"c"}}]}}"#,
                pair.repeat(pairs)
            )
        };
        // Messages of the second request are not looked up in the cache.
        let [cached, computed] = [MAX_WRITTEN / 2 - 1, MAX_WRITTEN / 2]
            .map(|pairs| Chain::from(groups_of(&key, "p", &body(pairs))));
        assert_eq!(cached.exact.len(), MAX_WRITTEN - 1);
        assert_eq!(computed.exact.len(), MAX_WRITTEN + 1);
        assert_eq!(cached.exact[..MAX_WRITTEN - 2], computed.exact[..MAX_WRITTEN - 2]);
        assert_eq!(cached.points, computed.points[..cached.points.len()]);
    }

    /// Each message is hashed with the digest before it.
    #[test]
    fn exact_history_is_the_chain_of_all_messages() {
        let key = ChainKey::new([7; 32]);
        let beginning = key.principal(&Principal::from_key_name("p")).beginning;
        for roles in [
            "", "u", "a", "ua", "au", "uau", "uaua", "xua", "uxa", "xyx", "uaxa",
        ] {
            let name = |role| match role {
                'u' => "user",
                'a' => "assistant",
                'x' => "x",
                _ => "y",
            };
            let message = |role| format!(r#"{{"role":"{}","content":"{role}"}}"#, name(role));
            let messages: Vec<_> = roles.chars().map(message).collect();
            let body = format!(r#"{{"messages":[{}]}}"#, messages.join(","));
            let request = MessagesRequest::parse(body).unwrap();
            let GroupedMessages { groups, digests, .. } = groups(&key, beginning, &request);
            let mut chain = beginning;
            let mut points = Vec::new();
            for role in roles.chars() {
                let text = Block::text(&role.to_string());
                let content = key.message(b"content", &[text].iter());
                chain = key.next(chain, &Role::from(name(role)), content);
                points.extend((role == 'a').then_some(chain));
            }
            assert_eq!(exact_history(&key, &request, &groups, &digests), chain, "{roles}");
            let found: Vec<_> = exact_points(&key, &request, &groups, &digests).collect();
            assert_eq!(found, points, "{roles}");
        }
    }

    #[test]
    fn principals_secrets_and_boundaries_distinguish_chains() {
        let body = r#"{"messages":[{"role":"user","content":"a"}]}"#;
        let of = |secret: u8, principal: &str| {
            let groups = groups_of(&ChainKey::new([secret; 32]), principal, body);
            groups.answer_place.before
        };
        assert_ne!(of(1, "p"), of(2, "p"));
        assert_ne!(of(1, "p"), of(1, "q"));
        let key = ChainKey::new([1; 32]);
        assert_ne!(key.digest(&[b"ab", b"c"]), key.digest(&[b"a", b"bc"]));
    }
}
