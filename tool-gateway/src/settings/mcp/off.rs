//! The section `mcp` of a program that was built without the feature `mcp`.

use std::net::SocketAddr;

use serde::de::{Deserialize, Deserializer, Error};

use crate::settings::mistakes::Mistakes;

/// Rejected section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct McpSettings;

impl McpSettings {
    pub(crate) fn import(&mut self, _: &mut Mistakes) {}

    pub(crate) fn check(&self, _: &mut Mistakes) {}

    pub(crate) async fn check_addresses(&self, _: SocketAddr, _: &mut Mistakes) {}

    pub(crate) fn check_served(&self, _: &[String], _: &mut Mistakes) {}

    /// Returns whether a tool of an MCP server may have this name: never.
    pub(crate) fn owns(&self, _: &str) -> bool {
        false
    }

    pub(crate) fn name_starts(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn may_match(&self, _: &str) -> bool {
        false
    }
}

impl<'de> Deserialize<'de> for McpSettings {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "this program was built without the feature `mcp`; build it with `--features mcp`",
        ))
    }
}
