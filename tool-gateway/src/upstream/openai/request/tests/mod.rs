//! Translations of requests: the rows of `cases.json`, which have the names of the specification's rows, and properties of all of them.

mod document;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ChatTurn, TranslationContext, translate};
use crate::upstream::openai::models::ModelRule;
use crate::upstream::openai::profile::{IdScheme, Profile, ProfileName, Quirks, ToolImages};
use crate::upstream::openai::settings::{ChatSettings, ExtraBody, ServerTools};
use crate::upstream::openai::signature::{ReasoningField, SignedReasoning, ThinkingSigner};
use crate::upstream::turn_context::{ThinkingKey, TurnContext};
use crate::wire::error::ApiError;
use crate::wire::object::{Object, place};
use crate::wire::request::MessagesRequest;

/// Name of the upstream of all cases.
const UPSTREAM: &str = "http://localhost:8000";

/// Key of the signatures of all cases.
const KEY: ThinkingKey = ThinkingKey([7; 32]);

const CASES: &str = include_str!("cases.json");

/// A request, and its translation. Fields that are not in `request` have defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    row: String,
    profile: Option<ProfileName>,
    #[serde(default)]
    quirks: Quirks,
    #[serde(default)]
    extra_body: ExtraBody,
    #[serde(default)]
    server_tools: ServerTools,
    #[serde(default)]
    models: Vec<ModelRule>,
    request: Map<String, Value>,
    /// Expected fields; `null` for a missing field.
    #[serde(default)]
    chat: Map<String, Value>,
    #[serde(default)]
    warnings: BTreeSet<String>,
    /// Reasons for thinking that is not sent.
    #[serde(default)]
    dropped: Vec<String>,
    /// Beginning of the error.
    error: Option<String>,
}

impl Case {
    fn all() -> Vec<Self> {
        serde_json::from_str(CASES).unwrap()
    }

    fn profile(&self) -> Profile {
        self.quirks
            .apply(self.profile.unwrap_or(ProfileName::Generic).profile())
    }

    fn settings(&self) -> ChatSettings {
        ChatSettings {
            extra_body: self.extra_body.clone(),
            server_tools: self.server_tools,
            models: self.models.clone(),
            ..ChatSettings::default()
        }
    }

    fn request(&self) -> Map<String, Value> {
        let Value::Object(mut request) = json!({
            "model": "claude-test",
            "max_tokens": 100,
            "messages": [{ "role": "user", "content": "hi" }],
        }) else {
            unreachable!()
        };
        request.extend(self.request.clone());
        for message in request["messages"].as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().into_iter().flatten() {
                sign(block);
            }
        }
        request
    }

    fn translate(&self, profile: &Profile, request: &Map<String, Value>) -> Result<ChatTurn, ApiError> {
        let body = serde_json::to_string(request).unwrap();
        let context = TranslationContext {
            profile,
            settings: &self.settings(),
            upstream: UPSTREAM,
            turn: &TurnContext {
                thinking_key: KEY,
                session: Some("ses_1".to_owned()),
                eager_streaming: true,
            },
        };
        translate(&MessagesRequest::parse(body).unwrap(), context)
    }
}

/// Data of a signature in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseSignature {
    field: Option<ReasoningField>,
    /// Text that was signed, if the client has changed the text.
    text: Option<String>,
    omitted: Option<String>,
    #[serde(default)]
    details: Vec<Value>,
    #[serde(default)]
    extra_contents: BTreeMap<String, Value>,
    model: Option<String>,
    server: Option<String>,
    key: Option<u8>,
}

/// Signs a thinking block with the data in its signature.
fn sign(block: &mut Value) {
    if !block["signature"].is_object() {
        return;
    }
    let data: CaseSignature = serde_json::from_value(block["signature"].take()).unwrap();
    let key = data.key.map_or(KEY, |key| ThinkingKey([key; 32]));
    let signer = ThinkingSigner::new(
        key,
        data.server.as_deref().unwrap_or(UPSTREAM),
        data.model.as_deref().unwrap_or("claude-test"),
    );
    let raw = |value: Value| serde_json::value::to_raw_value(&value).unwrap();
    let is_omitted = data.omitted.is_some();
    let shown = data
        .text
        .unwrap_or_else(|| block["thinking"].as_str().unwrap().to_owned());
    let reasoning = SignedReasoning {
        field: data.field,
        text: data.omitted.unwrap_or(shown),
        details: data.details.into_iter().map(raw).collect(),
        extra_contents: data
            .extra_contents
            .into_iter()
            .map(|(tool, value)| (tool, raw(value)))
            .collect(),
    };
    block["signature"] = signer.sign(reasoning, is_omitted).into();
}

