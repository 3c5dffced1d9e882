//! The result of a call: [`ToolOutput`] from the function, [`ToolResult`] for the model, [`ToolOutcome`] for the host.

use std::borrow::Cow;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::wire::issue::Issue;
use crate::wire::message::Block;

/// Result of one `tool_use`, in the form of the Messages API.
///
/// `is_error` is serialized only if it is `true`; `tool_use_id` is always the call's id.
///
/// ```
/// use tool_runtime::{ToolOutput, ToolResult};
///
/// let result = ToolResult::new("toolu_01", ToolOutput::text("42"));
/// assert_eq!(
///     serde_json::to_string(&result).unwrap(),
///     r#"{"type":"tool_result","tool_use_id":"toolu_01","content":"42"}"#,
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub tool_use_id: String,
    /// Text, or content blocks.
    pub content: Content,
    /// Whether the call failed.
    pub is_error: bool,
    /// The [structured value](ToolOutput::structured). This API's form does not have it; the host and its layers see
    /// it, and MCP's form has it as `structuredContent`.
    pub structured: Option<Box<Value>>,
}

impl ToolResult {
    /// Combines the output of a function with the id of the call, which functions do not see.
    pub fn new(tool_use_id: impl Into<String>, output: ToolOutput) -> Self {
        let mut result = Self {
            tool_use_id: tool_use_id.into(),
            content: output.content,
            is_error: output.is_error,
            structured: output.structured,
        };
        result.replace_empty_content(None);
        result
    }

    /// The result of a call that has no output yet.
    #[inline]
    pub(crate) fn pending(tool_use_id: String) -> Self {
        Self {
            tool_use_id,
            content: Content::Text(String::new()),
            is_error: false,
            structured: None,
        }
    }

    /// Removes empty text blocks, and adds a text to a failure without text. Anthropic's API refuses both with status
    /// 400, also in every later request of the conversation.
    #[inline]
    pub(crate) fn replace_empty_content(&mut self, tool: Option<&str>) {
        if self.is_error || matches!(self.content, Content::Blocks(_)) {
            self.replace_empty_blocks(tool);
        }
    }

    /// This function is not inlined: most results are texts without an error.
    #[inline(never)]
    fn replace_empty_blocks(&mut self, tool: Option<&str>) {
        if let Content::Blocks(blocks) = &mut self.content {
            blocks.retain(|block| block.kind() != "text" || block.str("text") != Some(""));
            if blocks.iter().all(Block::is_blank_text) {
                // The API refuses white space, too, unless other text is beside it.
                blocks.clear();
            }
        }
        if self.is_error && self.content.is_blank() {
            self.content = Content::Text(failed_without_message(tool));
        }
    }

    /// Returns the content as text; `None` if it is blocks.
    pub fn text(&self) -> Option<&str> {
        self.content.as_text()
    }
}

/// The serialized form, in the order of the API's documentation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
struct WireResult<C> {
    r#type: ResultTag,
    tool_use_id: String,
    #[serde(default = "Option::default")]
    content: Option<C>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResultTag {
    ToolResult,
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WireResult {
            r#type: ResultTag::ToolResult,
            tool_use_id: self.tool_use_id.clone(),
            content: Some(&self.content),
            is_error: self.is_error.then_some(true),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireResult::<Content>::deserialize(deserializer)?;
        Ok(Self {
            tool_use_id: wire.tool_use_id,
            content: wire.content.unwrap_or_else(|| Content::Text(String::new())),
            is_error: wire.is_error.unwrap_or(false),
            structured: None,
        })
    }
}

/// The content of a result: a string, or content blocks (text, images, documents …).
///
/// ```
/// use tool_runtime::message::Block;
/// use tool_runtime::result::Content;
/// use tool_runtime::serde_json::{json, to_value};
///
/// assert_eq!(Content::from("noon").as_text(), Some("noon"));
/// let blocks = Content::Blocks(vec![Block::text("noon")]);
/// assert_eq!(to_value(blocks).unwrap(), json!([{ "type": "text", "text": "noon" }]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A function's text verbatim, or other data as compact JSON.
    Text(String),
    /// [`Blocks`] that a function returned.
    Blocks(Vec<Block>),
}

