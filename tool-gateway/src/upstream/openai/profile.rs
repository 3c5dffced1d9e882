//! [`Profile`]: the differences between servers of Chat Completions.

use serde::{Deserialize, Deserializer, Serialize, de};

use super::positive_number::PositiveNumber;

/// Declares the flags of [`Profile`], and [`Quirks`], which replaces single flags.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $generic:expr,)*) => {
        /// Differences of a server from others. The default is the profile `generic`.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        pub(crate) struct Profile {
            $($(#[$doc])* pub(super) $name: $type,)*
        }

        impl Default for Profile {
            fn default() -> Self {
                Self { $($name: $generic,)* }
            }
        }

        /// Flags of the profile that the configuration replaces.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct Quirks {
            $($name: Option<$type>,)*
        }

        impl Quirks {
            /// Returns the profile with these flags.
            pub(super) fn apply(&self, profile: Profile) -> Profile {
                Profile { $($name: self.$name.clone().unwrap_or(profile.$name),)* }
            }
        }
    };
}

flags! {
    /// Role of system prompts.
    role: SystemRole = SystemRole::System,
    /// Treatment of system messages between other messages.
    mid_system: MidSystem = MidSystem::User,
    /// Field with the maximum number of output tokens.
    max_field: MaxField = MaxField::MaxTokens,
    /// Maximum number of stop sequences.
    stop_max: PositiveNumber = PositiveNumber(4),
    /// Treatment of a `tool_choice` that forces a call.
    forced: ForcedChoice = ForcedChoice::Yes,
    /// Whether the server accepts `top_k`.
    top_k: bool = false,
    /// Whether the server accepts `parallel_tool_calls`.
    parallel: bool = false,
    /// Whether the server accepts tools with `strict`.
    strict: bool = false,
    /// Notation of schemas.
    schema: SchemaNotation = SchemaNotation::AsIs,
    /// Whether the server accepts `response_format` with a schema.
    json_schema: bool = true,
    /// Treatment of a last message of the assistant.
    prefill: Prefill = Prefill::Refuse,
    /// Images in results of tools.
    tool_images: ToolImages = ToolImages::User,
    /// Whether the server fetches the URLs of images.
    image_urls: bool = true,
    /// Whether the server accepts PDF documents.
    files: bool = false,
    /// Whether the server accepts `cache_control`.
    cache_control: bool = false,
    /// Whether the server accepts `prompt_cache_key`.
    cache_key: bool = false,
    /// Whether the server accepts `service_tier`.
    tiers: bool = false,
    /// Field for the hash of `metadata.user_id`.
    user_field: UserField = UserField::None,
    /// Ids of calls.
    ids: IdScheme = IdScheme::Any,
    /// Request fields for thinking.
    reasoning: Reasoning = Reasoning::Effort,
    /// Efforts that the server accepts, in ascending order.
    efforts: Vec<Effort> = Effort::range(Effort::Low, Effort::High),
    /// Thinking of earlier messages.
    back: ThinkingBack = ThinkingBack::Echo,
    /// Whether assistant messages without thinking have an empty one.
    empty_reasoning: bool = false,
    /// Whether calls need signatures of thoughts, which calls of other models get in a form that is not checked.
    call_signatures: bool = false,
    /// Source of `count_tokens`.
    count: TokenCount = TokenCount::Estimate,
    /// Whether streams have the usage in each chunk.
    continuous_usage: bool = false,
    /// Whether a second object at one index is another call.
    split_objects: bool = false,
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
            pub(crate) enum $name {
                $(#[serde(rename = $text)] $variant,)*
            }

            impl $name {
                /// Returns the name in the configuration.
                #[allow(dead_code, reason = "few of the names are in logs")]
                pub(super) const fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$variant => $text,)*
                    }
                }
            }

            // The derived implementation also reads a table.
            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let name = String::deserialize(deserializer)?;
                    match name.as_str() {
                        $($text => Ok(Self::$variant),)*
                        name => Err(de::Error::unknown_variant(name, &[$($text),*])),
                    }
                }
            }
        )*
    };
}

