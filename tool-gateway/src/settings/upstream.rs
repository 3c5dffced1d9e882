//! [`UpstreamSettings`]: the server for messages, or a script.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::Uri;
use clap::ValueEnum;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de};
use tool_runtime::repair::FormatFixing;

use super::mistakes::Mistakes;
use super::values;
use super::variable_name::VariableName;
use crate::upstream::anthropic::AnthropicUpstream;
use crate::upstream::openai::OpenAiUpstream;
use crate::upstream::openai::models::ModelRule;
use crate::upstream::openai::profile::{ProfileName, Quirks};
use crate::upstream::openai::settings::{CHAT_PATH, ChatSettings, ExtraBody, ServerTools};
use crate::upstream::script::ScriptUpstream;
use crate::upstream::text_calls::rules::TextThoughts;
use crate::upstream::{TextCallRules, Upstream};

/// The section `upstream`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent")]
pub(crate) struct UpstreamSettings {
    /// Kind of the upstream; `None` if `script` or the default determines the kind.
    #[serde(deserialize_with = "values::some_name")]
    pub(crate) kind: Option<UpstreamKind>,
    /// Base URL; [`DEFAULT_URL`] if neither the file nor an option nor the environment sets a URL.
    #[serde(deserialize_with = "base_url")]
    pub(crate) url: Option<String>,
    /// File with the turns of a script.
    pub(crate) script: Option<PathBuf>,
    /// Name of the environment variable with the key.
    pub(crate) key_env: VariableName,
    /// Header with the key for the Messages API: `x-api-key` by default, and `bearer` for a key from `ANTHROPIC_AUTH_TOKEN`.
    #[serde(deserialize_with = "values::some_name")]
    pub(crate) auth: Option<UpstreamAuth>,
    /// Whether clients share the batches and files of the account to which the key belongs.
    pub(crate) shared_account: bool,
    /// Values of `anthropic-beta` that are removed.
    pub(crate) remove_betas: Vec<String>,
    /// Whether the block with Claude Code's billing header is removed from system prompts.
    pub(crate) remove_billing_header: bool,
    /// Path of Chat Completions.
    #[serde(deserialize_with = "chat_path")]
    pub(crate) chat_path: Uri,
    /// Kind of the server of Chat Completions.
    #[serde(deserialize_with = "values::name")]
    pub(crate) profile: ProfileName,
    /// Flags that differ from the profile of the server.
    #[serde(deserialize_with = "values::table")]
    pub(crate) quirks: Quirks,
    /// Fields that are merged into each request of Chat Completions.
    pub(crate) extra_body: ExtraBody,
    /// Treatment of declared tools that Anthropic's API runs.
    #[serde(deserialize_with = "values::name")]
    pub(crate) server_tools: ServerTools,
    /// Whether a request whose output does not fit into the context is repeated with a smaller `max_tokens`.
    pub(crate) fit_max_tokens: bool,
    /// Whether the client's credential is sent to a server of Chat Completions if the gateway has no key.
    pub(crate) pass_client_key: bool,
}

/// Other sections about an upstream `openai`.
#[derive(Debug)]
pub(crate) struct ChatSections<'s> {
    pub(crate) models: &'s [ModelRule],
    pub(crate) text_calls: &'s TextCallRules,
    pub(crate) format_fixing: FormatFixing,
}

/// The header with the gateway's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UpstreamAuth {
    XApiKey,
    Bearer,
}

/// Variable with the key of a server of the Messages API without `key_env`.
const DEFAULT_KEY: &str = "ANTHROPIC_API_KEY";

/// Variable with the key of an upstream `openai` without `key_env`.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// Variable with a key that is sent as `authorization: Bearer`, as Anthropic's SDKs send its value.
const AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

pub(super) const DEFAULT_URL: &str = "https://api.anthropic.com";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UpstreamKind {
    /// A server of the Messages API
    Anthropic,
    /// A server of `OpenAI`'s Chat Completions, such as vLLM, llama.cpp or Ollama
    #[value(name = "openai")]
    #[serde(rename = "openai")]
    OpenAi,
    /// Responses from a file, or a built-in conversation; needs no key
    Script,
}

fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(deserializer)?;
    AnthropicUpstream::check(&url).map_err(de::Error::custom)?;
    Ok(Some(url))
}