impl Content {
    /// Returns the text; `None` if this is blocks.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Blocks(_) => None,
        }
    }

    /// Returns whether the content is nothing but white space.
    fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Blocks(blocks) => blocks.iter().all(Block::is_blank_text),
        }
    }

    /// Appends a note as a paragraph or a block.
    fn add_note(&mut self, note: &str) {
        match self {
            Self::Text(text) if text.is_empty() => note.clone_into(text),
            Self::Text(text) => {
                text.push_str(NOTE_SEPARATOR);
                text.push_str(note);
            }
            Self::Blocks(blocks) => blocks.push(Block::text(note)),
        }
    }

    /// Returns the content before a note; `None` if it does not end with that note.
    fn without_note(&self, note: &str) -> Option<Self> {
        match self {
            Self::Text(text) => {
                let before = text.strip_suffix(note)?;
                let before = before
                    .strip_suffix(NOTE_SEPARATOR)
                    .or(before.is_empty().then_some(""))?;
                Some(Self::Text(before.to_owned()))
            }
            Self::Blocks(blocks) => {
                let (last, before) = blocks.split_last()?;
                (*last == Block::text(note)).then(|| Self::Blocks(before.to_vec()))
            }
        }
    }
}

/// Returns the text for the model about a failure without a message.
#[cold]
fn failed_without_message(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("the tool `{tool}` failed without a message"),
        None => "the tool failed without a message".to_owned(),
    }
}

/// The separator between text and note.
const NOTE_SEPARATOR: &str = "\n\n";

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Self {
        Self::Blocks(blocks)
    }
}

impl From<Blocks> for Content {
    fn from(Blocks(blocks): Blocks) -> Self {
        Self::Blocks(blocks)
    }
}

impl From<Block> for Content {
    fn from(block: Block) -> Self {
        Self::Blocks(vec![block])
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Blocks(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            blocks @ Value::Array(_) => serde_json::from_value(blocks)
                .map(Self::Blocks)
                .map_err(D::Error::custom),
            _ => Err(D::Error::custom(
                "content is a string or an array of content blocks",
            )),
        }
    }
}

/// The output of a function, without the id of the call.
///
/// Functions that decide at run time whether they failed return this type; other functions return a `Result`, or
/// plain data.
///
/// ```
/// use tool_runtime::{ToolOutput, testing, tool};
///
/// /// Run the tests.
/// #[tool]
/// async fn run_tests() -> ToolOutput {
///     let (log, passed) = ("1 of 3 tests failed", false);
///     if passed { ToolOutput::text(log) } else { ToolOutput::error(log) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// testing::run::<run_tests>("{}").await.assert_error("1 of 3 tests failed");
/// # }
/// ```
// R-RES-6.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Text, or content blocks.
    pub content: Content,
    /// Whether the call failed.
    pub is_error: bool,
    /// The value that the text describes, for programs that call the tool. [`Structured`](crate::Structured) or
    /// [`with_structured`](Self::with_structured) sets it on a success. The model reads only the content.
    pub structured: Option<Box<Value>>,
    /// Kind of the failure, if the call failed.
    pub(crate) failure: OutputFailure,
}

