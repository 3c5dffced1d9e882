//! Requests of the Messages API as requests of Chat Completions. The entry is [`translate`].

// A module uses only modules that are declared before it.
mod raw;
mod chat;
mod place;
mod ids;
mod parts;
mod server_calls;
mod echoed_thinking;
mod conversation;
mod client_tools;
mod openapi_schema;
mod tools;
mod output_format;
mod system;
mod account;
mod thinking;
mod fields;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::value::RawValue;

use self::chat::{ChatRequest, ChatStreamOptions, ContinuedMessage};
use self::conversation::Conversation;
use self::output_format::{OutputFormat, TranslatedFormat};
use self::parts::PartReader;
use self::raw::raw;
use self::thinking::RequestedThinking;
use self::tools::ToolTranslator;
use super::models::ModelRule;
use super::names::ChatNames;
use super::positive_number::PositiveNumber;
use super::profile::{IdScheme, MaxField, Prefill, Profile};
use super::response::expected::ExpectedResponse;
use super::settings::ChatSettings;
use super::signature::{DroppedThinking, ThinkingSigner};
use super::warnings::WarningCode;
use crate::upstream::turn_context::TurnContext;
use crate::wire::error::ApiError;
use crate::wire::request::MessagesRequest;
use crate::wire::walk;

/// A translated request of a turn.
#[derive(Debug)]
pub(super) struct ChatTurn {
    /// Body of the request of Chat Completions.
    pub(super) body: String,
    /// Name of the model at the server.
    pub(super) served_model: String,
    /// Parts of the request that were left out or changed.
    pub(super) warnings: BTreeSet<WarningCode>,
    /// Thinking blocks that were not sent.
    pub(super) dropped_thinking: Vec<DroppedThinking>,
    /// Facts for reading the response.
    pub(super) response: ExpectedResponse,
}

/// Facts about the upstream and the turn of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct TranslationContext<'t> {
    pub(super) profile: &'t Profile,
    pub(super) settings: &'t ChatSettings,
    /// Name of the upstream.
    pub(super) upstream: &'t str,
    pub(super) turn: &'t TurnContext,
}

/// Translates a request. The error names the field that this upstream cannot receive.
pub(super) fn translate(
    request: &MessagesRequest,
    context: TranslationContext<'_>,
) -> Result<ChatTurn, ApiError> {
    let TranslationContext {
        profile,
        settings,
        upstream,
        turn,
    } = context;
    let model = request
        .get("model")
        .and_then(walk::string)
        .ok_or_else(|| ApiError::invalid("model: expected a string"))?;
    let rule = ModelRule::find(&settings.models, &model);
    let served = rule.and_then(|rule| rule.serve.as_deref()).unwrap_or(&model);
    let mut warnings = BTreeSet::new();
    fields::check(request, &mut warnings)?;
    let mut thinking = RequestedThinking::read(request, &mut warnings);
    let mut names = ChatNames::default();
    let mut translator = ToolTranslator {
        profile,
        server_tools: settings.server_tools,
        warnings,
        eager_functions: BTreeSet::new(),
        streams_eagerly: turn.eager_streaming,
    };
    let tools = translator.tools(request, &mut names)?;
    let choice = translator.choice(request.get("tool_choice"), &tools, &mut names)?;
    let eager_functions = translator.eager_functions;
    let mut warnings = translator.warnings;
    if choice.is_thinking_off {
        thinking.turn_off()?;
    }
    let reasoning = thinking.translate(profile, &mut warnings);

    let TranslatedFormat {
        response_format,
        instruction,
    } = TranslatedFormat::new(OutputFormat::read(request)?, profile, &mut warnings);
    let reader = PartReader { profile, warnings };
    let system = system::content(request.get("system"), instruction, &reader);
    // Kimi K2 reads its ids on every server.
    let is_kimi = served.to_ascii_lowercase().contains("kimi-k2");
    let ids = if is_kimi { IdScheme::Kimi } else { profile.ids };
    let signer = ThinkingSigner::new(turn.thinking_key, upstream, served);
    let mut conversation = Conversation::new(reader, ids, signer);
    conversation.push_system(system);
    conversation.push_messages(request, &mut names)?;
    let prefill = prefill(&conversation, profile)?;
    let mut warnings = std::mem::take(&mut conversation.reader.warnings);
    let dropped_thinking = std::mem::take(&mut conversation.thinking.dropped);
    let signer = conversation.thinking.signer.clone();

    let max_tokens = max_tokens(request, rule, &mut warnings);
    let (max_tokens, max_completion_tokens) = match profile.max_field {
        MaxField::MaxTokens => (max_tokens, None),
        MaxField::MaxCompletionTokens => (None, max_tokens),
    };
    let is_stream = request.is_stream();
    let stops = StopSequences::read(request, profile)?;
    let mut chat = ChatRequest {
        model: Cow::Borrowed(served),
        parallel_tool_calls: (choice.is_single_call && profile.parallel && !tools.is_empty())
            .then_some(false),
        tools,
        messages: conversation.into_messages(),
        tool_choice: choice.choice,
        max_tokens,
        max_completion_tokens,
        stop: stops.field,
        temperature: field(request, "temperature"),
        top_p: field(request, "top_p"),
        top_k: top_k(request, profile, &mut warnings),
        response_format,
        reasoning,
        extras: account::extras(request, profile, turn.session.as_deref(), &mut warnings),
        stream: is_stream,
        stream_options: is_stream.then_some(ChatStreamOptions {
            include_usage: true,
            continuous_usage_stats: profile.continuous_usage,
        }),
        prefill,
    };
    let body = serde_json::to_string(&chat)
        .map_err(|error| ApiError::invalid(format!("the request cannot be translated: {error}")))?;
    let response = ExpectedResponse {
        model: model.clone().into_owned(),
        served_model: served.to_owned(),
        prompt: chat.take_prompt_size(body.len()),
        names,
        eager_functions,
        is_single_call: choice.is_single_call,
        stop_sequences: stops.sent,
        searched_stops: stops.searched,
        splits_objects: profile.split_objects,
        signer,
        omits_thinking: thinking.is_omitted,
        ..ExpectedResponse::default()
    };
    Ok(ChatTurn {
        body: settings.with_extra_body(body),
        served_model: served.to_owned(),
        warnings,
        dropped_thinking,
        response,
    })
}

