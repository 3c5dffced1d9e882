//! Fields about the user and the tier of a request.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

use super::chat::ChatExtras;
use crate::upstream::openai::profile::{Profile, UserField};
use crate::upstream::openai::warnings::WarningCode;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;
use crate::wire::walk;

/// Translates the fields about the account and the session.
pub(super) fn extras(
    request: &MessagesRequest,
    profile: &Profile,
    session: Option<&str>,
    warnings: &mut BTreeSet<WarningCode>,
) -> ChatExtras {
    let mut extras = ChatExtras {
        prompt_cache_key: session.filter(|_| profile.cache_key).map(str::to_owned),
        ..ChatExtras::default()
    };
    let metadata = request.get("metadata").and_then(Object::from_json);
    if let Some(user) = metadata.and_then(|metadata| metadata.text("user_id")) {
        let hash = Some(sha256_hex(&user));
        match profile.user_field {
            UserField::None => {
                warnings.insert(WarningCode::UserId);
            }
            UserField::SafetyIdentifier => extras.safety_identifier = hash,
            UserField::User => extras.user = hash,
        }
    }
    let text = |name: &str| request.get(name).and_then(walk::string);
    let is_standard = text("service_tier").as_deref() == Some("standard_only");
    let is_fast = text("speed").as_deref() == Some("fast");
    for (is_set, tier, code) in [
        (is_standard, "default", WarningCode::ServiceTier),
        (is_fast, "fast", WarningCode::Speed),
    ] {
        if is_set && profile.tiers {
            extras.service_tier = Some(tier);
        } else if is_set {
            warnings.insert(code);
        }
    }
    extras
}

/// Returns the SHA-256 of a text in hexadecimal digits: servers must not receive the client's accounts and devices.
fn sha256_hex(text: &str) -> String {
    let mut hex = String::new();
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        // Writes to a `String` do not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
