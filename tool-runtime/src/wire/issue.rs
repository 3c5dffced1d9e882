//! Records of arguments that were changed or rejected.
//!
//! Every coercion and every error creates an [`Issue`]. The codes are API; [`coercion`](crate::coercion) documents
//! when each occurs.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// A finding about the arguments of a call: a warning (the argument was changed) or an error (the argument was
/// rejected).
///
/// Serializes as `{ path, code, message, severity }`. Models read the [`Display`](fmt::Display) form: the code with
/// its subject, the path, and the expected value.
///
/// ```
/// use tool_runtime::{Issue, issue::Code};
///
/// let issue = Issue::error(Code::MissingRequired, "/pattern", "required; send a string").about("pattern");
/// assert_eq!(issue.to_string(), "missing_required:pattern at /pattern: required; send a string");
/// assert_eq!(
///     serde_json::to_string(&issue).unwrap(),
///     r#"{"path":"/pattern","code":"missing_required","message":"required; send a string","severity":"error"}"#,
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Issue {
    /// RFC 6901 JSON Pointer into the arguments as the schema sees them; `""` is the root.
    pub path: String,
    /// Kind of finding; stable, part of the API.
    pub code: Code,
    /// Fault and expected value, for the model; lower case, no full stop.
    pub message: Cow<'static, str>,
    /// Whether the call continued.
    pub severity: Severity,
    #[serde(skip)]
    subject: Option<Box<str>>,
    #[serde(skip)]
    sent: Option<Box<str>>,
    /// Whether the value is required only under a condition, which the message names.
    #[serde(skip)]
    is_conditional: bool,
}

impl Issue {
    /// Creates a finding that does not stop the call.
    pub fn warning(code: Code, path: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Warning, code, path.into(), message.into())
    }

    /// Creates a finding that stops the call before the function runs.
    pub fn error(code: Code, path: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Error, code, path.into(), message.into())
    }

    /// Sets the subject after the code, as in `missing_required:pattern`; truncated to 64 characters. A blank subject
    /// is omitted.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        self.subject = (!subject.trim().is_empty()).then(|| excerpt(subject).into());
        self
    }

    /// Sets the original value, truncated to 64 characters: a string as its text, any other value as JSON.
    #[must_use]
    pub fn sent_as(mut self, text: &str) -> Self {
        self.sent = Some(excerpt(text).into());
        self
    }

    /// Returns the subject of the code, such as the missing parameter, the value out of range or the unknown name;
    /// `None` if it is blank.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Returns the value at [`path`](Self::path), original or partly coerced (a constraint of a list is checked after
    /// its items are coerced): a string as its text, any other value as JSON, truncated to 64 characters. `None` if
    /// there was no value.
    pub fn sent(&self) -> Option<&str> {
        self.sent.as_deref()
    }

    /// Returns whether this finding stops the call.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    fn new(severity: Severity, code: Code, path: String, message: Cow<'static, str>) -> Self {
        Self {
            path,
            code,
            message,
            severity,
            subject: None,
            sent: None,
            is_conditional: false,
        }
    }

    /// Adds the condition under which the value is required. The innermost condition is kept.
    pub(crate) fn add_condition(&mut self, reason: &str) {
        if !self.is_conditional {
            self.message.to_mut().push_str(reason);
            self.is_conditional = true;
        }
    }

    /// Returns whether the value is required only under a condition.
    pub(crate) fn is_conditional(&self) -> bool {
        self.is_conditional
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.as_str())?;
        if let Some(subject) = &self.subject {
            write!(f, ":{subject}")?;
        }
        if !self.path.is_empty() {
            write!(f, " at {}", excerpt_path(&self.path))?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Whether a finding stopped the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// The argument was changed, ignored, or kept although the schema does not declare it, and the call continued.
    Warning,
    /// The call was rejected.
    Error,
}

/// Declares [`Code`] with the text of each code beside its meaning.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Kinds of findings. The texts of codes are API: logs, metrics and messages to models contain them.
        ///
        /// ```
        /// use tool_runtime::issue::Code;
        ///
        /// assert_eq!(Code::MissingRequired.as_str(), "missing_required");
        /// assert!(Code::ALL.contains(&Code::MissingRequired));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// Every code, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the text of the code, without a subject.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