impl ToolOutput {
    /// Creates a success with this text, verbatim.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: Content::Text(text.into()),
            is_error: false,
            structured: None,
            failure: OutputFailure::Failed,
        }
    }

    /// Creates a failure whose text advises the model. An empty text becomes a note that the tool failed without a
    /// message.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: Content::Text(text.into()),
            is_error: true,
            structured: None,
            failure: OutputFailure::Failed,
        }
    }

    /// Creates a transient failure, as [`ToolError::retry`](crate::ToolError::retry) does. A line after the text
    /// informs the model that another attempt may succeed.
    pub fn retry(text: impl Into<String>) -> Self {
        let mut output = Self::error(text);
        if output.content.is_blank() {
            output.content = Content::Text(failed_without_message(None));
        }
        output.content.add_note(RETRY_NOTE);
        output.failure = OutputFailure::Retryable;
        output
    }

    /// Creates a failure whose host gets [`Failure::TimedOut`], for a function that has its own limit of time. The model reads only
    /// the text.
    ///
    /// ```
    /// use tool_runtime::result::Failure;
    /// use tool_runtime::{Context, ToolCall, ToolDefinition, ToolOutput, ToolRegistry, serde_json::json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let mut registry = ToolRegistry::new();
    /// let definition = ToolDefinition::new("ask", "Ask another library.", json!({ "type": "object" }));
    /// registry.register_dynamic(definition, async |_, _: Context| ToolOutput::timed_out("no answer for 60 s"))?;
    /// let outcome = registry.call(ToolCall::new("toolu_01", "ask", "{}")).await;
    /// assert_eq!(outcome.failure, Some(Failure::TimedOut));
    /// assert_eq!(outcome.result.text(), Some("no answer for 60 s"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn timed_out(text: impl Into<String>) -> Self {
        let mut output = Self::error(text);
        output.failure = OutputFailure::TimedOut;
        output
    }

    /// Returns the kind of failure; `None` for a success.
    #[inline]
    pub(crate) fn failure(&self) -> Option<Failure> {
        let failure = match self.failure {
            OutputFailure::Failed => Failure::Failed,
            OutputFailure::Retryable => Failure::Retryable,
            OutputFailure::TimedOut => Failure::TimedOut,
        };
        self.is_error.then_some(failure)
    }

    /// Creates a success with these content blocks.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            content: blocks.into_iter().collect::<Blocks>().into(),
            is_error: false,
            structured: None,
            failure: OutputFailure::Failed,
        }
    }

    /// Adds a structured value beside the content, for tools whose definition has an external
    /// [`output_schema`](crate::ToolDefinition::output_schema). A function with a typed value returns
    /// [`Structured`](crate::Structured).
    ///
    /// ```
    /// use tool_runtime::{ToolOutput, serde_json::json};
    ///
    /// let output = ToolOutput::text("21 °C, sunny").with_structured(json!({ "celsius": 21, "sky": "clear" }));
    /// assert_eq!(output.structured.unwrap()["celsius"], 21);
    /// ```
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(Box::new(value));
        self
    }

    /// Creates a failure with content blocks, for instance a screenshot.
    pub fn error_blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            is_error: true,
            ..Self::blocks(blocks)
        }
    }
}

/// Failure of an [output](ToolOutput) with `is_error`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OutputFailure {
    Failed,
    Retryable,
    TimedOut,
}

/// The line below the text of a transient error, for the model.
const RETRY_NOTE: &str = "This may succeed when it is tried again.";

/// Creates a success with text or content blocks.
impl<C: Into<Content>> From<C> for ToolOutput {
    fn from(content: C) -> Self {
        Self {
            content: content.into(),
            is_error: false,
            structured: None,
            failure: OutputFailure::Failed,
        }
    }
}

/// Content blocks as the output of a tool.
///
/// ```
/// use tool_runtime::{Blocks, message::Block};
///
/// fn screenshot() -> Blocks {
///     Blocks(vec![Block::text("The page:"), Block::image("image/png", "iVBORw0KGgo=")])
/// }
/// # assert_eq!(screenshot().0.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blocks(pub Vec<Block>);

impl From<Vec<Block>> for Blocks {
    fn from(blocks: Vec<Block>) -> Self {
        Self(blocks)
    }
}

impl FromIterator<Block> for Blocks {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        Self(blocks.into_iter().collect())
    }
}

