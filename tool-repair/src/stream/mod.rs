//! Repairs the tool calls in a stream while it passes: Chat Completions, Responses, Anthropic's Messages.
//!
//! A [`StreamRepairer`] takes the bytes of a stream of server-sent events in pieces of any size and returns the bytes
//! that may leave; a [`RepairedStream`] adapts a stream of bytes that is polled. A [`CallReader`] reads the calls from
//! events, without the bytes. [`FormatFixing`](super::FormatFixing) configures the tools that are repaired, and the
//! treatment of calls that cannot be repaired.
//!
//! ```
//! use tool_repair::FormatFixing;
//! use tool_repair::stream::{Dialect, StreamRepairer};
//!
//! let piece = |text: &str| {
//!     let text = serde_json::to_string(text).unwrap();
//!     format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":\
//!         {{\"name\":\"TodoWrite\",\"arguments\":{text}}}}}]}}}}]}}\n\n")
//! };
//! let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
//! let mut out = Vec::new();
//! repairer.push(piece("{'todos': ").as_bytes(), &mut out);
//! assert_eq!(out, piece("{").as_bytes()); // the rest is held: it is no JSON
//! repairer.push(piece("[]}").as_bytes(), &mut out);
//! repairer.push(b"data: [DONE]\n\n", &mut out);
//! let out = String::from_utf8(out).unwrap();
//! assert!(out.contains(r#""arguments":"\"todos\": []}""#));
//!
//! let records = repairer.take_records();
//! assert_eq!((records[0].tool.as_str(), records[0].fixes.total()), ("TodoWrite", 1));
//! ```
//!
//! # Latency
//!
//! Arguments pass at once as long as they are JSON, less the few bytes that a [`Repairer`](super::Repairer) holds back.
//! From the first byte that is not JSON, the rest of *that call* is held until the call is complete, and leaves
//! repaired or, if that is impossible, unchanged. Everything else passes byte for byte and at once, including calls of
//! other tools and events that are not JSON.
//!
//! An event is rewritten only if less or more of its piece of the arguments may leave, and then only that string in it.
//! If all of the piece is held, the event leaves with an empty one: connections stay alive, and numbered events stay
//! numbered. The bytes that are left at the end go into the event that ends the call, if that carries a piece of it, or
//! else into an additional event before it, made like the call's last one: with its id, model and line ends, without
//! usage and end. The additional event names the call by its `index`, and by its id if another call had that `index` or
//! it has none. In a Responses stream it repeats the `sequence_number` of the call's last event, as if that event had
//! been sent in two halves; no other number changes. All copies of the arguments in a Responses stream are repaired in
//! one way.
//!
//! # The end of a call
//!
//! | stream | complete | cut off (or the stream breaks off), so that the arguments leave unchanged |
//! |---|---|---|
//! | Chat Completions | `finish_reason` of its choice; another id or name on its `index`, or its own name again after complete JSON, without ids; `[DONE]` or the end of the stream | `finish_reason` is `length`, `content_filter` or the like; an error |
//! | Anthropic | the next `content_block_start`; `message_delta` with a `stop_reason`; `message_stop`, the end | `stop_reason` is `max_tokens`, `model_context_window_exceeded` or `refusal`; an error |
//! | Responses | its item is done with `"status": "completed"`; the next item; `response.completed`, the end | its item is `incomplete`; `response.incomplete`, `response.failed`, `response.cancelled`; an error |
//!
//! Some streams report only afterwards that a call was cut off (Anthropic, Responses). There, the end of a call that is
//! not JSON is held until the report; pings and comments overtake it.
//!
//! In Chat Completions, a client treats a call as complete when a piece of another one arrives, and may execute it
//! then. So arguments that end like a complete object or list at that time leave as if the call were complete. If more
//! of them arrives nevertheless, it passes after them: together they are not JSON, and the record says so. For this
//! reason, of calls that end together, the call with the last piece is the first whose rest leaves.
//!
//! # Irregular streams
//!
//! - A piece with an `index` leaves with that `index`. A piece of an unknown `index` is treated as more of the only
//!   open call, if no call is complete.
//! - A piece without `index` belongs to the call of its id; without either, to the call that began last, if that call
//!   also had the last piece (otherwise the piece passes, and so do the held bytes of the calls before it). A piece of
//!   an unknown `index` without id and name continues the only open call; with several, it passes.
//! - After a call without an id that is complete JSON, its name again without an id, and a piece that begins like
//!   arguments, are another call (after `{}`, they may be one call). Nothing could name it later, nor a call with
//!   neither `index` nor id; so if it is complete JSON in its first piece, all of it leaves with that.
//! - A call without a unique `index` (none, or one that a call had before), or that begins when others of its choice
//!   ended, is repaired only if the calls before it were complete; otherwise it passes, and so do later pieces for
//!   them: some streams have another id, or an end, with every piece. Arguments whose pieces together are JSON are
//!   never changed. A piece that passes is recorded as refused, even if it is JSON, and is no error with
//!   `fallback_on_error` off: its call is unknown. While that is undecided, after a call that stopped being JSON, such
//!   a call is held whole.
//! - An empty `error`, and a `finish_reason` or an id of `""` or `"null"`, are ignored.
//! - The name that is known with the first arguments decides whether a call is repaired. Pieces of a name before that
//!   are joined. If the name arrives later, the call passes unchanged, and is recorded as refused; with `"*"` for all
//!   tools no name is needed.
//! - Arguments whose packaging names another tool, `[TOOL_CALLS]name[ARGS]{…}`, are not repaired: they pass unchanged,
//!   and are recorded as refused. If the stream never names the call's tool, they are repaired.
//! - Arguments that are an object instead of a string are sent as a string with the object's text.
//! - A surrogate pair that is cut in two is joined. A lone surrogate cannot be decoded: from there on, its call passes
//!   unchanged.
//! - In a Responses stream, the `item_id` of a piece may be the call's id. A piece with an unknown id and without
//!   `output_index` belongs to the only open call, if that was announced and is not complete. Arguments in the
//!   announcement that are complete JSON leave with it; pieces after it that begin like arguments repeat them.
//! - In a stream of Anthropic's Messages, only `tool_use` blocks are read: other blocks are executed elsewhere. A
//!   legacy `function_call` of Chat Completions is treated like other calls.
//!
//! # Reports
//!
//! Each call whose arguments were not simply JSON yields a [`RepairRecord`], and an event of `tracing` with the
//! changes, their offsets and the tool, never the arguments. With `fallback_on_error` off, a call that cannot be
//! repaired becomes an error in the stream's own form, and the stream ends with it. Arguments that were JSON until they
//! were cut off are no such error: the stream itself reports that.
//!
//! After an event above [`StreamLimits::event`], or more calls than [`StreamLimits::calls`], the rest of the stream
//! passes unchanged, [`StreamRepairer::bailout_reason`] has the reason, and `tracing` has a warning.

// Each dialect has a folder: its events, its calls, and the encoding of events that a repair adds. `read` joins the
// dialects; `edit` writes the bytes of a stream and knows no dialect.
mod json;
mod call;
mod chat;
mod anthropic;
mod responses;
mod read;
mod edit;

pub use call::record::RepairRecord;
pub use call::state::StreamLimits;
pub use edit::adapter::RepairedStream;
pub use edit::repairer::StreamRepairer;
pub use read::call_reader::{CallEvent, CallReader, ReadCall};
pub use read::dialect::{Dialect, UnknownDialect};