/// Returns `top_k`, if the server accepts it.
fn top_k<'r>(
    request: &'r MessagesRequest,
    profile: &Profile,
    warnings: &mut BTreeSet<WarningCode>,
) -> Option<&'r RawValue> {
    let top_k = field(request, "top_k")?;
    if !profile.top_k {
        warnings.insert(WarningCode::TopK);
        return None;
    }
    Some(top_k)
}

/// Stop sequences of a request.
#[derive(Default)]
struct StopSequences<'r> {
    /// The field for the server; `None` if the server accepts fewer sequences.
    field: Option<&'r RawValue>,
    sent: Vec<String>,
    searched: Vec<String>,
}

impl<'r> StopSequences<'r> {
    fn read(request: &'r MessagesRequest, profile: &Profile) -> Result<Self, ApiError> {
        let field = field(request, "stop_sequences");
        let items = walk::items(field.map_or("", RawValue::get));
        let sequences: Vec<String> = items
            .filter_map(|sequence| walk::string(sequence).map(Cow::into_owned))
            .collect();
        let is_sent = u64::try_from(sequences.len()).is_ok_and(|count| count <= profile.stop_max.0);
        if sequences.is_empty() {
            Ok(Self::default())
        } else if is_sent {
            Ok(Self {
                field,
                sent: sequences,
                searched: Vec::new(),
            })
        } else if sequences.len() <= MAX_SEARCHED_STOPS {
            Ok(Self {
                searched: sequences,
                ..Self::default()
            })
        } else {
            let message = format!(
                "stop_sequences: expected at most {MAX_SEARCHED_STOPS} sequences for this upstream, got {}",
                sequences.len()
            );
            Err(ApiError::invalid(message))
        }
    }
}

/// Maximum number of stop sequences that the gateway searches, since each of them is compared with each byte of a response.
const MAX_SEARCHED_STOPS: usize = 64;

/// Returns the fields for a last message of the assistant, which the model continues.
fn prefill(conversation: &Conversation<'_>, profile: &Profile) -> Result<Option<ContinuedMessage>, ApiError> {
    match profile.prefill {
        _ if !conversation.ends_with_assistant() => Ok(None),
        Prefill::Continue => Ok(Some(ContinuedMessage::new())),
        Prefill::Native => Ok(None),
        Prefill::Refuse => Err(ApiError::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )),
    }
}

/// Returns `max_tokens`, at most the maximum of the model.
fn max_tokens<'r>(
    request: &'r MessagesRequest,
    rule: Option<&ModelRule>,
    warnings: &mut BTreeSet<WarningCode>,
) -> Option<Cow<'r, RawValue>> {
    let text = field(request, "max_tokens")?;
    let maximum = rule.and_then(|rule| rule.max_tokens);
    let is_more = |maximum: &PositiveNumber| {
        let sent = text.get().parse::<u64>();
        sent.is_ok_and(|sent| sent > maximum.0)
    };
    let Some(maximum) = maximum.filter(is_more) else {
        return Some(Cow::Borrowed(text));
    };
    warnings.insert(WarningCode::MaxTokens);
    RawValue::from_string(maximum.0.to_string()).ok().map(Cow::Owned)
}

/// Returns a field of the request, unless it is null.
fn field<'r>(request: &'r MessagesRequest, name: &str) -> Option<&'r RawValue> {
    raw(request.get(name).filter(|value| *value != "null")?)
}

#[cfg(test)]
mod tests;
