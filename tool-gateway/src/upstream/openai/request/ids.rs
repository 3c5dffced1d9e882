//! [`ChatCallIds`]: ids of calls in the form of a server.

use std::collections::HashMap;

use ring::digest::{SHA256, digest};

use crate::upstream::openai::profile::IdScheme;

/// Ids of the calls of a conversation. Equal conversations have equal ids, and an extended conversation keeps its ids.
///
/// An id in the form of a server is sent unchanged, since it may be this server's own.
#[derive(Debug)]
pub(super) struct ChatCallIds {
    scheme: IdScheme,
    /// Number of calls by id.
    uses: HashMap<String, usize>,
    calls: usize,
}

/// Maximum length of an id.
const MAX_ID: usize = 40;

/// Length of Mistral's ids.
const NINE: usize = 9;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl ChatCallIds {
    pub(super) fn new(scheme: IdScheme) -> Self {
        Self {
            scheme,
            uses: HashMap::new(),
            calls: 0,
        }
    }

    /// Returns the id of the next call.
    pub(super) fn next(&mut self, id: &str, function: &str) -> String {
        let number = self.calls;
        self.calls += 1;
        let uses = self.uses.entry(id.to_owned()).or_default();
        *uses += 1;
        let text = match *uses {
            1 => id.to_owned(),
            uses => format!("{id}\n{uses}"),
        };
        let is_first = *uses == 1;
        match self.scheme {
            // Kimi K2 counts the calls of the conversation, and reads the ids.
            IdScheme::Kimi => format!("functions.{function}:{number}"),
            IdScheme::Any if is_first && (is_plain(id) || is_known(id, function)) => id.to_owned(),
            IdScheme::Any => format!("call_{}", base62(&text, 24)),
            IdScheme::Nine if is_first && is_nine(id) => id.to_owned(),
            IdScheme::Nine => base62(&text, NINE),
        }
    }
}

fn is_plain(id: &str) -> bool {
    let mut bytes = id.bytes();
    (1..=MAX_ID).contains(&id.len())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns whether an id has the form of Kimi's or vLLM's ids, which are longer or have other characters.
fn is_known(id: &str, function: &str) -> bool {
    let kimi = id.strip_prefix("functions.");
    let number = kimi
        .and_then(|id| id.strip_prefix(function))
        .and_then(|id| id.strip_prefix(':'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let vllm = id.strip_prefix("chatcmpl-tool-");
    let is_hex = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    number.is_some_and(is_number) || vllm.is_some_and(is_hex)
}

fn is_nine(id: &str) -> bool {
    id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the first digits of a text's SHA-256 in base 62.
fn base62(text: &str, digits: usize) -> String {
    let mut number = digest(&SHA256, text.as_bytes()).as_ref().to_vec();
    let digit = |_| {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = (rest << 8) | u32::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or_default();
            rest = value % 62;
        }
        ALPHABET.get(rest as usize).copied().map_or('0', char::from)
    };
    (0..digits).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(scheme: IdScheme, ids: &[&str]) -> Vec<String> {
        let mut all = ChatCallIds::new(scheme);
        ids.iter().map(|id| all.next(id, "Read")).collect()
    }

    #[test]
    fn any_keeps_plain_ids_and_hashes_others() {
        let long = "x".repeat(41);
        let vllm = format!("chatcmpl-tool-{}", "0a".repeat(16));
        let sent = [
            "toolu_1",
            "",
            &long,
            "a b",
            "functions.Read:3",
            &vllm,
            "functions.Edit:3",
        ];
        let found = ids(IdScheme::Any, &sent);
        for (sent, found) in sent.iter().zip(&found) {
            let is_kept = ["toolu_1", "functions.Read:3", &vllm].contains(sent);
            assert_eq!(found == sent, is_kept, "{sent} {found}");
            assert!(
                is_kept || (found.starts_with("call_") && found.len() == 29),
                "{found}"
            );
        }
        assert_eq!(found, ids(IdScheme::Any, &sent));
    }

    #[test]
    fn the_next_use_of_an_id_is_another_id() {
        for scheme in [IdScheme::Any, IdScheme::Nine, IdScheme::Kimi] {
            for id in ["", "call_1", "123456789"] {
                let found = ids(scheme, &[id, id, id]);
                assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2]);
            }
        }
    }

    #[test]
    fn nine_has_nine_alphanumerics() {
        for id in ids(IdScheme::Nine, &["toolu_1", "abcDEF123", "", "call_1234"]) {
            assert!(is_nine(&id), "{id}");
        }
        assert_eq!(ids(IdScheme::Nine, &["abcDEF123"]), ["abcDEF123"]);
    }

    #[test]
    fn kimi_counts_the_calls_of_the_conversation() {
        let expected = ["functions.Read:0", "functions.Read:1"];
        assert_eq!(ids(IdScheme::Kimi, &["toolu_1", "functions.Read:7"]), expected);
    }
}