choices! {
    /// Role of system prompts.
    SystemRole { System = "system", Developer = "developer", }
    /// Treatment of system messages between other messages.
    MidSystem { Keep = "keep", User = "user", }
    /// Field with the maximum number of output tokens.
    MaxField { MaxTokens = "max_tokens", MaxCompletionTokens = "max_completion_tokens", }
    /// Treatment of a `tool_choice` that forces a call.
    ForcedChoice { Yes = "yes", NoThinking = "no_thinking", Auto = "auto", }
    /// Notation of schemas.
    SchemaNotation { AsIs = "as_is", OpenApi = "openapi", }
    /// Treatment of a last message of the assistant.
    Prefill { Continue = "continue", Native = "native", Refuse = "refuse", }
    /// Images in results of tools.
    ToolImages { Parts = "parts", User = "user", }
    /// Field for the hash of `metadata.user_id`.
    UserField { None = "none", SafetyIdentifier = "safety_identifier", User = "user", }
    /// Ids of calls.
    IdScheme { Any = "any", Nine = "nine", Kimi = "kimi", }
    /// Request fields for thinking.
    Reasoning {
        Effort = "effort", Template = "template", Budget = "budget", Object = "object", Switch = "switch", None = "none",
    }
    /// Effort of thinking.
    Effort {
        None = "none", Minimal = "minimal", Low = "low", Medium = "medium", High = "high", XHigh = "xhigh", Max = "max",
    }
    /// Thinking of earlier messages.
    ThinkingBack { Echo = "echo", None = "none", }
    /// Source of `count_tokens`.
    TokenCount { Estimate = "estimate", Tokenize = "tokenize", Messages = "messages", }
    /// Name of a profile.
    ProfileName {
        Auto = "auto", Generic = "generic", OpenAi = "openai", Vllm = "vllm", SgLang = "sglang", LlamaCpp = "llamacpp",
        Ollama = "ollama", LiteLlm = "litellm", OpenRouter = "openrouter", DeepSeek = "deepseek", Gemini = "gemini",
        Mistral = "mistral",
    }
}

impl Effort {
    const ALL: [Self; 7] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// Returns the nearest of these efforts; the higher one of two.
    pub(super) fn nearest(self, efforts: &[Self]) -> Option<Self> {
        let distance = |effort: &&Self| (**effort as u8).abs_diff(self as u8);
        let nearest = efforts
            .iter()
            .min_by_key(|effort| (distance(effort), std::cmp::Reverse(**effort)));
        nearest.copied()
    }

    fn range(first: Self, last: Self) -> Vec<Self> {
        let efforts = Self::ALL.into_iter();
        efforts.filter(|effort| (first..=last).contains(effort)).collect()
    }
}

/// Hosts of servers whose profile is known.
const HOSTS: [(&str, ProfileName); 7] = [
    ("api.openai.com", ProfileName::OpenAi),
    ("openai.azure.com", ProfileName::OpenAi),
    ("openrouter.ai", ProfileName::OpenRouter),
    ("deepseek.com", ProfileName::DeepSeek),
    ("generativelanguage.googleapis.com", ProfileName::Gemini),
    ("aiplatform.googleapis.com", ProfileName::Gemini),
    ("mistral.ai", ProfileName::Mistral),
];

/// Values of `owned_by` in lists of models.
const OWNERS: [(&str, ProfileName); 4] = [
    ("vllm", ProfileName::Vllm),
    ("sglang", ProfileName::SgLang),
    ("llamacpp", ProfileName::LlamaCpp),
    ("library", ProfileName::Ollama),
];

impl ProfileName {
    /// Returns the profile of a server by its host, which is the name or one of its subdomains.
    pub(super) fn from_host(host: &str) -> Option<Self> {
        let is_host = |known: &str| {
            let parent = host.strip_suffix(known);
            parent.is_some_and(|parent| parent.is_empty() || parent.ends_with(['.', '-']))
        };
        HOSTS
            .iter()
            .find_map(|(known, profile)| is_host(known).then_some(*profile))
    }

    /// Returns the profile of a server by the owner of its models.
    pub(super) fn from_owner(owner: &str) -> Option<Self> {
        OWNERS
            .iter()
            .find_map(|(known, profile)| (*known == owner).then_some(*profile))
    }

