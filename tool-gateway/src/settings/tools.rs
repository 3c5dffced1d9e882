//! [`ToolSettings`]: the gateway's tools, and the owners of tools that the client and the gateway both have.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tool_runtime::ToolRegistry;

use super::bash::BashSettings;
use super::mistakes::Mistakes;
use super::unknown_tool::KnownTools;
use super::values;
use crate::turn::ownership::{Offer, Ownership};

/// The section `tools`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "ToolTable")]
pub(crate) struct ToolSettings {
    /// Names of the gateway's tools; all tools if absent.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) offer: Offer,
    pub(crate) ownership: Ownership,
    /// Names of the tools whose calls wait for the client's results.
    pub(crate) deferred: BTreeSet<String>,
    /// Commands of the gateway.
    pub(crate) bash: BashSettings,
}

/// The section in the file. The settings of [`Ownership`] have no table of their own.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolTable {
    names: Option<Vec<String>>,
    #[serde(deserialize_with = "values::name")]
    offer: OfferName,
    #[serde(deserialize_with = "values::name")]
    ownership: OwnershipRule,
    internal: BTreeSet<String>,
    external: BTreeSet<String>,
    deferred: BTreeSet<String>,
    alias: BTreeMap<String, String>,
    #[serde(deserialize_with = "values::table")]
    bash: BashSettings,
}

/// Names of [`Offer`]s in the file and on the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OfferName {
    /// The tools that the client declares
    #[default]
    Declared,
    /// All tools, even if the client does not declare them
    Always,
}

impl From<OfferName> for Offer {
    fn from(name: OfferName) -> Self {
        match name {
            OfferName::Declared => Self::Declared,
            OfferName::Always => Self::Always,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OwnershipRule {
    #[default]
    BySchema,
    ByName,
}

impl From<ToolTable> for ToolSettings {
    fn from(table: ToolTable) -> Self {
        let rule = match table.ownership {
            OwnershipRule::BySchema => Ownership::by_schema(),
            OwnershipRule::ByName => Ownership::by_name(),
        };
        let ownership = rule.with_internal(table.internal).with_external(table.external);
        Self {
            names: table.names,
            offer: table.offer.into(),
            ownership: table
                .alias
                .into_iter()
                .fold(ownership, |ownership, (declared, own)| {
                    ownership.with_alias(declared, own)
                }),
            deferred: table.deferred,
            bash: table.bash,
        }
    }
}

impl ToolSettings {
    /// Returns the registry with only the tools of the settings.
    pub(crate) fn select(&self, registry: ToolRegistry, mistakes: &mut Mistakes) -> ToolRegistry {
        let Some(names) = &self.names else {
            return registry;
        };
        let known = KnownTools {
            registry: &registry,
            may_have: &|_| false,
        };
        mistakes.check_names(known, ["tools", "names"], names);
        registry.subset(names)
    }

    /// Checks the names of tools.
    pub(crate) fn check(&self, known: KnownTools<'_>, mistakes: &mut Mistakes) {
        mistakes.check_names(known, ["tools", "internal"], self.ownership.internal());
        mistakes.check_names(known, ["tools", "deferred"], &self.deferred);
        for (declared, own) in self.ownership.aliases() {
            if let Err(error) = known.check(own) {
                mistakes.add(&["tools", "alias", declared], error);
            }
        }
        for name in self.ownership.internal().intersection(self.ownership.external()) {
            mistakes.add_of_list(
                ["tools", "external"],
                name,
                format_args!("`{name}` is in `internal`, too; leave it out of one of the two"),
            );
        }
    }
}
