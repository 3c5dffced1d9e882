//! Tool calls that arrive as text: a server that did not parse the output of its model sends a call in the model's own markup.
//!
//! [`recover`] takes a whole text, a [`CallScanner`] takes pieces. A call is recovered only if no guess is needed: its markup begins outside
//! of code, its tool is [declared](Declared), and only further calls follow it. Any other text is unchanged.
//!
//! ```
//! use tool_repair::calls::{Declared, Format, Formats, ParameterKind, recover};
//!
//! struct Weather;
//!
//! impl Declared for Weather {
//!     fn is_declared(&self, name: &str) -> bool {
//!         name == "get_weather"
//!     }
//!     fn parameter(&self, _: &str, name: &str) -> ParameterKind {
//!         if name == "city" { ParameterKind::Text } else { ParameterKind::Other }
//!     }
//! }
//!
//! let qwen = "I'll check.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n\
//!             <parameter=days>\n3\n</parameter>\n</function>\n</tool_call>";
//! let recovered = recover(qwen, Weather, Formats::ALL);
//! assert_eq!(recovered.text, "I'll check.");
//! assert_eq!(recovered.calls[0].name, "get_weather");
//! assert_eq!(recovered.calls[0].arguments, r#"{"city": "Paris", "days": 3}"#);
//!
//! let llama = "[get_weather(city='Paris', days=3)]";
//! let recovered = recover(llama, Weather, Formats::ALL);
//! assert_eq!(recovered.format, Some(Format::Python));
//! assert_eq!(recovered.calls[0].arguments, r#"{"city": "Paris", "days": 3}"#);
//!
//! let explanation = "Qwen writes `<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call>`.";
//! let text = recover(explanation, Weather, Formats::ALL);
//! assert!(text.calls.is_empty());
//! assert_eq!(text.text, explanation);
//! ```
//!
//! # Formats
//!
//! | [`Format`] | calls |
//! |---|---|
//! | `Tags` | after an opener, up to the end of the text; the text before the opener remains |
//! | `Json` | JSON without an opener; the text contains nothing else except thoughts, end-of-turn tokens and one code fence |
//! | `Python` | likewise, in the syntax of Python |
//!
//! An opener is a tag or special token whose name contains the word `tool` or `function`, and none of `response`, `result` and `output`.
//! Examples are `<tool_call>`, `<TOOLCALL>`, `<|tool_calls_section_begin|>` and `<｜DSML｜function_calls>`. Other openers are
//! `[TOOL_CALLS]`, `<|python_tag|>`, `<|python_start|>`, `<|START_ACTION|>`, `functools[` and `<|channel|>commentary to=functions.`. At the
//! beginning of a line, `<function=NAME>` and `<invoke name="NAME">` are openers, too. Openers are recognized by the names of tags, not by a
//! list of models.
//!
//! | payload | forms |
//! |---|---|
//! | JSON | an object with a name (`name`, `tool_name`, `function`, `tool`) and arguments (`arguments`, `parameters`, `args`, `input`, `tool_arguments`), a list of objects, or `{"tool_calls": […]}`; the arguments may be missing only after an opener |
//! | name and JSON | `NAME{…}`, `NAME` and `{…}` on the next line, `NAME[ARGS]{…}`, `NAME<｜tool▁sep｜>{…}`, `functions.NAME:0<\|tool_call_argument_begin\|>{…}`, `call:NAME{…}` |
//! | parameters | `<function=NAME>` with `<parameter=K>V</parameter>`, `<invoke name="NAME">` with `<parameter name="K">V</parameter>`, `NAME` with `<arg_key>K</arg_key><arg_value>V</arg_value>` |
//! | Python | `f(a=1)`, `[f(a=1), g()]`: keyword arguments with literal values, or one dict; no other expressions |
//!
//! JSON and literals are read by [`repair`](crate::repair), so numbers keep their digits, and a text whose value would be a guess is refused. The
//! [kind](ParameterKind) of a parameter decides whether the text between tags is a string or JSON.
//!
//! # Text
//!
//! Only the first opener that precedes a possible payload is used. If other text follows the calls of this opener, no call is recovered,
//! even if a later opener has calls. A tag in inline code or in a code fence is not an opener. Thoughts are not searched for calls. Thoughts
//! are a `<think>`, `<thinking>` or `<reasoning>` element at the beginning of the text, or all text up to a `</think>` that has no opening
//! tag. [`TextReason`] lists the reasons why a possible call is not recovered.
//!
//! # Risks
//!
//! False positives: a message is read as a call if it ends with an example of a call outside of a code fence, or with a quoted file that
//! ends with a call. Hosts should recover calls only if their server does not parse them. They can ask the user for permission before they
//! run a recovered call. The text of a message should not be scanned if the message was cut off at the token limit, or has structured calls.

// Dependencies first: a module uses only modules declared before it.
mod source;
mod recovered;
mod declared;
mod tag;
mod brackets;
mod json;
mod code;
mod thoughts;
mod payload;
mod sequence;
mod scanner;

pub use declared::{Declared, ParameterKind};
pub use recovered::{Format, Formats, Recovered, RecoveredCall, TextReason, UnknownFormat};
pub use scanner::{CallLimits, CallScanner, recover};
