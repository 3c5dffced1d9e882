//! The repair of the tool calls in a stream, as it passes by: Chat Completions, Responses, Anthropic's Messages.
//!
//! A [`StreamRepairer`] takes the bytes of a stream of server-sent events in pieces of any size and gives out what may
//! leave; a [`RepairedStream`] does so for a stream of bytes that is polled. A [`CallReader`] reads the same calls from events,
//! without the bytes. Which tools are repaired, and what becomes of what cannot be, says
//! [`FormatFixing`](super::FormatFixing).
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
//! # What leaves, and when
//!
//! Arguments pass at once as long as they are JSON, less the few bytes that a [`Repairer`](super::Repairer) holds
//! back. From the first byte that is not JSON, the rest of *that call* is held until the call is complete, and leaves
//! repaired or, failing that, as it came. Everything else passes byte for byte and at once; so do calls of other tools,
//! and events that are no JSON.
//!
//! An event is written anew only when less or more of its piece of the arguments may leave, and then only that string
//! in it. When all of the piece is held, the event leaves with an empty one: connections stay alive, and numbered
//! events stay numbered. What is left at the end goes into the event that ends the call, if that carries a piece of
//! it, or else into one more event in front of it, made like the call's last one: the same id, model and line ends, no
//! usage, no end. It names the call by its `index`, and by its own id, too, where another call had that `index` or it has
//! none. In a Responses stream it repeats the `sequence_number` of that last one, as if that had come in two
//! halves; no other number changes. All copies of the arguments in a Responses stream are repaired alike.
//!
//! # When a call is complete
//!
//! | stream | complete | cut off (or the stream breaks off), so that the arguments leave as they came |
//! |---|---|---|
//! | Chat Completions | `finish_reason` of its choice; another id or name on its `index`, or its own name again after what is JSON and whole, without ids; `[DONE]` or the end of the stream | `finish_reason` is `length`, `content_filter` or the like; an error |
//! | Anthropic | the next `content_block_start`; `message_delta` with a `stop_reason`; `message_stop`, the end | `stop_reason` is `max_tokens`, `model_context_window_exceeded` or `refusal`; an error |
//! | Responses | its item is done with `"status": "completed"`; the next item; `response.completed`, the end | its item is `incomplete`; `response.incomplete`, `response.failed`, `response.cancelled`; an error |
//!
//! Where the stream says only afterwards whether a call was cut off (Anthropic, Responses), the end of a call that is
//! not JSON is kept back until it does; pings and comments overtake it.
//!
//! In Chat Completions, clients take a call for done when a piece of another one comes, and some execute it then. So
//! arguments that end like a whole object or list at that time leave as if the call were complete. Should more come
//! for it nevertheless, that passes after them: together they are no JSON, and the record says so. For the same reason, of
//! calls that end together, the one whose piece came last is the first whose rest leaves.
//!
//! # Streams that go their own ways
//!
//! - What comes for one `index` leaves for it. Only a piece of an `index` that nothing else is known of, while no call
//!   is complete, can be more of the only call that is under way.
//! - A piece without `index` belongs to the call of its id; without either, to the call that began last, if
//!   that came last, too (else it passes, and what is held of the calls in front of it). A piece of an
//!   unknown `index` without id and name goes on with the only call that is under way; with several, it passes.
//! - After a call without an id that is JSON and whole, its name again without one, and what begins like arguments, are
//!   another call (after `{}`, they may be the same). Nothing could name it later, nor a call with neither `index` nor id;
//!   so if it is JSON and whole in its first piece, all of it leaves with that.
//! - A call that has no `index` of its own (none, or one that a call had before), or that begins when others of its choice
//!   ended, is repaired only if those before it were complete; otherwise it passes, and so does what comes for them: there
//!   are streams that say another id, or an end, with every piece. Arguments that are JSON put together are never changed.
//!   What passes is recorded as refused, even where it is JSON, and is no error with `fallback_on_error` off: nobody can
//!   tell of which call it is a piece. While that is open, after a call that stopped being JSON, such a call is held whole.
//! - An `error` that says nothing, a `finish_reason` and an id of `""` or `"null"` are none.
//! - Whether a call is repaired is decided by the name that is known when its first arguments arrive. Pieces of a name
//!   before that are put together. If the name comes later, the call passes untouched, and is recorded as refused;
//!   with `"*"` for all tools no name is needed.
//! - Arguments whose packaging names another tool, `[TOOL_CALLS]name[ARGS]{…}`, are not repaired: they pass as they came, and
//!   are recorded as refused. Where the stream never says the name of the call's tool, they are repaired.
//! - Arguments that are an object where the string belongs are sent as the string of the object's text.
//! - A surrogate pair that is cut in two is put together. Half a pair that stays alone cannot be read: from there on,
//!   its call passes as it comes.
//! - In a Responses stream, the `item_id` of a piece may be the call's id. One that nothing is known of, without
//!   `output_index`, is the only call under way, if that was announced and is not complete. Arguments
//!   that the announcement carries, JSON and whole, leave with it; pieces after it that begin like arguments say them again.
//! - In a stream of Anthropic's Messages, only `tool_use` blocks are looked at: other blocks are executed elsewhere.
//!   A legacy `function_call` of Chat Completions is a call like others.
//!
//! # What is reported
//!
//! Each call whose arguments were not simply JSON yields a [`RepairRecord`], and an event of `tracing`: what, where,
//! which tool, never the arguments. With `fallback_on_error` off, a call that stays no JSON becomes an error in the
//! stream's own form, and with it the stream ends. Arguments that were JSON as far as they came and were only cut off
//! are no such error: the stream itself says that they are.
//!
//! An event above [`StreamLimits::event`], or more calls than [`StreamLimits::calls`]: the rest of the stream passes
//! untouched, [`StreamRepairer::bailout_reason`] says why, and `tracing` has a warning.

// Each dialect has a folder: its events, its calls, and the encoding of events that a repair adds. `read` joins the
// dialects; `edit` writes the bytes of a stream and knows none of them.
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
