//! [`MintKey`]: creates the ids of calls that a client sees, and recognizes them later, without a look-up.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::chain::Digest;
use crate::random;

/// Prefix of the ids.
const PREFIX: &str = "toolu_";

/// Number of characters of the time, in minutes: 24 bits, which last 31 years.
const MINUTE_LENGTH: usize = 4;

/// Number of characters of the MAC: 36 bits.
const MAC_LENGTH: usize = 6;

/// Time from which minutes are counted: 2026-01-01, in seconds since 1970.
const EPOCH: u64 = 1_767_225_600;

/// Key of the ids of a client's calls. An id is `toolu_`, 22 random characters, 4 characters of the minute, and 6 characters of a MAC of the
/// characters before. Instances with equal secrets recognize the ids of each other, and no client can forge an id of another.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct MintKey([u8; 32]);

impl fmt::Debug for MintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MintKey(..)")
    }
}

impl MintKey {
    /// Creates a key from its digest, which depends on the principal.
    pub(super) fn new(digest: Digest) -> Self {
        Self(*digest.as_bytes())
    }

    /// Creates an id from at least 22 random bytes.
    pub(crate) fn mint(&self, bytes: &[u8]) -> String {
        self.mint_at(bytes, minute_of(SystemTime::now()))
    }

    fn mint_at(&self, bytes: &[u8], minute: u64) -> String {
        let mut id = format!("{PREFIX}{}", random::id_from(bytes));
        let minute = (0..MINUTE_LENGTH).rev().map(|place| minute >> (6 * place));
        id.extend(minute.map(|bits| random::letter(bits.to_le_bytes()[0])));
        let mac = self.mac(&id);
        id.extend(mac);
        id
    }

    /// Returns whether a gateway with this secret created an id for this client. An id of an earlier version has no MAC, and is not
    /// recognized.
    pub(crate) fn is_own(&self, id: &str) -> bool {
        let is_long = id.len() == PREFIX.len() + random::ID_LENGTH + MINUTE_LENGTH + MAC_LENGTH;
        if !is_long || !id.starts_with(PREFIX) {
            return false;
        }
        let parts = id.split_at_checked(id.len() - MAC_LENGTH);
        // The MAC protects no secret: a forged id is an id that the store does not know.
        parts.is_some_and(|(id, mac)| mac.chars().eq(self.mac(id)))
    }

    /// Returns the time since the creation of an own id, rounded down to minutes. A clock that was set back counts as no time.
    pub(crate) fn age(&self, id: &str) -> Option<Duration> {
        self.age_at(id, minute_of(SystemTime::now()))
    }

    fn age_at(&self, id: &str, now: u64) -> Option<Duration> {
        if !self.is_own(id) {
            return None;
        }
        let begin = PREFIX.len() + random::ID_LENGTH;
        let letters = id.get(begin..begin + MINUTE_LENGTH)?;
        let minute = letters.chars().try_fold(0, |minute, letter| {
            Some(minute << 6 | u64::from(random::bits_of(letter)?))
        })?;
        let now = now % (1 << (6 * MINUTE_LENGTH));
        Some(Duration::from_secs(60 * now.saturating_sub(minute)))
    }

    fn mac(&self, id: &str) -> impl Iterator<Item = char> + use<> {
        let mac = *blake3::keyed_hash(&self.0, id.as_bytes()).as_bytes();
        mac.into_iter().take(MAC_LENGTH).map(random::letter)
    }
}

/// Returns the number of minutes since [`EPOCH`].
fn minute_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().saturating_sub(EPOCH) / 60
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::chain::ChainKey;
    use crate::session::principal::Principal;

    fn key(secret: u8, client: &str) -> MintKey {
        MintKey::new(
            ChainKey::new([secret; 32])
                .principal(&Principal::from_key_name(client))
                .minted_ids,
        )
    }

    #[test]
    fn recognizes_only_ids_of_its_secret_and_client() {
        let ada = key(1, "ada");
        let id = ada.mint(&random::bytes::<22>());
        assert!(
            id.len() == 38
                && id
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        );
        assert!(ada.is_own(&id));
        assert!(!key(1, "bob").is_own(&id) && !key(2, "ada").is_own(&id));
        // Ids of earlier versions, of the upstream, and changed ids.
        let flipped: String = id
            .char_indices()
            .map(|(at, letter)| match letter {
                'A' if at == 10 => 'B',
                _ if at == 10 => 'A',
                letter => letter,
            })
            .collect();
        let wide = format!("{}é", &id[..36]);
        for other in [
            "",
            "toolu_",
            "toolu_01A09q90qw90lq917835lq9",
            &id[..28],
            &id[1..],
            &flipped,
            &wide,
        ] {
            assert!(!ada.is_own(other), "{other}");
        }
    }

    #[test]
    fn ids_contain_their_minute() {
        let ada = key(1, "ada");
        let minute = |minute: u64| ada.mint_at(&[0; 22], minute)[28..32].to_owned();
        assert_eq!(
            (minute(0), minute(1), minute(64)),
            ("AAAA".to_owned(), "AAAB".to_owned(), "AABA".to_owned())
        );
        let age = |id: &str, now| ada.age_at(id, now).map(|age| age.as_secs() / 60);
        let id = ada.mint_at(&[0; 22], 5000);
        assert_eq!((age(&id, 5000), age(&id, 5011)), (Some(0), Some(11)));
        assert_eq!((age(&id, 4000), age(&id[1..], 5000)), (Some(0), None));
        // The minutes begin again after 31 years.
        assert_eq!(minute(1 << 24), minute(0));
    }
}
