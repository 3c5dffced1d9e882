//! Repairs text that is almost JSON, if no guess is needed: a whole text, or the pieces of a model's stream.
//!
//! Some models write a Python dict instead of JSON. [`repair`] repairs a whole text. A [`Repairer`] receives pieces of any size and returns
//! valid JSON at once. The repair has no knowledge of tools.
//!
//! `tool-runtime` re-exports this crate as `tool_runtime::repair`, and [`sse`] as `tool_runtime::sse`.
//!
//! | feature | adds |
//! |---|---|
//! | none | [`repair`] and [`Repairer`]; no dependency at all |
//! | `calls` | [`calls`]: tool calls that arrive as text; no dependency |
//! | `serde` | `Serialize` for [`Status`], [`FixCode`], [`Fix`], [`Reason`]; with `stream`, also for its configuration |
//! | `stream` | [`sse`], [`stream`], [`FormatFixing`]: the repair of calls in streams |
//! | `tracing` | with `stream`: an event for each call that was repaired or refused |
//!
//! ```
//! use tool_repair::{Status, repair};
//!
//! let repaired = repair("{'todos': [{'content': '创建项目结构', 'id': '1', 'done': False}]}");
//! assert_eq!(repaired.status, Status::Repaired);
//! assert_eq!(repaired.text, r#"{"todos": [{"content": "创建项目结构", "id": "1", "done": false}]}"#);
//! ```
//!
//! # Guarantees
//!
//! * **Valid JSON passes byte for byte.** Valid means valid by RFC 8259; a parser may still reject the values, for
//!   example because of a lone surrogate.
//! * **Nothing is guessed.** A text is read token by token, in the union of three grammars: JSON with raw control
//!   characters in its strings, JSON5, and the literals of Python. If a token has two meanings, the rest of the text
//!   decides, or the text is refused. If no grammar continues, one kind of slip is fixed, and only if it has a single
//!   reading. Every other text is returned unchanged, with the [`Reason`].
//! * **Values keep their text.** Numbers of JSON keep their digits; Python's numbers (`0x1F`, `5.`) become their
//!   JSON equivalents. Objects keep the order of their keys, and duplicate keys.
//! * **A truncated text is never completed.** A truncated call must not be executed.
//! * **A repaired text is JSON.** The result is validated; if it is not JSON, the original is returned.
//! * **Time is linear and memory is bounded** for any input, without recursion or panics.
//!
//! # Outcomes
//!
//! | [`Status`] | the text | the result |
//! |---|---|---|
//! | `Valid` | is JSON | the text |
//! | `Repaired` | was not JSON | JSON; the [`Fixes`] list the changes and their offsets |
//! | `Truncated` | ended inside the value or before it, without an error so far | the text, and the [`Reason`] |
//! | `Refused` | could not be read without guessing | the text, and the [`Reason`] |
//!
//! # Repairs
//!
//! Each kind of change has a [`FixCode`]. Examples:
//!
//! ```
//! use tool_repair::repair;
//!
//! for (text, json) in [
//!     // Python's strings, literals, numbers and tuples.
//!     (r"['it\'s', u'a', r'\d', '\x41']", r#"["it's", "a", "\\d", "A"]"#),
//!     ("{'a': '''two\nlines'''}", r#"{"a": "two\nlines"}"#),
//!     ("{'a': 'one '\n      'two'}", r#"{"a": "one two"}"#),
//!     ("[True, False, None]", "[true, false, null]"),
//!     ("[1_000, 0x1F, .5, 5., +1]", "[1000, 31, 0.5, 5.0, 1]"),
//!     ("('a', 1)", r#"["a", 1]"#),
//!     // JSON5, and comments of both languages.
//!     ("{a: 1, 2: 'b',}", r#"{"a": 1, "2": "b"}"#),
//!     ("{\"a\": 1, # one\n \"b\": 2 /* two */}", "{\"a\": 1, \n \"b\": 2 }"),
//!     // Control characters in strings.
//!     ("{\"a\": \"two\nlines\"}", r#"{"a": "two\nlines"}"#),
//!     // Packaging around a value.
//!     ("Here it is:\n{\"a\": 1}", r#"{"a": 1}"#),
//!     ("```json\n[1, 2]\n```", "[1, 2]\n"),
//!     ("<think>{a} or {b}?</think>\nArguments: {\"a\": 1}", r#"{"a": 1}"#),
//!     (r#"[TOOL_CALLS]search[ARGS]{"a": 1}"#, r#"{"a": 1}"#),
//!     (r#"{"a": 1}<｜tool▁call▁end｜>"#, r#"{"a": 1}"#),
//!     // Slips, of one kind in each text.
//!     (r#"{"a": "x" "b": "y",, "c": 1}"#, r#"{"a": "x", "b": "y", "c": 1}"#),
//!     (r#"{"a": [{"b": 1]}"#, r#"{"a": [{"b": 1}]}"#),
//!     (r#"{"a": 1}}"#, r#"{"a": 1}"#),
//!     (r#"{"a" 1, "b": 2}"#, r#"{"a": 1, "b": 2}"#),
//!     (r#"{"a": "say "hi", please"}"#, r#"{"a": "say \"hi\", please"}"#),
//!     (r#"{"a": "a 65" tv"}"#, r#"{"a": "a 65\" tv"}"#),
//!     (r#"{"a": "<b id=\"c">d</b>"}"#, r#"{"a": "<b id=\"c\">d</b>"}"#),
//!     ("{“a“: ”b”}", r#"{"a": "b"}"#),
//!     (r#"{"a": 1, b": 2}"#, r#"{"a": 1, "b": 2}"#),
//!     (r#"{"pattern": "\d+"}"#, r#"{"pattern": "\\d+"}"#),
//!     (r#"{"path": "C:\src\app"}"#, r#"{"path": "C:\\src\\app"}"#),
//!     (r#"{"a": 1, "b": 2}{"b":2,"a":1.0}"#, r#"{"a": 1, "b": 2}"#),
//!     (r#"{}{"a": 1}"#, r#"{"a": 1}"#),
//!     (r#"{{"a": 1}}"#, r#"{"a": 1}"#),
//!     (r#"{\"a\": 1}"#, r#"{"a": 1}"#),
//!     (r#"{\n"a": 1}"#, r#"{ "a": 1}"#),
//!     ("{\"a\": `b`}", r#"{"a": "b"}"#),
//! ] {
//!     assert_eq!(repair(text).text, json);
//! }
//! ```
//!
//! # Refused texts
//!
//! A text is refused if it has two readings, or a value that JSON does not have:
//!
//! ```
//! use tool_repair::{Status, repair};
//!
//! for text in [
//!     r#"["a" "b"]"#,              // one string, or two?
//!     "{'a': 'cut -d ' ' -f 2'}",  // two strings, or one with quotes in it?
//!     r#"{"a": "old" pipe"}"#,     // where does the string end?
//!     r#"{"a": "C:\data\new"}"#,   // is `\n` a line feed?
//!     r#"{"a": "\d+\n"}"#,         // and here?
//!     r#"{"a": "\d \\n"}"#,        // was the backslash before `n` escaped?
//!     r#"{"a": "\로"}"#,          // is the backslash too many, or text?
//!     r#"{"a": "\bword\d"}"#,      // a backspace, or the end of a word?
//!     "{True: 1}",                 // "True", or "true" as Python's json module would write it?
//!     "[01]",                      // 1, or a text?
//!     "[10 500]",                  // two numbers, or one?
//!     r#"{"a": [1, 2, "b": 3}"#,   // where is a bracket missing?
//!     r#"{"a": "\d" "b": 1}"#,     // two kinds of slips
//!     "{'a': {1, 2}}",
//!     "{'a': nan}",
//!     "{'a': f'{x}'}",
//!     "path: a.txt, options: {\"b\": 1}", // the object alone?
//!     "{\"a\": 1} null",
//!     "I have no tool for that.",
//!     "<malformed_arguments>{\"a\": 1}", // the packaging marks the value as wrong
//!     r#"{"a" 1}"#,                // no other pair shows that a colon belongs there
//! ] {
//!     let refused = repair(text);
//!     assert_eq!((refused.status, &*refused.text), (Status::Refused, text));
//!     assert!(refused.reason.is_some());
//! }
//! ```
//!
//! # In pieces
//!
//! A [`Repairer`] returns valid JSON as it arrives, except for the few bytes that a later slip could still change:
//!
//! * a closing quote or a comma, until its successor is known (after a digit and a quote, the successor of the
//!   comma);
//! * an escape, a number or a literal, until it is complete;
//! * the opening bracket of a list that is the whole text, until the next byte;
//! * a number or a literal that is the whole text.
//!
//! From the first byte that is not JSON, all bytes are held until [`Repairer::finish`], which repairs them.
//!
//! ```
//! use tool_repair::{Repairer, Status};
//!
//! let mut repairer = Repairer::new();
//! assert_eq!(repairer.push(r#"{"path": "a.rs", "#), r#"{"path": "a.rs""#);
//! assert_eq!(repairer.push(r#""all": "#), r#", "all": "#);
//! assert_eq!(repairer.push("Tr"), "");
//! assert_eq!(repairer.push("ue}"), "");
//!
//! let finished = repairer.finish();
//! assert_eq!((finished.status, &*finished.rest), (Status::Repaired, "true}"));
//! ```
//!
//! The result does not depend on the pieces, and passed bytes are never revoked. Therefore the [`Limits`] of held
//! bytes apply to a whole text, too. [`stream`] finds the pieces of arguments in the response of a model's server.

// Dependencies first: a module uses only modules declared before it.
#[cfg(feature = "stream")]
pub mod sse;
mod limits;
mod fixes;
mod stack;
mod equality;
mod scan;
mod parser;
mod repairer;
#[cfg(feature = "calls")]
pub mod calls;
#[cfg(feature = "stream")]
mod format_fixing;
#[cfg(all(feature = "serde", feature = "stream"))]
mod configuration;
#[cfg(feature = "stream")]
pub mod stream;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use fixes::{Fix, FixCode, Fixes, Reason};
#[cfg(feature = "stream")]
pub use format_fixing::{FormatFixing, TargetTools};
pub use limits::Limits;
pub use repairer::{Finished, Repaired, Repairer, Status, repair, repair_with};
pub use scan::plain;
