//! [`ChainKey`]: digests of the parts of a conversation, whose key is a secret of the server, so that a client cannot compute the digests of a
//! session from a known history.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::canonical;
use super::canonical_text::CanonicalText;
use super::digest_cache::DigestCache;
use super::principal::Principal;
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;
use crate::wire::walk::Field;

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
    written: Arc<Mutex<DigestCache<Digest, Content, MAX_WRITTEN>>>,
    /// Cached digests of principals, since a client sends many requests.
    principals: Arc<Mutex<DigestCache<Principal, PrincipalDigests, MAX_PRINCIPALS>>>,
}

/// Digests that are common to the requests of a principal.
#[derive(Clone, Copy)]
pub(super) struct PrincipalDigests {
    /// Digest by which a store separates the entries of clients.
    pub(super) client: Digest,
    /// First digest in the chains of the principal.
    pub(super) beginning: Digest,
    /// Key of the ids of the principal's calls.
    pub(super) minted_ids: Digest,
}

/// Digests of the content of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// Digest of the canonical form.
    pub(super) exact: Digest,
    /// Digest of the canonical form with joined texts, for assistant messages. Equal to `exact` for other messages.
    pub(super) joined: Digest,
}

impl Content {
    /// Creates the digests of a message that is not an assistant message.
    pub(super) fn exact(digest: Digest) -> Self {
        Self {
            exact: digest,
            joined: digest,
        }
    }
}

/// Maximum number of values in a map: as many as a table of 32,768 places has. Both maps together take about 7 MB.
pub(super) const MAX_WRITTEN: usize = 28 << 10;

/// Maximum number of principals in a map: as many as a table of 2,048 places has. Both maps together take about 1 MB.
const MAX_PRINCIPALS: usize = 7 << 8;

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
            principals: Arc::default(),
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
            hasher.push(part);
        }
        hasher.finish()
    }

    /// Returns a hasher for the digest of a list of parts.
    pub(crate) fn part_hasher(&self) -> PartHasher {
        PartHasher::new(&self.key)
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

    /// Returns the digests of a principal from the cache, or computes them.
    pub(super) fn principal(&self, principal: &Principal) -> PrincipalDigests {
        let known = lock(&self.principals).get(principal);
        known.unwrap_or_else(|| {
            let digest = |label: &[u8]| self.digest(&[label, principal.as_bytes()]);
            let computed = PrincipalDigests {
                client: digest(b"client"),
                beginning: digest(b"principal"),
                minted_ids: digest(b"minted id"),
            };
            lock(&self.principals).insert(principal.clone(), computed);
            computed
        })
    }

    /// Computes the digest of a canonical list of blocks. The chain and the digests of a response share this digest, so that a long text is
    /// hashed once.
    pub(super) fn content(&self, items: &str) -> Digest {
        self.canonical(b"content", |out| {
            out.push(b"[");
            out.push(items.as_bytes());
            out.push(b"]");
        })
    }

    /// Computes the digest of a canonical list of blocks with joined texts.
    pub(super) fn joined(&self, items: &str, has_input: bool) -> Digest {
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
    pub(super) fn next(&self, previous: Digest, role: &Role, content: Digest) -> Digest {
        self.digest(&[&previous.0, role.as_str().as_bytes(), &content.0])
    }

    /// Computes the digest of the system prompt and the tools.
    pub(crate) fn context(&self, request: &MessagesRequest) -> Digest {
        let system = request.get("system");
        let written = [
            "written context",
            system.unwrap_or_default(),
            request.tools_text(),
        ];
        let context = self.known(written.into_iter().map(str::as_bytes), || {
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
        let is_other = |field: &Field<'_>| !field.is("system") && !field.is("stream");
        let written = request.settings().filter(is_other);
        let written = written.flat_map(|field| [field.quoted_name(), field.value]);
        let written = std::iter::once("written settings").chain(written);
        let settings = self.known(written.map(str::as_bytes), || {
            let sorted = || request.sorted_settings().filter(is_other);
            Content::exact(self.canonical(b"settings", |out| canonical::write_settings(out, sorted())))
        });
        settings.exact
    }

    /// Returns the digests of the value with this text from the cache, or computes them.
    pub(super) fn known<'p>(
        &self,
        written: impl Iterator<Item = &'p [u8]>,
        compute: impl FnOnce() -> Content,
    ) -> Content {
        let written = self.digest_all(written);
        // The lock is not held while the digest is computed.
        let known = lock(&self.written).get(&written);
        known.unwrap_or_else(|| {
            let computed = compute();
            lock(&self.written).insert(written, computed);
            computed
        })
    }
}

fn lock<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic can leave a partial change, so the value of a poisoned lock is valid.
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hasher of many short parts, which are hashed together: a separate update of the hasher for each part takes longer than the hash.
pub(crate) struct PartHasher {
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

    /// Adds a part.
    pub(crate) fn push(&mut self, part: &[u8]) {
        // Lengths distinguish lists of parts with equal concatenations.
        self.write(&(part.len() as u64).to_le_bytes());
        self.write(part);
    }

    /// Adds a part that consists of two pieces.
    pub(crate) fn push_joined(&mut self, first: &[u8], second: &[u8]) {
        self.write(&((first.len() + second.len()) as u64).to_le_bytes());
        self.write(first);
        self.write(second);
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

    /// Returns the digest. The hasher is not moved, since it has 2 KB.
    pub(crate) fn finish(&mut self) -> Digest {
        self.hasher.update(&self.parts);
        Digest(*self.hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The identities of requests in a store have such parts.
    #[test]
    fn two_pieces_have_the_digest_of_one_part() {
        let key = ChainKey::new([7; 32]);
        let mut hasher = key.part_hasher();
        hasher.push(b"a");
        hasher.push_joined(b"12 ", b"{}");
        assert_eq!(hasher.finish(), key.digest(&[b"a", b"12 {}"]));
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
        let written = lock(&key.written);
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
}
