//! Chain of digests over a conversation: one digest for each point after a response (`compute_session_hash` in requirements 004).
//!
//! `h_i = MAC_k(h_(i-1), role_i, MAC_k(canonical(content_i)))`; `h_0` contains the principal. The key is a secret of the server, so that a
//! client cannot compute the digests of a session from a known history. Consecutive messages of one role are one group, and system messages
//! are skipped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::canonical;
use super::canonical_text::CanonicalText;
use super::principal::Principal;
use crate::fold_map::FoldMap;
use crate::wire::block::BlockText;
use crate::wire::message::Message;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// A digest of a point in a principal's conversation, or of another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest as lower-case hexadecimal digits, for stores and logs.
    pub fn to_hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Parses a digest from hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(Self::from)
    }

    /// Returns the digest with this number in a series; number 0 is the digest itself.
    pub(crate) fn numbered(self, number: u64) -> Self {
        if number == 0 {
            return self;
        }
        Self(*blake3::keyed_hash(&self.0, &number.to_le_bytes()).as_bytes())
    }

    /// Returns the bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
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

/// Key of the digests.
#[derive(Clone)]
pub(crate) struct ChainKey {
    key: [u8; 32],
    /// Cached digests of contexts and messages, by the digest of their texts, since a client repeats these texts in each request.
    written: Arc<Mutex<DigestCache>>,
}

/// Cache of the digests of canonical values, by the digest of their JSON texts. Entries that were not used recently are removed.
#[derive(Debug, Default)]
struct DigestCache {
    latest: FoldMap<Digest, Content>,
    before: FoldMap<Digest, Content>,
}

/// Digests of the content of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    /// Digest of the canonical form.
    exact: Digest,
    /// Digest of the canonical form with joined texts, for assistant messages. Equal to `exact` for other messages.
    joined: Digest,
}

impl Content {
    /// Creates the digests of a message that is not an assistant message.
    fn exact(digest: Digest) -> Self {
        Self {
            exact: digest,
            joined: digest,
        }
    }
}

/// Maximum number of digests in `latest`: as many as a table of 32,768 places has. Both maps together take about 7 MB.
const MAX_WRITTEN: usize = 28 << 10;

impl DigestCache {
    fn get(&mut self, written: Digest) -> Option<Content> {
        if let Some(known) = self.latest.get(&written) {
            return Some(*known);
        }
        let known = self.before.remove(&written)?;
        self.insert(written, known);
        Some(known)
    }

    fn insert(&mut self, written: Digest, known: Content) {
        if self.latest.len() >= MAX_WRITTEN {
            self.before = std::mem::take(&mut self.latest);
        }
        self.latest.insert(written, known);
    }
}

impl std::fmt::Debug for ChainKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChainKey(..)")
    }
}