/// The outcome of one call: the result for the model, and details for the host.
///
/// ```
/// use tool_runtime::result::Failure;
/// use tool_runtime::{ToolCall, ToolRegistry, tool};
///
/// /// Double a number.
/// #[tool]
/// async fn double(
///     /// The number.
///     of: u8,
/// ) -> u8 {
///     of * 2
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<double>()?;
///
/// let outcome = registry.call(ToolCall::new("toolu_01", "double", r#"{ "of": "21" }"#)).await;
/// assert_eq!((outcome.result.text(), outcome.failure), (Some("42"), None));
/// assert_eq!(outcome.warnings[0].path, "/of");
///
/// let outcome = registry.call(ToolCall::new("toolu_02", "double", "{}")).await;
/// assert_eq!(outcome.failure, Some(Failure::InvalidArguments));
/// assert_eq!(outcome.errors[0].code.as_str(), "missing_required");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The result for the model.
    pub result: ToolResult,
    /// Arguments that were changed, ignored, or kept although the schema does not declare them. The call continued.
    pub warnings: Vec<Issue>,
    /// Errors that rejected the arguments; empty if the function ran.
    pub errors: Vec<Issue>,
    /// The duration of the call, layers included.
    pub duration: Duration,
    /// The failure; `None` for a success, or if a layer returned its own outcome without a failure. With a successful
    /// result, `TimedOut` or `Cancelled` means that the result is late: the tool completed its work, so do not repeat
    /// the call.
    pub failure: Option<Failure>,
    /// Notes for the model after the result, for example [the warnings](crate::ToolRegistry::with_warnings_in_results).
    /// Layers receive the notes separately from [`result`](Self::result) and may add notes. Outside the outermost
    /// layer, all notes are appended to the result.
    pub notes: Vec<String>,
    /// Number of notes that were appended to the result.
    joined: usize,
    /// Whether the structured value was found to differ from the tool's output schema.
    pub(crate) has_wrong_value: bool,
}

impl ToolOutcome {
    /// Creates an outcome with this result, for layers that do not pass the call on.
    #[inline]
    pub fn new(result: ToolResult) -> Self {
        Self {
            result,
            warnings: Vec::new(),
            errors: Vec::new(),
            duration: Duration::ZERO,
            failure: None,
            notes: Vec::new(),
            joined: 0,
            has_wrong_value: false,
        }
    }

    /// Returns whether the result has a structured value that does not match the tool's output schema. The values of dynamic tools are
    /// always checked, those of functions in debug builds; a wrong value is logged, and passes.
    pub fn has_wrong_structured_value(&self) -> bool {
        self.has_wrong_value
    }

    /// Returns the content of the result without the notes.
    pub fn answer(&self) -> Cow<'_, Content> {
        let mut answer = Cow::Borrowed(&self.result.content);
        for note in self.notes.iter().take(self.joined).rev() {
            if let Some(shorter) = answer.without_note(note) {
                answer = Cow::Owned(shorter);
            }
        }
        answer
    }

    /// Appends the notes to the result, each once.
    #[inline]
    pub(crate) fn join_notes(&mut self) {
        if self.joined != self.notes.len() {
            self.join_new_notes();
        }
    }

    /// This function is not inlined, since most outcomes have no notes.
    #[inline(never)]
    fn join_new_notes(&mut self) {
        for note in self.notes.iter().skip(self.joined) {
            self.result.content.add_note(note);
        }
        self.joined = self.notes.len();
    }
}

/// Reason why a call failed. [`Failed`](Self::Failed) has the function's own result, and so have
/// [`TimedOut`](Self::TimedOut) and [`Cancelled`](Self::Cancelled) if the function returned within the grace period.
/// [`faults`](crate::faults) lists all cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(usize)] // as one byte inside a `Result`, it makes the compiler move an output in parts: 5 % of a call
pub enum Failure {
    /// No tool has this name.
    NotFound,
    /// The arguments were rejected; see [`ToolOutcome::errors`].
    InvalidArguments,
    /// The host did not supply a value of a parameter; the function did not run.
    HostValue,
    /// The function returned an error.
    Failed,
    /// The function returned a transient error: [`ToolError::retry`](crate::ToolError::retry).
    Retryable,
    /// The function panicked.
    Panicked,
    /// The function exceeded its `timeout`, the context's deadline, or its own limit: [`ToolOutput::timed_out`].
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// A layer returned an error.
    Layer,
    /// The call was [denied](crate::permission::Decision::Deny); the function did not run.
    Denied,
    /// The call [needs an approval](crate::permission::Decision::Interrupt); the function did not run.
    Interrupted,
}

impl Failure {
    /// Returns the text for the span's `error.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "tool_not_found",
            Self::InvalidArguments => "invalid_arguments",
            Self::HostValue => "host_value_unavailable",
            Self::Failed => "tool_error",
            Self::Retryable => "retryable_tool_error",
            Self::Panicked => "panic",
            Self::TimedOut => "timeout",
            Self::Cancelled => "cancelled",
            Self::Layer => "layer_error",
            Self::Denied => "permission_denied",
            Self::Interrupted => "approval_needed",
        }
    }
}
