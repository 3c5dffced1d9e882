//! Repair: text that is not JSON becomes JSON where that is no guess, in whole texts and in streams.
//!
//! A registry repairs arguments before it reads them. The same repair works without a registry: for the texts of another
//! program, and between a model's server and its client.
//!
//! # Texts
//!
//! ```
//! use tool_runtime::repair::{Repairer, Status, repair};
//!
//! let repaired = repair("{'todos': [{'content': '写代码', 'done': False}]}");
//! assert_eq!(repaired.text, r#"{"todos": [{"content": "写代码", "done": false}]}"#);
//! for fix in repaired.fixes.first() {
//!     println!("{} at byte {}: {}", fix.code.as_str(), fix.offset, fix.message);
//! }
//!
//! // Half a call is never completed.
//! let cut_off = repair("{'todos': [{'content': '写");
//! assert_eq!((cut_off.status, &*cut_off.text), (Status::Truncated, "{'todos': [{'content': '写"));
//!
//! // In pieces: JSON passes at once, the rest when the text is complete. What has passed is never taken back.
//! let mut repairer = Repairer::new();
//! assert_eq!(repairer.push(r#"{"path": "src/ma"#), r#"{"path": "src/ma"#);
//! assert_eq!(repairer.push(r#"in.rs", "deep": Tr"#), r#"in.rs", "deep": "#);
//! assert_eq!(repairer.push("ue}"), "");
//! assert_eq!(repairer.finish().rest, "true}");
//! ```
//!
//! Four promises:
//!
//! - Valid JSON comes back byte for byte.
//! - A repair is never a guess. A text that could only be repaired by guessing comes back as it was, with the reason and its
//!   place. A text that was cut off is never completed.
//! - What stands around the value is left out where it cannot be a part of it: a fence, known tags and labels, and sentences
//!   that hold no bracket, quote or assignment, whatever they say. Each has a fix that tells; a registry under `Lossless`
//!   refuses sentences. If what is left out names a tool, `[TOOL_CALLS]search[ARGS]{..}`, the name is in `Repaired::tool_name`,
//!   and a registry refuses the arguments of another tool.
//! - Every fix has a code, a place and a message. The time is linear in the length of the text, whatever the text is.
//!
//! [`repair`](mod@crate::repair) lists what is repaired and what is refused.
//!
//! # Streams
//!
//! A [`StreamRepairer`](crate::repair::stream::StreamRepairer) repairs the calls in a stream of Chat Completions, Responses or
//! Messages. Everything else passes byte for byte and at once; only the event that ends a repaired call waits for the repair.
//! It needs no runtime: bytes go in, bytes come out.
//!
//! ```
//! use tool_runtime::repair::FormatFixing;
//! use tool_runtime::repair::stream::{Dialect, StreamRepairer};
//!
//! // `FormatFixing::default()` repairs the calls of `TodoWrite` alone.
//! let mut repairer = StreamRepairer::new(Dialect::Anthropic, FormatFixing::for_every_tool());
//! let mut received = Vec::new();
//! for event in [
//!     r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_01","name":"Edit","input":{}}}"#,
//!     r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{'path': "}}"#,
//!     r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"'a.rs'}"}}"#,
//!     r#"{"type":"content_block_stop","index":0}"#,
//! ] {
//!     // Pieces of any size, cut anywhere.
//!     repairer.push(format!("data: {event}\n\n").as_bytes(), &mut received);
//! }
//! repairer.finish(&mut received);
//! let received = String::from_utf8(received).unwrap();
//! assert!(received.contains(r#"\"path\": \"a.rs\"}"#));
//!
//! let records = repairer.take_records(); // what, where, which tool; the same is in the `tracing` log
//! assert_eq!((records[0].tool.as_str(), records[0].fixes.total()), ("Edit", 2));
//! ```
//!
//! [`RepairedStream`](crate::repair::stream::RepairedStream) does the same for a `futures::Stream` of bytes. If the stream is yours to read, a
//! [`ResponseReader`](super::_8_a_turn) repairs its calls and gives the whole response.
//!
//! # On the command line
//!
//! The program `tool-gateway` repairs texts, lines and streams, and checks recorded calls against their schemas. It lies in the
//! repository:
//!
//! ```sh
//! cargo install --path tool-gateway
//! echo "{'todos': [{'done': False}]}" | tool-gateway repair
//! ```
//!
//! Next: [state that belongs to a conversation](super::_14_sessions).
