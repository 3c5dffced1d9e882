//! Tool calls that arrive as text: a server that did not parse the output of its model sends a call in the model's own markup.
//!
//! [`recover`] takes a whole text, a [`CallScanner`] takes pieces. A call is recovered if no guess is needed: its markup begins outside of
//! code, its tool is [declared](Declared), and nothing but calls follows up to the end of the text. Every other text stays unchanged.
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
