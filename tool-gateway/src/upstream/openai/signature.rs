//! [`ThinkingSigner`]: signatures of thinking blocks, which carry the data that a server needs to get its thinking back.
//!
//! A signature is `tg1.`, the data as JSON in base64url, `.`, and a MAC of the data and the text of the block in base64url. The key is derived
//! from the secret of the gateway's sessions, so that no client can change the data, and a server never receives the thinking of another one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::upstream::signed_thinking::SIGNATURE;
use crate::upstream::turn_context::ThinkingKey;

/// Field of a response that had the text of the thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReasoningField {
    ReasoningContent,
    Reasoning,
    ReasoningDetails,
    /// Parts of the content, each with a list of texts.
    Content,
    /// Parts of the content, each with a text.
    Thinking,
    /// Thoughts at the beginning of the content, in `<think>`.
    ThinkTag,
    /// Thoughts in `<thinking>`.
    ThinkingTag,
    /// Thoughts in `<reasoning>`.
    ReasoningTag,
}

/// Tags around the thoughts in a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagPair {
    pub(super) opening: &'static str,
    pub(super) closing: &'static str,
}

impl ReasoningField {
    /// The fields with tags.
    pub(super) const TAGS: [Self; 3] = [Self::ThinkTag, Self::ThinkingTag, Self::ReasoningTag];

    /// Returns the tags around the thoughts, if they are in the text of the content.
    pub(super) const fn tags(self) -> Option<TagPair> {
        let (opening, closing) = match self {
            Self::ThinkTag => ("<think>", "</think>"),
            Self::ThinkingTag => ("<thinking>", "</thinking>"),
            Self::ReasoningTag => ("<reasoning>", "</reasoning>"),
            _ => return None,
        };
        Some(TagPair { opening, closing })
    }
}

/// Thinking of a model, with the data that its server needs.
#[derive(Debug, Clone, Default)]
pub(super) struct SignedReasoning {
    /// Field with the text; `None` if the thinking has no text.
    pub(super) field: Option<ReasoningField>,
    pub(super) text: String,
    /// Items of `reasoning_details`.
    pub(super) details: Vec<Box<RawValue>>,
    /// `extra_content` of calls behind the thinking, by the name of the tool.
    pub(super) extra_contents: BTreeMap<String, Box<RawValue>>,
}

/// Data of a signature.
#[derive(Debug, Serialize, Deserialize)]
struct SignatureData {
    /// Digits of the key's hash.
    k: String,
    /// Name of the model at the server.
    m: String,
    /// Digits of the hash of the server's name.
    u: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    f: Option<ReasoningField>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    d: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    c: BTreeMap<String, Box<RawValue>>,
    /// Text that the block omits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t: Option<String>,
}

/// Reason why thinking is not sent to a server. The name is the label `reason` of `thinking_dropped_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DroppedThinking {
    /// The thinking has no signature of this gateway.
    Foreign,
    /// The thinking is another model's, or another server's.
    OtherModel,
    /// The client has changed the thinking.
    Changed,
}

impl DroppedThinking {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::OtherModel => "other_model",
            Self::Changed => "changed",
        }
    }
}

/// Signs the thinking of a model, and opens its signatures.
#[derive(Debug, Clone)]
pub(super) struct ThinkingSigner {
    key: ThinkingKey,
    model: String,
    /// Digits of the hash of the server's name. Clients must not learn the name.
    upstream: String,
}

impl Default for ThinkingSigner {
    fn default() -> Self {
        Self::new(ThinkingKey(crate::random::bytes()), "", "")
    }
}

impl ThinkingSigner {
    /// Creates a signer for a model of a server.
    pub(super) fn new(key: ThinkingKey, upstream: &str, model: &str) -> Self {
        Self {
            key,
            model: model.to_owned(),
            upstream: hash_digits(upstream.as_bytes()),
        }
    }

    /// Returns the signature of thinking. With `is_omitted`, the block has an empty text, and the signature has the text.
    pub(super) fn sign(&self, reasoning: SignedReasoning, is_omitted: bool) -> String {
        let SignedReasoning {
            field,
            text,
            details,
            extra_contents,
        } = reasoning;
        let (shown, omitted) = if is_omitted && !text.is_empty() {
            (String::new(), Some(text))
        } else {
            (text, None)
        };
        let data = SignatureData {
            k: hash_digits(&self.key.0),
            m: self.model.clone(),
            u: self.upstream.clone(),
            f: field,
            d: details,
            c: extra_contents,
            t: omitted,
        };
        // Strings and JSON have a form in JSON.
        let json = serde_json::to_string(&data).unwrap_or_default();
        let mac = self.mac(&json, &shown);
        let mac = mac.as_bytes().get(..MAC_LENGTH).unwrap_or_default();
        let [json, mac] = [json.as_bytes(), mac].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        format!("{SIGNATURE}{json}.{mac}")
    }