fn chat_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uri, D::Error> {
    let path = String::deserialize(deserializer)?;
    let is_path = path.starts_with('/');
    let uri = Some(path).filter(|_| is_path).and_then(|path| path.parse().ok());
    uri.ok_or_else(|| de::Error::custom(format_args!("expected a path such as {CHAT_PATH}")))
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            kind: None,
            url: None,
            script: None,
            key_env: DEFAULT_KEY.into(),
            auth: None,
            shared_account: false,
            remove_betas: Vec::new(),
            remove_billing_header: false,
            chat_path: Uri::from_static(CHAT_PATH),
            profile: ProfileName::Auto,
            quirks: Quirks::default(),
            extra_body: ExtraBody::default(),
            server_tools: ServerTools::default(),
            fit_max_tokens: true,
            pass_client_key: false,
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
    pub(crate) async fn build(
        &self,
        chat: &ChatSections<'_>,
        listen: SocketAddr,
        mistakes: &mut Mistakes,
    ) -> Arc<dyn Upstream> {
        if chat.text_calls.thoughts == TextThoughts::Split && self.kind() != UpstreamKind::OpenAi {
            mistakes.add(
                &["text_calls", "thoughts"],
                r#""split" is only for `kind = "openai"`; leave it out"#,
            );
        }
        match self.kind() {
            UpstreamKind::Script => Arc::new(self.script(mistakes)),
            UpstreamKind::Anthropic => match self.anthropic(listen, mistakes).await {
                Some(upstream) => Arc::new(upstream),
                None => Arc::new(ScriptUpstream::embedded()),
            },
            UpstreamKind::OpenAi => match self.openai(chat, listen, mistakes).await {
                Some(upstream) => Arc::new(upstream),
                None => Arc::new(ScriptUpstream::embedded()),
            },
        }
    }

    /// Returns the variable of the key, the key, and whether the key is sent as `authorization: Bearer`.
    fn key(&self) -> (VariableName, Option<String>, bool) {
        let named = self.key_env.value();
        let (default, token) = (VariableName::from(DEFAULT_KEY), VariableName::from(AUTH_TOKEN));
        let is_token = named.is_none() && self.key_env == default && self.auth != Some(UpstreamAuth::XApiKey);
        match token.value().filter(|_| is_token) {
            Some(key) => (token, Some(key), true),
            None => (
                self.key_env.clone(),
                named,
                self.auth == Some(UpstreamAuth::Bearer),
            ),
        }
    }

    /// Returns the variable of the key of an upstream `openai`, and the key.
    fn openai_key(&self) -> (VariableName, Option<String>) {
        let variable = if self.key_env == VariableName::from(DEFAULT_KEY) {
            VariableName::from(OPENAI_KEY)
        } else {
            self.key_env.clone()
        };
        let key = variable.value();
        (variable, key)
    }

    /// Describes the source of the key for the start message, such as `, key of OPENAI_API_KEY`; empty for a script.
    pub(crate) fn describe_key(&self) -> String {
        let (variable, key) = match self.kind() {
            UpstreamKind::Script => return String::new(),
            UpstreamKind::Anthropic => {
                let (variable, key, _) = self.key();
                (variable, key)
            }
            UpstreamKind::OpenAi => self.openai_key(),
        };
        key.map_or_else(
            || ", without a key".to_owned(),
            |_| format!(", key of {variable}"),
        )
    }

    /// Adds a mistake for each key for Chat Completions with a value that an upstream `anthropic` would ignore.
    fn check_chat_keys(&self, mistakes: &mut Mistakes) {
        let defaults = Self::default();
        for (key, is_default) in [
            ("chat_path", self.chat_path == defaults.chat_path),
            ("profile", self.profile == defaults.profile),
            ("quirks", self.quirks == defaults.quirks),
            ("extra_body", self.extra_body == defaults.extra_body),
            ("server_tools", self.server_tools == defaults.server_tools),
            ("fit_max_tokens", self.fit_max_tokens == defaults.fit_max_tokens),
            ("pass_client_key", !self.pass_client_key),
        ] {
            if !is_default {
                mistakes.add(
                    &["upstream", key],
                    r#"only for `kind = "openai"`; leave it out, or change the kind"#,
                );
            }
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
        self.check_chat_keys(mistakes);
        let url = self.url.as_deref().unwrap_or(DEFAULT_URL);
        let (variable, key, is_bearer) = self.key();
        let upstream = self.server(url, &variable, key, listen, mistakes).await?;
        Some(if is_bearer {
            upstream.with_bearer_auth()
        } else {
            upstream
        })
    }

    async fn openai(
        &self,
        chat: &ChatSections<'_>,
        listen: SocketAddr,
        mistakes: &mut Mistakes,
    ) -> Option<OpenAiUpstream> {
        let Some(url) = self.url.as_deref() else {
            // An invalid URL of the file is already a mistake.
            if mistakes.is_correct_at(&["upstream", "url"]) {
                mistakes.add(
                    &["upstream", "url"],
                    "missing for `kind = \"openai\"`; name the server, such as http://localhost:8000, or write --upstream",
                );
            }
            return None;
        };
        if !chat.format_fixing.strict_validation {
            tracing::warn!(
                "format_fixing.strict_validation = false has no effect before a server of Chat Completions: arguments are always checked"
            );
        }
        let (variable, key) = self.openai_key();
        let server = self.server(url, &variable, key, listen, mistakes).await?;
        let settings = ChatSettings {
            chat_path: self.chat_path.clone(),
            profile: self.profile,
            quirks: self.quirks.clone(),
            extra_body: self.extra_body.clone(),
            server_tools: self.server_tools,
            fit_max_tokens: self.fit_max_tokens,
            models: chat.models.to_vec(),
            repair: chat.format_fixing.clone().into(),
            pass_client_key: self.pass_client_key,
            split_thoughts: match chat.text_calls.thoughts {
                TextThoughts::Keep => Vec::new(),
                TextThoughts::Split => chat.text_calls.models.clone(),
            },
        };
        Some(OpenAiUpstream::over(server.with_bearer_auth()).with_settings(settings))
    }

    /// Builds the connection to a server. `variable` is the source of the key.
    async fn server(
        &self,
        url: &str,
        variable: &VariableName,
        key: Option<String>,
        listen: SocketAddr,
        mistakes: &mut Mistakes,
    ) -> Option<AnthropicUpstream> {
        if self.script.is_some() {
            mistakes.add(
                &["upstream", "script"],
                "only for `kind = \"script\"`; leave one of the two out",
            );
        }
        if let Err(error) = AnthropicUpstream::check(url) {
            mistakes.add(&["upstream", "url"], error);
            return None;
        }
        let is_named = self.key_env != VariableName::from(DEFAULT_KEY);
        if key.is_none() && is_named {
            tracing::warn!(
                variable = %self.key_env,
                "the variable of upstream.key_env is not set; requests to the upstream have no key of the gateway"
            );
        }
        let upstream = match AnthropicUpstream::new(url, key.map(SecretString::from)) {
            Ok(upstream) => upstream.with_key_variable(variable.to_string()),
            Err(error) => {
                mistakes.add_elsewhere(format_args!("{variable}: {error}"));
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