#[test]
fn requests_are_translated_by_the_table() {
    let mut wrong = Vec::new();
    for case in Case::all() {
        let turn = match (case.translate(&case.profile(), &case.request()), &case.error) {
            (Ok(turn), None) => turn,
            (Err(error), Some(expected)) if error.message.starts_with(expected) => continue,
            (Ok(turn), Some(_)) => {
                wrong.push(format!("{}: expected an error, got {}", case.row, turn.body));
                continue;
            }
            (Err(error), _) => {
                wrong.push(format!("{}: {error}", case.row));
                continue;
            }
        };
        let chat: Value = serde_json::from_str(&turn.body).unwrap();
        for (field, expected) in &case.chat {
            if &chat[field] != expected {
                wrong.push(format!(
                    "{}: {field}:\n  expected {expected}\n  got      {}",
                    case.row, chat[field]
                ));
            }
        }
        let warnings: BTreeSet<String> = turn
            .warnings
            .iter()
            .map(|code| code.as_str().to_owned())
            .collect();
        if warnings != case.warnings {
            wrong.push(format!("{}: warnings: {warnings:?}", case.row));
        }
        let dropped: Vec<&str> = turn
            .dropped_thinking
            .iter()
            .map(|reason| reason.as_str())
            .collect();
        if dropped != case.dropped {
            wrong.push(format!("{}: dropped: {dropped:?}", case.row));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Profiles that are not aliases.
const PROFILES: [ProfileName; 11] = [
    ProfileName::Generic,
    ProfileName::OpenAi,
    ProfileName::Vllm,
    ProfileName::SgLang,
    ProfileName::LlamaCpp,
    ProfileName::Ollama,
    ProfileName::LiteLlm,
    ProfileName::OpenRouter,
    ProfileName::DeepSeek,
    ProfileName::Gemini,
    ProfileName::Mistral,
];

/// Checks a request against the rules of servers.
fn check(row: &str, profile: &Profile, body: &str) {
    let chat: Value = serde_json::from_str(body).unwrap();
    assert_ne!(chat.get("tools"), Some(&json!([])), "{row}");
    assert!(
        chat.get("tools").is_some() || chat.get("tool_choice").is_none(),
        "{row}"
    );
    let is_name = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
    };
    for tool in chat["tools"].as_array().into_iter().flatten() {
        assert!(is_name(tool["function"]["name"].as_str().unwrap()), "{row}");
        let parameters = &tool["function"]["parameters"];
        assert_eq!(parameters["type"], "object", "{row}");
        assert!(parameters["properties"].is_object(), "{row}");
    }
    let mut open: Vec<String> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut last_role = String::new();
    for message in chat["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            assert_eq!(
                message["tool_call_id"],
                open.remove(0),
                "{row}: results in the order of the calls"
            );
            assert!(
                message["content"].is_string()
                    || profile.tool_images == ToolImages::Parts
                    || profile.cache_control,
                "{row}"
            );
        } else {
            assert!(open.is_empty(), "{row}: a call without a result");
            assert!(
                role != last_role || matches!(role, "system" | "developer"),
                "{row}: neighbours of one role"
            );
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap().to_owned();
            assert!(!id.is_empty() && ids.insert(id.clone()), "{row}: {id}");
            if profile.ids == IdScheme::Nine && chat["model"] == "claude-test" {
                assert!(
                    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                    "{row}: {id}"
                );
            }
            assert!(is_name(call["function"]["name"].as_str().unwrap()), "{row}");
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(
                serde_json::from_str::<Map<String, Value>>(arguments).is_ok(),
                "{row}"
            );
            open.push(id);
        }
        role.clone_into(&mut last_role);
    }
    assert!(open.is_empty(), "{row}: a call without a result");
}

#[test]
fn no_profile_sends_an_ill_formed_request() {
    for case in Case::all() {
        for name in PROFILES {
            let profile = name.profile();
            if let Ok(turn) = case.translate(&profile, &case.request()) {
                check(&case.row, &profile, &turn.body);
            }
        }
    }
}

#[test]
fn an_extended_conversation_extends_the_bytes_of_messages() {
    let mut checked = 0;
    for case in Case::all() {
        let request = case.request();
        // After a message of white space alone, the next one continues the message before.
        if request["messages"].as_array().unwrap().last().unwrap()["role"] != "user" {
            continue;
        }
        let mut extended = request.clone();
        extended["messages"].as_array_mut().unwrap().extend([
            json!({ "role": "assistant", "content": [
                { "type": "text", "text": "ok" },
                { "type": "tool_use", "id": "toolu_next", "name": "a.b", "input": {} },
            ] }),
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_next", "content": "1" }] }),
        ]);
        for name in PROFILES {
            let Ok(first) = case.translate(&name.profile(), &request) else {
                continue;
            };
            assert_eq!(
                first.body,
                case.translate(&name.profile(), &request).unwrap().body,
                "{}",
                case.row
            );
            let second = case.translate(&name.profile(), &extended).unwrap().body;
            let messages = Object::from_json(&first.body).unwrap().get("messages").unwrap();
            let end = place(&first.body, messages).end - "]".len();
            // Model, tools and messages are before all other fields.
            assert!(
                second.starts_with(&first.body[..end]),
                "{} {name:?}\n{}\n{second}",
                case.row,
                first.body
            );
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn rejects_more_stop_sequences_than_can_be_searched() {
    let case = &Case::all()[0];
    let mut request = case.request();
    for (count, is_valid) in [(64, true), (65, false)] {
        let sequences: Value = (0..count).map(|number| number.to_string()).collect();
        request.insert("stop_sequences".to_owned(), sequences);
        let translated = case.translate(&ProfileName::Generic.profile(), &request);
        assert_eq!(translated.is_ok(), is_valid, "{count}");
        if let Err(error) = translated {
            assert!(
                format!("{error:?}").contains("stop_sequences: expected at most 64"),
                "{error:?}"
            );
        }
    }
}