    /// Opens the signature of a block with this text.
    pub(super) fn open(&self, signature: &str, text: &str) -> Result<SignedReasoning, DroppedThinking> {
        let parts = signature
            .strip_prefix(SIGNATURE)
            .ok_or(DroppedThinking::Foreign)?;
        let (json, mac) = parts.split_once('.').ok_or(DroppedThinking::Changed)?;
        let [json, mac] = [json, mac].map(|part| URL_SAFE_NO_PAD.decode(part));
        let (Ok(json), Ok(mac)) = (json, mac) else {
            return Err(DroppedThinking::Changed);
        };
        let json = String::from_utf8(json).map_err(|_| DroppedThinking::Changed)?;
        let data: SignatureData = serde_json::from_str(&json).map_err(|_| DroppedThinking::Changed)?;
        if data.k != hash_digits(&self.key.0) {
            return Err(DroppedThinking::Foreign);
        }
        let mac: [u8; MAC_LENGTH] = mac.try_into().map_err(|_| DroppedThinking::Changed)?;
        // Hashes are compared in constant time.
        if padded(&mac) != padded(self.mac(&json, text).as_bytes()) {
            return Err(DroppedThinking::Changed);
        }
        if data.m != self.model || data.u != self.upstream {
            return Err(DroppedThinking::OtherModel);
        }
        Ok(SignedReasoning {
            field: data.f,
            text: data.t.unwrap_or_else(|| text.to_owned()),
            details: data.d,
            extra_contents: data.c,
        })
    }

    fn mac(&self, json: &str, text: &str) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key.0);
        // The length distinguishes pairs with equal concatenations.
        hasher.update(&(json.len() as u64).to_le_bytes());
        hasher.update(json.as_bytes());
        hasher.update(text.as_bytes());
        hasher.finalize()
    }
}

/// Length of a MAC in bytes: 128 bits.
const MAC_LENGTH: usize = 16;

/// Returns the first [`MAC_LENGTH`] bytes as a hash.
fn padded(bytes: &[u8]) -> blake3::Hash {
    let mut hash = [0; 32];
    for (byte, from) in hash.iter_mut().zip(bytes).take(MAC_LENGTH) {
        *byte = *from;
    }
    blake3::Hash::from_bytes(hash)
}

/// Returns eight hexadecimal digits of the SHA-256.
fn hash_digits(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in digest(&SHA256, bytes).as_ref().iter().take(4) {
        // Writes to a `String` do not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(key: u8, upstream: &str, model: &str) -> ThinkingSigner {
        ThinkingSigner::new(ThinkingKey([key; 32]), upstream, model)
    }

    fn reasoning() -> SignedReasoning {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        SignedReasoning {
            field: Some(ReasoningField::Reasoning),
            text: "thought é".to_owned(),
            details: vec![raw(r#"{"data" : "x"}"#)],
            extra_contents: [("lookup".to_owned(), raw(r#"{"google":{}}"#))].into(),
        }
    }

    #[test]
    fn signatures_carry_the_data_byte_for_byte() {
        let signer = signer(1, "http://a", "m");
        for is_omitted in [false, true] {
            let signature = signer.sign(reasoning(), is_omitted);
            let shown = if is_omitted { "" } else { "thought é" };
            let opened = signer.open(&signature, shown).unwrap();
            assert_eq!(
                (opened.text.as_str(), opened.field),
                ("thought é", reasoning().field)
            );
            assert_eq!(opened.details[0].get(), r#"{"data" : "x"}"#);
            assert_eq!(opened.extra_contents["lookup"].get(), r#"{"google":{}}"#);
            assert!(
                signature.bytes().all(|byte| byte.is_ascii_graphic()),
                "{signature}"
            );
        }
    }

    #[test]
    fn foreign_changed_and_other_thinking_is_not_opened() {
        let own = signer(1, "http://a", "m");
        let signature = own.sign(reasoning(), false);
        let open = |signature: &str, text: &str| own.open(signature, text).unwrap_err();
        assert_eq!(open("EqQBCgIYAhIM", "thought é"), DroppedThinking::Foreign);
        assert_eq!(open("", ""), DroppedThinking::Foreign);
        let other_key = signer(2, "http://a", "m").sign(reasoning(), false);
        assert_eq!(open(&other_key, "thought é"), DroppedThinking::Foreign);
        assert_eq!(open(&signature, "thought"), DroppedThinking::Changed);
        for cut in [4, 5, 40, signature.len() - 1] {
            assert_eq!(open(&signature[..cut], "thought é"), DroppedThinking::Changed);
        }
        for other in [signer(1, "http://b", "m"), signer(1, "http://a", "n")] {
            let error = other.open(&signature, "thought é").unwrap_err();
            assert_eq!(error, DroppedThinking::OtherModel);
        }
        // The data of one block with the MAC of another.
        let omitted = own.sign(reasoning(), true);
        let [data, mac] = [&signature, &omitted].map(|signature| signature.rsplit_once('.').unwrap());
        let mixed = format!("{}.{}", data.0, mac.1);
        assert_eq!(open(&mixed, "thought é"), DroppedThinking::Changed);
    }

    #[test]
    fn signatures_hide_the_name_of_the_server() {
        let signature = signer(1, "http://10.0.0.7:8000", "m").sign(reasoning(), false);
        let data = signature.split('.').nth(1).unwrap();
        let data = String::from_utf8(URL_SAFE_NO_PAD.decode(data).unwrap()).unwrap();
        assert!(!data.contains("10.0.0.7"), "{data}");
    }
}
