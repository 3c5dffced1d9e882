//! [`RequestedThinking`]: `thinking` and `output_config.effort`.

use std::collections::BTreeSet;

use super::chat::{ChatReasoning, ReasoningObject, TemplateArguments, ThinkingSwitch, ThinkingType};
use crate::upstream::openai::profile::{Effort, Profile, Reasoning};
use crate::upstream::openai::warnings::WarningCode;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::request::MessagesRequest;

/// Thinking that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestedThinking {
    state: ThinkingState,
    /// Effort that the client names.
    effort: Option<Effort>,
    /// Whether the client receives empty texts.
    pub(super) is_omitted: bool,
}

/// Whether the model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingState {
    /// The request does not say so.
    Unset,
    Off,
    On {
        budget: Option<u64>,
    },
}

/// Efforts for budgets up to these numbers of tokens.
const BUDGETS: [(u64, Effort); 3] = [
    (2048, Effort::Low),
    (8192, Effort::Medium),
    (24_576, Effort::High),
];

/// Effort for higher budgets.
const HIGHEST: Effort = Effort::XHigh;

impl RequestedThinking {
    /// Reads the fields of a request.
    pub(super) fn read(request: &MessagesRequest, warnings: &mut BTreeSet<WarningCode>) -> Self {
        let thinking = request.get("thinking").and_then(Object::from_json);
        let state = match thinking {
            None => ThinkingState::Unset,
            Some(thinking) if thinking.is("type", "disabled") => ThinkingState::Off,
            Some(thinking) => ThinkingState::On {
                budget: thinking
                    .get("budget_tokens")
                    .filter(|_| thinking.is("type", "enabled"))
                    .and_then(|budget| budget.parse().ok()),
            },
        };
        let config = request.get("output_config").and_then(Object::from_json);
        let effort = config
            .and_then(|config| config.get("effort"))
            .filter(|effort| *effort != "null");
        let known = effort.and_then(|effort| serde_json::from_str(effort).ok());
        if effort.is_some() && known.is_none() {
            warnings.insert(WarningCode::Effort);
        }
        Self {
            state,
            effort: known,
            is_omitted: thinking.is_some_and(|thinking| thinking.is("display", "omitted")),
        }
    }

    /// Turns thinking off for a forced call. The error is the API's.
    pub(super) fn turn_off(&mut self) -> Result<(), ApiError> {
        if matches!(self.state, ThinkingState::On { .. }) {
            return Err(ApiError::invalid(
                "Thinking may not be enabled when tool_choice forces tool use.",
            ));
        }
        self.state = ThinkingState::Off;
        Ok(())
    }

    /// Returns the effort that the client names, or the effort of the budget.
    fn effort(self) -> Option<Effort> {
        let ThinkingState::On {
            budget: Some(budget), ..
        } = self.state
        else {
            return self.effort;
        };
        let by_budget = BUDGETS.iter().find(|(most, _)| budget <= *most);
        self.effort
            .or(Some(by_budget.map_or(HIGHEST, |(_, effort)| *effort)))
    }

    /// Translates the fields for a profile.
    pub(super) fn translate(self, profile: &Profile, warnings: &mut BTreeSet<WarningCode>) -> ChatReasoning {
        let nearest = |effort: Option<Effort>| effort.and_then(|effort| effort.nearest(&profile.efforts));
        let is_off = self.state == ThinkingState::Off;
        let switch = match self.state {
            ThinkingState::Unset => None,
            ThinkingState::Off => Some(false),
            ThinkingState::On { .. } => Some(true),
        };
        let named = nearest(self.effort.filter(|_| !is_off));
        let effort = nearest(self.effort().filter(|_| !is_off));
        let budget = match self.state {
            ThinkingState::On { budget } => budget,
            _ => None,
        };
        let template = switch.map(|is_on| TemplateArguments {
            enable_thinking: is_on,
            thinking: is_on,
        });
        let mut translated = ChatReasoning::default();
        match profile.reasoning {
            Reasoning::Effort => {
                translated.reasoning_effort = if is_off { Some(Effort::None) } else { effort }
            }
            Reasoning::Template => {
                translated.chat_template_kwargs = template;
                translated.reasoning_effort = named;
            }
            Reasoning::Budget => {
                translated.chat_template_kwargs = template;
                translated.reasoning_effort = named;
                translated.thinking_budget_tokens = budget;
            }
            Reasoning::Object => {
                translated.reasoning = match (switch, named, budget) {
                    (Some(false), ..) => Some(ReasoningObject::Enabled(false)),
                    (_, Some(effort), _) => Some(ReasoningObject::Effort(effort)),
                    (_, None, Some(budget)) => Some(ReasoningObject::MaxTokens(budget)),
                    (Some(true), None, None) => Some(ReasoningObject::Enabled(true)),
                    (None, None, None) => None,
                };
            }
            Reasoning::Switch => {
                translated.thinking = switch.map(|is_on| ThinkingSwitch {
                    kind: if is_on {
                        ThinkingType::Enabled
                    } else {
                        ThinkingType::Disabled
                    },
                });
                translated.reasoning_effort = effort;
            }
            Reasoning::None => {
                if switch == Some(true) {
                    warnings.insert(WarningCode::Thinking);
                }
                if self.effort.is_some() {
                    warnings.insert(WarningCode::Effort);
                }
            }
        }
        translated
    }
}