    /// Returns the flags of the profile; `auto` has those of `generic`.
    pub(super) fn profile(self) -> Profile {
        let generic = Profile::default();
        match self {
            Self::Auto | Self::Generic => generic,
            Self::OpenAi => Profile {
                role: SystemRole::Developer,
                mid_system: MidSystem::Keep,
                max_field: MaxField::MaxCompletionTokens,
                parallel: true,
                strict: true,
                efforts: Effort::range(Effort::None, Effort::Max),
                back: ThinkingBack::None,
                files: true,
                cache_key: true,
                tiers: true,
                user_field: UserField::SafetyIdentifier,
                ..generic
            },
            Self::Vllm => Profile {
                stop_max: PositiveNumber(1000),
                top_k: true,
                parallel: true,
                reasoning: Reasoning::Template,
                continuous_usage: true,
                prefill: Prefill::Continue,
                count: TokenCount::Tokenize,
                ..generic
            },
            Self::SgLang => Profile {
                strict: true,
                tool_images: ToolImages::Parts,
                count: TokenCount::Messages,
                ..Self::Vllm.profile()
            },
            Self::LlamaCpp => Profile {
                stop_max: PositiveNumber(1000),
                top_k: true,
                parallel: true,
                reasoning: Reasoning::Budget,
                tool_images: ToolImages::Parts,
                prefill: Prefill::Native,
                count: TokenCount::Messages,
                ..generic
            },
            Self::Ollama => Profile {
                stop_max: PositiveNumber(1000),
                forced: ForcedChoice::Auto,
                efforts: Effort::range(Effort::Low, Effort::Max),
                image_urls: false,
                ..generic
            },
            Self::LiteLlm => Profile {
                mid_system: MidSystem::Keep,
                parallel: true,
                files: true,
                cache_control: true,
                user_field: UserField::User,
                ..generic
            },
            Self::OpenRouter => Profile {
                top_k: true,
                strict: true,
                reasoning: Reasoning::Object,
                ..Self::LiteLlm.profile()
            },
            Self::DeepSeek => Profile {
                stop_max: PositiveNumber(16),
                forced: ForcedChoice::NoThinking,
                reasoning: Reasoning::Switch,
                efforts: vec![Effort::High, Effort::Max],
                empty_reasoning: true,
                json_schema: false,
                ..generic
            },
            Self::Gemini => Profile {
                stop_max: PositiveNumber(5),
                schema: SchemaNotation::OpenApi,
                call_signatures: true,
                split_objects: true,
                ..generic
            },
            Self::Mistral => Profile {
                parallel: true,
                reasoning: Reasoning::None,
                ids: IdScheme::Nine,
                ..generic
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_owners_have_profiles() {
        for (host, expected) in [
            ("api.openai.com", Some(ProfileName::OpenAi)),
            ("me.openai.azure.com", Some(ProfileName::OpenAi)),
            ("openrouter.ai", Some(ProfileName::OpenRouter)),
            ("api.deepseek.com", Some(ProfileName::DeepSeek)),
            ("europe-aiplatform.googleapis.com", Some(ProfileName::Gemini)),
            ("api.mistral.ai", Some(ProfileName::Mistral)),
            ("notmistral.ai", None),
            ("localhost", None),
        ] {
            assert_eq!(ProfileName::from_host(host), expected, "{host}");
        }
        assert_eq!(ProfileName::from_owner("library"), Some(ProfileName::Ollama));
        assert_eq!(ProfileName::from_owner("me"), None);
    }

    #[test]
    fn quirks_replace_single_flags() {
        let quirks: Quirks = toml::from_str("top_k = false\nids = \"nine\"").unwrap();
        let expected = Profile {
            top_k: false,
            ids: IdScheme::Nine,
            ..ProfileName::Vllm.profile()
        };
        assert_eq!(quirks.apply(ProfileName::Vllm.profile()), expected);
        let error = toml::from_str::<Quirks>("topk = true").unwrap_err().to_string();
        assert!(
            error.contains("unknown field `topk`, expected one of `role`"),
            "{error}"
        );
    }
}