codes! {
    /// Empty text or `null` was read as `{}`, since the input is always an object.
    EmptyArguments = "empty_arguments",
    /// The parameters were inside one unknown key, such as `arguments`, and were unwrapped.
    ArgumentsUnwrapped = "arguments_unwrapped",
    /// A string contained the expected JSON, and was decoded once.
    JsonStringDecoded = "json_string_decoded",
    /// The call arrived as text, without the structure of the API.
    RecoveredFromText = "recovered_from_text",
    /// Text that was not JSON was repaired.
    JsonRepaired = "json_repaired",
    /// The text is not JSON.
    JsonParseError = "json_parse_error",
    /// No tool has this name; the arguments were not parsed.
    UnknownTool = "unknown_tool",
    /// The arguments name another tool than the called one.
    ToolNameMismatch = "tool_name_mismatch",
    /// The arguments are not an object, and cannot be coerced to one.
    ArgumentsNotObject = "arguments_not_object",
    /// Nested deeper than the limit.
    TooDeep = "too_deep",
    /// Too many alternatives to try.
    TooComplex = "too_complex",
    /// `null` for a parameter with a default: the default was used.
    NullTreatedAsMissing = "null_treated_as_missing",
    /// `null` where a value is required.
    NullNotAllowed = "null_not_allowed",
    /// `""` or `"null"` for an optional or nullable value.
    EmptyStringTreatedAsNull = "empty_string_treated_as_null",
    /// A single value for a list: it was wrapped.
    ScalarCoercedToList = "scalar_coerced_to_list",
    /// An array for a list of lists: it may be the list or its only item.
    AmbiguousList = "ambiguous_list",
    /// More than one alternative matches.
    AmbiguousValue = "ambiguous_value",
    /// No alternative matches.
    NoAlternativeFits = "no_alternative_fits",
    /// A name that differs only in case or in `_` and `-`.
    ParameterNameNormalized = "parameter_name_normalized",
    /// A name that differs from a declared name only in case or in `_` and `-`.
    UnknownParameter = "unknown_parameter",
    /// A property that a nested object does not declare.
    UnknownProperty = "unknown_property",
    /// A repeated key; the last one counts.
    DuplicateKey = "duplicate_key",
    /// An invalid key of a map, or one of two keys that are coerced to the same key.
    InvalidMapKey = "invalid_map_key",
    /// A key of a map in another spelling.
    MapKeyCoerced = "map_key_coerced",
    /// A string with an integer.
    StringLiteralConvertedToInteger = "string_literal_converted_to_integer",
    /// A number without fraction, but with a point or an exponent, for an integer.
    NumberCoercedToInteger = "number_coerced_to_integer",
    /// A number was truncated to an integer, towards zero.
    FractionalNumberTruncatedToInteger = "fractional_number_truncated_to_integer",
    /// Cannot be coerced to an integer.
    UnsupportedIntegerLiteral = "unsupported_integer_literal",
    /// An integer outside the range of the type.
    IntegerOutOfRange = "integer_out_of_range",
    /// A string with a number.
    StringLiteralConvertedToNumber = "string_literal_converted_to_number",
    /// Cannot be coerced to a number.
    UnsupportedNumberLiteral = "unsupported_number_literal",
    /// A string with a boolean.
    StringLiteralConvertedToBoolean = "string_literal_converted_to_boolean",
    /// `0` or `1` for a boolean.
    NumberCoercedToBoolean = "number_coerced_to_boolean",
    /// Cannot be coerced to a boolean.
    UnsupportedBooleanLiteral = "unsupported_boolean_literal",
    /// A text of items separated by commas, for a list; it was split.
    StringLiteralConvertedToList = "string_literal_converted_to_list",
    /// A number for a string; it became its original text.
    NumberCoercedToString = "number_coerced_to_string",
    /// A boolean for a string.
    BooleanCoercedToString = "boolean_coerced_to_string",
    /// Cannot be coerced to a string.
    UnsupportedStringLiteral = "unsupported_string_literal",
    /// An allowed value in another case, with other separators between words, or with surrounding space.
    EnumCaseNormalized = "enum_case_normalized",
    /// Repeated items of a set; each was kept once.
    DuplicateItemsRemoved = "duplicate_items_removed",
    /// Not one of the allowed values.
    EnumOutOfRange = "enum_out_of_range",
    /// Cannot be coerced to a list.
    UnsupportedArrayLiteral = "unsupported_array_literal",
    /// Cannot be coerced to an object.
    UnsupportedObjectLiteral = "unsupported_object_literal",
    /// A required parameter or property is missing.
    MissingRequired = "missing_required",
    /// A constraint of the schema is violated.
    ConstraintViolated = "constraint_violated",
    /// Valid in the schema, but rejected by the Rust type.
    InvalidValue = "invalid_value",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Logs the issues of a call, without the values, which may be private.
pub(crate) fn log(tool: &str, issues: &[Issue]) {
    for issue in issues {
        let (code, path) = (issue.code.as_str(), issue.path.as_str());
        if issue.is_error() {
            tracing::warn!(tool, code, path, "an argument was refused");
        } else {
            tracing::info!(tool, code, path, "an argument was not as expected");
        }
    }
}

/// Escapes and truncates untrusted text for a message or a log: a single line of at most [`EXCERPT_LIMIT`]
/// characters.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    escape_and_truncate(text, EXCERPT_LIMIT)
}

/// Excerpts a JSON Pointer, whose keys are untrusted, too.
pub(crate) fn excerpt_path(path: &str) -> Cow<'_, str> {
    escape_and_truncate(path, PATH_LIMIT)
}

/// Escapes and truncates to another limit. Control characters are escaped: a line break could forge a line.
pub(crate) fn escape_and_truncate(text: &str, limit: usize) -> Cow<'_, str> {
    let end = text.char_indices().nth(limit).map(|(end, _)| end);
    let kept = end.and_then(|end| text.get(..end)).unwrap_or(text);
    if end.is_none() && !kept.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(kept.len() + 3);
    for character in kept.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    if end.is_some() {
        escaped.push('…');
    }
    Cow::Owned(escaped)
}

/// Length of an excerpt of a value, in characters: enough to recognise the value, too short for a long prompt
/// injection.
pub(crate) const EXCERPT_LIMIT: usize = 64;

/// Length of a path in a message, in characters. The model chooses the keys in a path, and most paths are short.
const PATH_LIMIT: usize = 256;