impl ChainKey {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            written: Arc::default(),
        }
    }

    /// Returns the key of the signatures of thinking.
    pub(crate) fn thinking_key(&self) -> [u8; 32] {
        self.digest(&[b"thinking"]).0
    }

    pub(crate) fn digest(&self, parts: &[&[u8]]) -> Digest {
        self.digest_all(parts.iter().copied())
    }

    pub(crate) fn digest_all<'p>(&self, parts: impl Iterator<Item = &'p [u8]>) -> Digest {
        let mut hasher = PartHasher::new(&self.key);
        for part in parts {
            // Lengths distinguish lists of parts with equal concatenations.
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        hasher.finish()
    }

    /// Computes the digest of a label and of a canonical form. A long form is written a second time, for the digest.
    pub(crate) fn canonical(&self, label: &[u8], write: impl Fn(&mut CanonicalText)) -> Digest {
        let mut text = CanonicalText::default();
        write(&mut text);
        if let Some(bytes) = text.bytes() {
            return self.digest(&[label, bytes]);
        }
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&(label.len() as u64).to_le_bytes());
        hasher.update(label);
        hasher.update(&text.len().to_le_bytes());
        Digest(CanonicalText::hashed(hasher, write))
    }

    /// Computes the first digest in the chains of a principal.
    pub(crate) fn beginning(&self, principal: &Principal) -> Digest {
        self.digest(&[b"principal", principal.as_bytes()])
    }

    /// Computes the digest of a canonical list of blocks. The chain and the digests of a response share this digest, so that a long text is
    /// hashed once.
    fn content(&self, items: &str) -> Digest {
        self.canonical(b"content", |out| {
            out.push(b"[");
            out.push(items.as_bytes());
            out.push(b"]");
        })
    }

    /// Computes the digest of a canonical list of blocks with joined texts.
    fn joined(&self, items: &str, has_input: bool) -> Digest {
        self.canonical(b"joined content", |out| {
            out.push(b"[");
            canonical::write_joined(out, items, has_input);
            out.push(b"]");
        })
    }

    /// Computes the digest of the canonical content of a message, independent of the chain.
    pub(crate) fn message(&self, label: &[u8], blocks: &(impl Iterator<Item: AsRef<str>> + Clone)) -> Digest {
        self.canonical(label, |out| canonical::write_list(out, blocks.clone()))
    }

    /// Computes the next digest of a chain, after this content.
    fn next(&self, previous: Digest, role: &Role, content: Digest) -> Digest {
        self.digest(&[&previous.0, role.as_str().as_bytes(), &content.0])
    }

    /// Computes the digest of the system prompt and the tools.
    pub(crate) fn context(&self, request: &MessagesRequest) -> Digest {
        let system = request.get("system");
        let written = ["written context", system.unwrap_or_default()];
        let written = written.into_iter().chain(request.tools());
        let context = self.known(written.map(str::as_bytes), || {
            Content::exact(self.canonical(b"context", |out| {
                out.push(b"[");
                canonical::write_system(out, system);
                out.push(b",");
                canonical::write_tools(out, request.tools());
                out.push(b"]");
            }))
        });
        context.exact
    }

    /// Computes the digest of the other fields of a request, except `stream`.
    pub(crate) fn settings(&self, request: &MessagesRequest) -> Digest {
        let settings = || {
            let settings = request.sorted_settings();
            settings.filter(|field| !field.is("system") && !field.is("stream"))
        };
        let written = settings().flat_map(|field| [field.quoted_name(), field.value]);
        let written = std::iter::once("written settings").chain(written);
        let settings = self.known(written.map(str::as_bytes), || {
            Content::exact(self.canonical(b"settings", |out| canonical::write_settings(out, settings())))
        });
        settings.exact
    }

    /// Returns the digests of the value with this text from the cache, or computes them.
    fn known<'p>(
        &self,
        written: impl Iterator<Item = &'p [u8]>,
        compute: impl FnOnce() -> Content,
    ) -> Content {
        let written = self.digest_all(written);
        // The lock is not held while the digest is computed.
        let known = self.lock().get(written);
        known.unwrap_or_else(|| {
            let computed = compute();
            self.lock().insert(written, computed);
            computed
        })
    }

    fn lock(&self) -> MutexGuard<'_, DigestCache> {
        // No panic can leave a partial change, so the value of a poisoned lock is valid.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hasher of many short parts, which are hashed together: a separate update of the hasher for each part takes longer than the hash.
struct PartHasher {
    hasher: blake3::Hasher,
    /// Parts that were not passed to the hasher.
    parts: Vec<u8>,
}

impl PartHasher {
    /// Maximum number of bytes that are hashed together. Most lists of parts are shorter.
    const CAPACITY: usize = 512;

    fn new(key: &[u8; 32]) -> Self {
        Self {
            hasher: blake3::Hasher::new_keyed(key),
            parts: Vec::with_capacity(Self::CAPACITY),
        }
    }

    fn write(&mut self, part: &[u8]) {
        if self.parts.len() + part.len() > Self::CAPACITY {
            self.hasher.update(&self.parts);
            self.parts.clear();
            if part.len() > Self::CAPACITY {
                self.hasher.update(part);
                return;
            }
        }
        self.parts.extend_from_slice(part);
    }

