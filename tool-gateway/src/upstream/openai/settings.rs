//! [`ChatSettings`]: settings of the upstream.

use axum::http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::repair::{FormatFixing, TargetTools};

use super::models::ModelRule;
use super::profile::{ProfileName, Quirks};
use crate::name_pattern;
use crate::upstream::text_calls::rules::TextThoughts;
use crate::wire::object::{Object, set_field};

/// Path of Chat Completions.
pub(crate) const CHAT_PATH: &str = "/v1/chat/completions";

/// Fields of a request that `extra_body` must not contain.
const OWN_FIELDS: [&str; 3] = ["model", "messages", "stream"];

/// Settings of the upstream.
#[derive(Debug, Clone)]
pub(crate) struct ChatSettings {
    pub(crate) chat_path: Uri,
    pub(crate) profile: ProfileName,
    pub(crate) quirks: Quirks,
    /// Fields that are merged into each request.
    pub(crate) extra_body: ExtraBody,
    pub(crate) server_tools: ServerTools,
    /// Whether a request whose output does not fit into the context is repeated with a smaller `max_tokens`.
    pub(crate) fit_max_tokens: bool,
    pub(crate) models: Vec<ModelRule>,
    pub(crate) repair: ArgumentRepair,
    /// Whether the client's credential is forwarded if the gateway has no key.
    pub(crate) pass_client_key: bool,
    /// Patterns of the names of served models whose reasoning text in tags becomes thinking blocks.
    pub(crate) split_thoughts: Vec<String>,
}

/// Treatment of declared tools that Anthropic's API runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServerTools {
    #[default]
    Refuse,
    Drop,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            chat_path: Uri::from_static(CHAT_PATH),
            profile: ProfileName::Generic,
            quirks: Quirks::default(),
            extra_body: ExtraBody::default(),
            server_tools: ServerTools::default(),
            fit_max_tokens: true,
            models: Vec::new(),
            repair: ArgumentRepair::default(),
            pass_client_key: false,
            split_thoughts: Vec::new(),
        }
    }
}

impl ChatSettings {
    /// Returns the treatment of a served model's thoughts in tags.
    pub(super) fn thoughts(&self, model: &str) -> TextThoughts {
        let mut patterns = self.split_thoughts.iter();
        if patterns.any(|pattern| name_pattern::matches(pattern, model)) {
            TextThoughts::Split
        } else {
            TextThoughts::Keep
        }
    }
}

/// Repair of the arguments of calls; by default, of the calls of every tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentRepair {
    /// Configuration for the reader of calls.
    pub(super) fixing: FormatFixing,
    /// Whether eager arguments that cannot be repaired are sent unchanged after their first pieces. Otherwise, the stream ends with an error.
    pub(super) fallback_on_error: bool,
}

impl Default for ArgumentRepair {
    fn default() -> Self {
        FormatFixing::for_every_tool().into()
    }
}

impl From<FormatFixing> for ArgumentRepair {
    fn from(fixing: FormatFixing) -> Self {
        let target_tools = if fixing.enabled {
            fixing.target_tools
        } else {
            TargetTools::Named(Vec::new())
        };
        Self {
            fallback_on_error: fixing.fallback_on_error,
            fixing: FormatFixing {
                enabled: true,
                target_tools,
                // Otherwise, the repair could send arguments that are not JSON, which are broken calls.
                strict_validation: true,
                // Otherwise, the reader would withhold arguments that cannot be repaired.
                fallback_on_error: true,
                debug_logging: fixing.debug_logging,
            },
        }
    }
}

/// Fields that are merged into each request of Chat Completions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(crate) struct ExtraBody(Map<String, Value>);

impl TryFrom<Map<String, Value>> for ExtraBody {
    type Error = String;

    fn try_from(fields: Map<String, Value>) -> Result<Self, String> {
        if fields.values().any(has_date) || fields.contains_key(TOML_DATE) {
            return Err("unexpected date; expected a table with values that JSON has".to_owned());
        }
        match OWN_FIELDS.into_iter().find(|name| fields.contains_key(*name)) {
            None => Ok(Self(fields)),
            Some(name) => Err(format!(
                "unexpected field `{name}`, which each request sets; remove it"
            )),
        }
    }
}

/// Field in which the crate `toml` puts a date.
const TOML_DATE: &str = "$__toml_private_datetime";

fn has_date(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_date),
        Value::Object(fields) => fields.contains_key(TOML_DATE) || fields.values().any(has_date),
        _ => false,
    }
}

impl ChatSettings {
    /// Returns a path beside the path of Chat Completions, such as `/v1/models` for `models`.
    pub(super) fn path_beside(&self, name: &str) -> Option<Uri> {
        let base = self.chat_path.path().strip_suffix("/chat/completions")?;
        format!("{base}/{name}").parse().ok()
    }

    /// Returns a path of the server's root, which is the parent of `/v1`.
    pub(super) fn path_of_root(&self, name: &str) -> Option<Uri> {
        let base = self.chat_path.path().strip_suffix("/chat/completions")?;
        let root = base.strip_suffix("/v1").unwrap_or(base);
        format!("{root}/{name}").parse().ok()
    }

    /// Merges the additional fields into a request. An object is merged into an object.
    pub(super) fn with_extra_body(&self, body: String) -> String {
        self.extra_body.0.iter().fold(body, |body, (name, value)| {
            let own = Object::from_json(&body).and_then(|body| body.get(name));
            let own = own.filter(|_| value.is_object());
            let own = own.and_then(|own| serde_json::from_str::<Value>(own).ok());
            let merged = own.map_or_else(|| value.clone(), |own| merge(own, value));
            set_field(&body, name, &merged.to_string())
        })
    }
}

fn merge(own: Value, value: &Value) -> Value {
    match (own, value) {
        (Value::Object(mut own), Value::Object(fields)) => {
            for (name, value) in fields {
                let inner = own.remove(name).unwrap_or(Value::Null);
                own.insert(name.clone(), merge(inner, value));
            }
            Value::Object(own)
        }
        (_, value) => value.clone(),
    }
}
