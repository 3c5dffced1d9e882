//! Repairs the tool calls in a stream of Chat Completions, Responses or Anthropic's Messages while it is forwarded.
//!
//! A [`StreamRepairer`] receives the bytes of a stream of server-sent events in pieces of any size and returns the bytes
//! that can be sent. A [`RepairedStream`] adapts a `Stream` of bytes. A [`CallReader`] reads the calls from decoded
//! events. [`FormatFixing`](super::FormatFixing) configures the repaired tools, and the treatment of calls that cannot
//! be repaired.
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
//! assert_eq!(out, piece("{").as_bytes()); // the rest is held, since it is not JSON
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
//! holds. From the first byte that is not JSON, the rest of *that call* is held until the call is complete. The rest is
//! then sent repaired or, if it cannot be repaired, unchanged. All other bytes pass at once and unchanged, including
//! calls of other tools and events that are not JSON.
//!
//! An event is rewritten only if its piece of the arguments changes, and only that string changes. If the whole piece
//! is held, the event is sent with an empty piece, so connections stay alive, and numbered events keep their numbers. At
//! the end of a call, the remaining bytes are sent in the event that ends the call, if the event has a piece of the
//! arguments. Otherwise an additional event precedes the end. It is modelled on the call's last event, with its id,
//! model and line ends, but without usage and `finish_reason`. The additional event identifies the call by its `index`;
//! if another call had that `index` or the call has no `index`, the event also has the id. In a Responses stream, the
//! additional event repeats the `sequence_number` of the call's last event, as if that event had been split; no other
//! number changes. All copies of the arguments in a Responses stream are repaired in the same way.
//!
//! # The end of a call
//!
//! | stream | complete | cut off, so that the arguments are sent unchanged (also if the stream breaks off) |
//! |---|---|---|
//! | Chat Completions | `finish_reason` of its choice; another id or name on its `index`, or its own name again after complete JSON, without ids; `[DONE]` or the end of the stream | `finish_reason` is `length`, `content_filter` or the like; an error |
//! | Anthropic | the next `content_block_start`; `message_delta` with a `stop_reason`; `message_stop`, the end | `stop_reason` is `max_tokens`, `model_context_window_exceeded` or `refusal`; an error |
//! | Responses | its item is done with `"status": "completed"`; the next item; `response.completed`, the end | its item is `incomplete`; `response.incomplete`, `response.failed`, `response.cancelled`; an error |
//!
//! Streams of Anthropic and of the Responses API report a truncated call after its end. In these streams, the end of a
//! call that is not JSON is held until the report. Pings and comments overtake the held events.
//!
//! A client of Chat Completions treats a call as complete when a piece of another call arrives, and may execute the call
//! then. Therefore arguments that end like a complete object or list at that time are sent as if the call were
//! complete. Later pieces of these arguments pass unchanged: the result is not JSON, and the call is recorded as refused.
//! For the same reason, if several calls end together, the held arguments of the call with the last piece are sent first.
//!
//! # Irregular streams
//!
//! - A piece with an `index` keeps that `index`. A piece of an unknown `index` is treated as a continuation of the
//!   only open call, if no call is complete.
//! - A piece without `index` belongs to the call of its id. A piece without `index` and id belongs to the call that
//!   began last, if that call also had the last piece; if not, the piece passes unchanged, and so do the held bytes of
//!   the earlier calls. A piece with an unknown `index`, and without id and name, continues the only open call; with
//!   several open calls, the piece passes unchanged.
//! - A piece with the name of the last call begins another call if both have no id, the last call is complete JSON, and
//!   the piece begins like arguments (after `{}`, it may continue the last call). Later pieces cannot identify such a
//!   call, nor a call without `index` and id. Such a call is sent at once if its first piece is complete JSON.
//! - A call may continue an earlier call if it has no `index`, has the `index` of an earlier call, or begins after
//!   another call of its choice has ended: some streams have another id, or an end, with every piece. Such a call is
//!   repaired only if the earlier calls were complete. After an incomplete call, it passes unchanged, and so do later
//!   pieces of both calls. Arguments whose joined pieces are JSON are never changed. A call that passes in this way is
//!   recorded as refused, even if it is JSON, and is not an error with `fallback_on_error` off, since it is unknown to
//!   which call the pieces belong. Until the earlier call has ended, such a call is held completely.
//! - An empty `error`, and a `finish_reason` or an id of `""` or `"null"`, are ignored.
//! - The name that is known at the first arguments decides whether a call is repaired. Earlier pieces of a name are
//!   joined. If the name arrives later, the call passes unchanged, and is recorded as refused. With `"*"` for all
//!   tools, no name is needed.
//! - Arguments whose packaging names another tool, `[TOOL_CALLS]name[ARGS]{…}`, pass unchanged, and are recorded as
//!   refused. If the stream has no name for the call, the arguments are repaired.
//! - Arguments that are an object are sent as a string with the text of the object.
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
//! Each call whose arguments were not valid JSON strings yields a [`RepairRecord`], and a `tracing` event with the
//! changes, their offsets and the tool, never the arguments. With `fallback_on_error` off, a call that cannot be
//! repaired becomes an error in the form of the stream's API, which ends the stream. Valid arguments that were cut off
//! are not such an error, since the stream itself reports that it was cut off.
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
