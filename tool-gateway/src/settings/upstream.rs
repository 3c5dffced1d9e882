//! [`UpstreamSettings`]: the server for messages, or a script.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de};

use super::mistakes::Mistakes;
use super::values;
use crate::upstream::Upstream;
use crate::upstream::anthropic::AnthropicUpstream;
use crate::upstream::script::ScriptUpstream;

/// The section `upstream`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct UpstreamSettings {
    /// Kind of the upstream, unless a script implies the kind.
    #[serde(deserialize_with = "values::some_name")]
    pub(crate) kind: Option<UpstreamKind>,
    /// Base URL; [`DEFAULT_URL`] if neither file, option nor environment sets one.
    #[serde(deserialize_with = "base_url")]
    pub(crate) url: Option<String>,
    /// File with the turns of a script.
    pub(crate) script: Option<PathBuf>,
    /// Name of the environment variable with the key.
    pub(crate) key_env: String,
}

pub(super) const DEFAULT_URL: &str = "https://api.anthropic.com";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UpstreamKind {
    /// A server of the Messages API
    Anthropic,
    /// Answers from a file, or a built-in conversation: no key is needed
    Script,
}

fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(deserializer)?;
    AnthropicUpstream::check(&url).map_err(de::Error::custom)?;
    Ok(Some(url))
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            kind: None,
            url: None,
            script: None,
            key_env: "ANTHROPIC_API_KEY".to_owned(),
        }
    }
}

impl UpstreamSettings {
    pub(crate) fn kind(&self) -> UpstreamKind {
        match (self.kind, &self.script) {
            (Some(kind), _) => kind,
            (None, Some(_)) => UpstreamKind::Script,
            (None, None) => UpstreamKind::Anthropic,
        }
    }

    /// Builds the upstream. After a mistake, returns the embedded script, so that the rest of the configuration can be checked.
    pub(crate) async fn build(&self, listen: SocketAddr, mistakes: &mut Mistakes) -> Arc<dyn Upstream> {
        match self.kind() {
            UpstreamKind::Script => Arc::new(self.script(mistakes)),
            UpstreamKind::Anthropic => match self.anthropic(listen, mistakes).await {
                Some(upstream) => Arc::new(upstream),
                None => Arc::new(ScriptUpstream::embedded()),
            },
        }
    }

    fn script(&self, mistakes: &mut Mistakes) -> ScriptUpstream {
        let Some(file) = &self.script else {
            return ScriptUpstream::embedded();
        };
        ScriptUpstream::from_file(file).unwrap_or_else(|error| {
            mistakes.add(&["upstream", "script"], error);
            ScriptUpstream::embedded()
        })
    }

    async fn anthropic(&self, listen: SocketAddr, mistakes: &mut Mistakes) -> Option<AnthropicUpstream> {
        if self.script.is_some() {
            mistakes.add(
                &["upstream", "script"],
                "only for `kind = \"script\"`; leave one of the two out",
            );
        }
        let url = self.url.as_deref().unwrap_or(DEFAULT_URL);
        if let Err(error) = AnthropicUpstream::check(url) {
            mistakes.add(&["upstream", "url"], error);
            return None;
        }
        let key = env::var(&self.key_env).ok().filter(|key| !key.is_empty());
        let upstream = match AnthropicUpstream::new(url, key.map(SecretString::from)) {
            Ok(upstream) => upstream,
            Err(error) => {
                mistakes.add_elsewhere(format_args!("{}: {error}", self.key_env));
                return None;
            }
        };
        if upstream.connects_to(listen).await {
            mistakes.add(
                &["upstream", "url"],
                format_args!(
                    "the upstream {url} is this gateway itself, which would ask itself for ever (clients set ANTHROPIC_BASE_URL, too); \
                     name another with --upstream"
                ),
            );
        }
        Some(upstream)
    }
}