    fn finish(mut self) -> Digest {
        self.hasher.update(&self.parts);
        Digest(*self.hasher.finalize().as_bytes())
    }
}

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
        // The response may continue the last group, so its content is kept.
        let of_content = if index == last && group.role == Role::Assistant {
            begun = canonical::items(&blocks());
            digests(&begun)
        } else {
            let texts = group.indexes(request).filter_map(|at| request.message_text(at));
            let written = std::iter::once("written messages").chain(texts);
            key.known(written.map(str::as_bytes), || match group.role {
                Role::Assistant => digests(&canonical::items(&blocks())),
                _ => Content::exact(key.message(b"content", &blocks())),
            })
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
    groups.iter().scan(beginning, |digest, group| {
        *digest = key.next(*digest, &group.role, group.exact);
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
    use crate::wire::block::Block;

    fn chain(body: &str) -> Vec<(Role, Digest)> {
        let key = ChainKey::new([7; 32]);
        let request = MessagesRequest::parse(body).unwrap();
        let groups = groups(&key, key.beginning(&Principal::from_key_name("p")), &request);
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
        let beginning = key.beginning(&Principal::from_key_name("p"));
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
    fn contexts_depend_on_system_prompt_and_tools() {
        let key = ChainKey::new([7; 32]);
        let context = |key: &ChainKey, fields: &str| {
            let body = format!(r#"{{"messages":[]{fields}}}"#);
            key.context(&MessagesRequest::parse(&body).unwrap())
        };
        let equal = [
            r#","system":"s","tools":[{"name":"a","x":1.0}]"#,
            r#","system":[{"type":"text","text":"s"}],"tools":[{"x":1,"name":"a","y":null}]"#,
        ];
        let others = [
            "",
            r#","system":"s""#,
            r#","tools":[{"name":"a","x":1}]"#,
            r#","system":"s","tools":[{"name":"a","x":2}]"#,
        ];
        // More digests than the cache holds, so that each one is computed with and without the cache.
        for number in 0..=3 * MAX_WRITTEN {
            context(&key, &format!(r#","system":"{number}""#));
            if number % (MAX_WRITTEN / 2) == 0 {
                assert_eq!(context(&key, equal[0]), context(&key, equal[1]));
                for other in others {
                    assert_ne!(context(&key, equal[0]), context(&key, other));
                    assert_eq!(context(&key, other), context(&ChainKey::new([7; 32]), other));
                }
            }
        }
        let written = key.lock();
        assert!(written.latest.len() <= MAX_WRITTEN && written.before.len() <= MAX_WRITTEN);
    }

    /// With equal contexts, the second of these requests would receive the response to the first request.
    #[test]
    fn contexts_depend_on_unknown_fields() {
        let key = ChainKey::new([7; 32]);
        let context = |fields: &str| {
            let body = format!(r#"{{"messages":[],{fields}}}"#);
            key.context(&MessagesRequest::parse(body).unwrap())
        };
        let all = [
            r#""system":"Translate to German \ud83d""#,
            r#""system":"Translate to French \ud83d""#,
            r#""system":[{"type":"text","text":"German \ud83d"}]"#,
            r#""system":[{"type":"text","text":"French \ud83d"}]"#,
            r#""system":{"text":"German"}"#,
            r#""system":{"text":"French"}"#,
            r#""tools":[{"name":"a","description":"German \ud83d"}]"#,
            r#""tools":[{"name":"a","description":"French \ud83d"}]"#,
            r#""tools":[{"name":"a","maximum":1e999}]"#,
            r#""tools":[{"name":"a","maximum":2e999}]"#,
        ];
        for (place, fields) in all.iter().enumerate() {
            for other in all.iter().skip(place + 1) {
                assert_ne!(context(fields), context(other), "{fields} {other}");
            }
        }
        assert_eq!(context(r#""system":null"#), context(r#""tools":[]"#));
    }

    #[test]
    fn settings_exclude_the_conversation_and_stream() {
        let key = ChainKey::new([7; 32]);
        let settings = |fields: &str| {
            let body = format!(r#"{{"messages":[]{fields}}}"#);
            key.settings(&MessagesRequest::parse(&body).unwrap())
        };
        let first =
            settings(r#","model":"m","x":{"a":1.0},"stream":true,"system":"s","tools":[{"name":"a"}]"#);
        for equal in [
            r#","model":"m","x":{"a":1.0}"#,
            r#","x":{ "a" : 1 },"model":"m","stream":false,"system":"t""#,
            r#","model":"n","x":{"a":1},"model":"m""#,
        ] {
            assert_eq!(settings(equal), first, "{equal}");
        }
        for other in [
            "",
            r#","model":"m""#,
            r#","model":"m","x":{"a":2}"#,
            r#","model":"m","x":{"a":1},"y":null"#,
            r#","model":"m","x":{"a":1},"model":"n""#,
            r#","model":"x","m":{"a":1}"#,
        ] {
            assert_ne!(settings(other), first, "{other}");
        }
    }

    #[test]
    fn cached_digests_equal_the_digests_of_the_canonical_form() {
        let key = ChainKey::new([7; 32]);
        let chain = |body: &str| {
            let request = MessagesRequest::parse(body).unwrap();
            let groups = groups(&key, key.beginning(&Principal::from_key_name("p")), &request);
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
                key.beginning(&Principal::from_key_name(principal)),
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
