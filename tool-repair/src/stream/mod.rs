//! Repairs the tool calls in a stream while it passes: Chat Completions, Responses, Anthropic's Messages.
//!
//! A [`StreamRepairer`] takes the bytes of a stream of server-sent events in pieces of any size and returns the bytes
//! that can be sent; a [`RepairedStream`] adapts a stream of bytes that is polled. A [`CallReader`] reads the calls
//! from events, without the bytes. [`FormatFixing`](super::FormatFixing) configures which tools are repaired, and the
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
//! Arguments are sent at once as long as they are JSON, except for the few bytes that a [`Repairer`](super::Repairer)
//! holds. From the first byte that is not JSON, the rest of *that call* is held until the call is complete, and is
//! sent repaired or, if that is impossible, unchanged. Everything else passes byte for byte and at once, including
//! calls of other tools and events that are not JSON.
//!
//! An event is rewritten only if its piece of the arguments changes, and only that string changes. If the whole piece
//! is held, the event is sent with an empty one, so connections stay alive, and numbered events keep their numbers. At
//! the end of a call, the remaining bytes are sent in the event that ends the call, if it has a piece of the arguments.
//! Otherwise an additional event precedes it, modelled on the call's last event: with its id, model and line ends,
//! without usage and end. The additional event identifies the call by its `index`, and by its id if another call had
//! that `index` or the call has none. In a Responses stream it repeats the `sequence_number` of the call's last event,
//! as if that event had been split; no other number changes. All copies of the arguments in a Responses stream are
//! repaired in the same way.
//!
//! # The end of a call
//!
//! | stream | complete | cut off (or the stream breaks off), so that the arguments leave unchanged |
//! |---|---|---|
//! | Chat Completions | `finish_reason` of its choice; another id or name on its `index`, or its own name again after complete JSON, without ids; `[DONE]` or the end of the stream | `finish_reason` is `length`, `content_filter` or the like; an error |
//! | Anthropic | the next `content_block_start`; `message_delta` with a `stop_reason`; `message_stop`, the end | `stop_reason` is `max_tokens`, `model_context_window_exceeded` or `refusal`; an error |
//! | Responses | its item is done with `"status": "completed"`; the next item; `response.completed`, the end | its item is `incomplete`; `response.incomplete`, `response.failed`, `response.cancelled`; an error |
//!
//! Some streams report a truncated call only afterwards (Anthropic, Responses). In these streams, the end of a call
//! that is not JSON is held until the report; pings and comments overtake it.
//!
//! A client of Chat Completions treats a call as complete when a piece of another call arrives, and may execute it
//! then. Therefore arguments that end like a complete object or list at that time are sent as if the call were
//! complete. If more of these arguments arrive nevertheless, they pass unchanged: the result is not JSON, and the
//! record says so. For the same reason, if several calls end together, the rest of the call with the last piece is
//! sent first.
//!
//! # Irregular streams
//!
//! - A piece with an `index` keeps that `index`. A piece of an unknown `index` is treated as a continuation of the
//!   only open call, if no call is complete.
//! - A piece without `index` belongs to the call of its id. Without either, it belongs to the call that began last,
//!   if that call also had the last piece; otherwise the piece passes unchanged, and so do the held bytes of the
//!   calls before it. A piece of an unknown `index` without id and name continues the only open call; with several
//!   open calls, it passes unchanged.
//! - After a call without an id that is complete JSON, the same name without an id, and a piece that begins like
//!   arguments, are another call (after `{}`, they may be the same call). A later piece could not identify such a call,
//!   nor a call without `index` and id. If the call is complete JSON in its first piece, the complete call is sent with
//!   that piece.
//! - A call without a unique `index` (none, or one that an earlier call had), or that begins when others of its choice
//!   have ended, is repaired only if the calls before it were complete. Otherwise it passes unchanged, and so do later
//!   pieces for them: some streams have another id, or an end, with every piece. Arguments whose pieces together are
//!   JSON are never changed. A piece that passes in this way is recorded as refused, even if it is JSON, and is no
//!   error with `fallback_on_error` off, since its call is unknown. Until the first call has ended, such a call is held
//!   completely.
//! - An empty `error`, and a `finish_reason` or an id of `""` or `"null"`, are ignored.
//! - The name that is known at the first arguments decides whether a call is repaired. Pieces of a name before that
//!   are joined. If the name arrives later, the call passes unchanged, and is recorded as refused; with `"*"` for all
//!   tools no name is needed.
//! - Arguments whose packaging names another tool, `[TOOL_CALLS]name[ARGS]{…}`, are not repaired: they pass
//!   unchanged, and are recorded as refused. If the stream never names the call's tool, they are repaired.
//! - Arguments that are an object and not a string are sent as a string with the object's text.
//! - A surrogate pair that is split between two pieces is joined. A lone surrogate cannot be decoded, so the rest of
//!   its call passes unchanged.
//! - In a Responses stream, the `item_id` of a piece may be the call's id. A piece with an unknown id and without
//!   `output_index` belongs to the only open call, if that call was announced and is not complete. Arguments in the
//!   announcement that are complete JSON are sent with it; later pieces that begin like arguments repeat them.
//! - In a stream of Anthropic's Messages, only `tool_use` blocks are read: the calls of other blocks are executed
//!   elsewhere. A legacy `function_call` of Chat Completions is treated like other calls.
//!
//! # Reports
//!
//! Each call whose arguments were not simply JSON yields a [`RepairRecord`], and an event of `tracing` with the
//! changes, their offsets and the tool, never the arguments. With `fallback_on_error` off, a call that cannot be
//! repaired becomes an error in the stream's own form, which ends the stream. Arguments that were JSON until they
//! were cut off are no such error, since the stream itself reports that.
//!
//! After an event above [`StreamLimits::event`], or more calls than [`StreamLimits::calls`], the rest of the stream
//! passes unchanged, [`StreamRepairer::bailout_reason`] has the reason, and `tracing` has a warning.

// Each dialect has a folder with its events, its calls, and the encoding of additional events. `read` joins the
// dialects; `edit` writes the bytes of a stream independently of the dialect.
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
