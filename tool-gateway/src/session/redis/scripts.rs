//! [`Scripts`]: the operations as scripts in Lua, which Redis executes atomically.

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// A script with the digest by which Redis finds it.
#[derive(Debug)]
pub(super) struct StoreScript {
    pub(super) code: String,
    pub(super) sha1: String,
}

impl StoreScript {
    fn new(common: &str, parts: &[&str]) -> Self {
        let code = [&[common], parts].concat().join("\n");
        let sha1 = digest(&SHA1_FOR_LEGACY_USE_ONLY, code.as_bytes());
        let digits = sha1.as_ref().iter().map(|byte| format!("{byte:02x}"));
        Self {
            sha1: digits.collect(),
            code,
        }
    }
}

/// The scripts of all operations.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) find: StoreScript,
    pub(super) load: StoreScript,
    pub(super) session: StoreScript,
    pub(super) save: StoreScript,
    pub(super) prolong: StoreScript,
    pub(super) part: StoreScript,
    pub(super) append: StoreScript,
    pub(super) claim: StoreScript,
    pub(super) renew: StoreScript,
    pub(super) release: StoreScript,
    pub(super) has_lease: StoreScript,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self::with_common(include_str!("scripts/common.lua"))
    }

    fn with_common(common: &str) -> Self {
        let progress = include_str!("scripts/progress.lua");
        let room = include_str!("scripts/room.lua");
        let lifetimes = include_str!("scripts/lifetimes.lua");
        Self {
            find: StoreScript::new(common, &[include_str!("scripts/find.lua")]),
            load: StoreScript::new(common, &[include_str!("scripts/load.lua")]),
            session: StoreScript::new(common, &[include_str!("scripts/session.lua")]),
            save: StoreScript::new(
                common,
                &[progress, room, lifetimes, include_str!("scripts/save.lua")],
            ),
            prolong: StoreScript::new(common, &[lifetimes, include_str!("scripts/prolong.lua")]),
            part: StoreScript::new(common, &[include_str!("scripts/part.lua")]),
            append: StoreScript::new(common, &[progress, room, include_str!("scripts/append.lua")]),
            claim: StoreScript::new(common, &[include_str!("scripts/claim.lua")]),
            renew: StoreScript::new(common, &[include_str!("scripts/renew.lua")]),
            release: StoreScript::new(common, &[include_str!("scripts/release.lua")]),
            has_lease: StoreScript::new(common, &[include_str!("scripts/has_lease.lua")]),
        }
    }

    /// Creates scripts whose time is later than the server's by the milliseconds in the client's key `skew`.
    #[cfg(test)]
    pub(super) fn skewed() -> Self {
        let skew =
            "microseconds = microseconds + 1000 * (redis.call('GET', prefix .. 'skew') or 0)\nlocal now =";
        let common = include_str!("scripts/common.lua").replace("local now =", skew);
        Self::with_common(&common)
    }
}
