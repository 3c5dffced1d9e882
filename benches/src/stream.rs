//! Speed of the repair of streams of server-sent events, compared with a plain copy.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::slice::Chunks;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{Dialect, RepairedStream, StreamRepairer};

use crate::clock::{rounds, short, side_by_side, work};
use crate::texts;

/// Size of the arguments in bytes. Each event has a piece of [`PIECE`] bytes.
const SIZE: usize = 100_000;
const PIECE: usize = 20;
/// Size of a piece from the network.
const READ: usize = 4096;

pub fn run() {
    println!("## Streams\n");
    println!(
        "{} KB in pieces of {PIECE} bytes, an event each; the stream is read in pieces of {READ} bytes.\n",
        SIZE / 1000
    );
    println!(
        "| stream | of | events | µs an event | by the adapter, µs | MB/s | plain copy, MB/s | times the copy's time |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (dialect, name) in [
        (Dialect::ChatCompletions, "Chat Completions"),
        (Dialect::Responses, "Responses"),
        (Dialect::Anthropic, "Anthropic"),
    ] {
        for (kind, arguments) in [
            ("text", None),
            ("a call, JSON", Some(texts::todos(SIZE))),
            ("a call, `repr`", Some(texts::todos_repr(SIZE))),
        ] {
            let prose =
                "The quick brown fox jumps over the lazy dog. 敏捷的棕色狐狸跳过了懒狗。".repeat(SIZE / 78);
            let text = arguments.as_deref().unwrap_or(&prose);
            let stream = events(dialect, arguments.is_some(), text).concat().into_bytes();
            let count = events(dialect, arguments.is_some(), text).len();
            let timed = side_by_side(
                &mut [
                    work(|| repaired(dialect, &stream)),
                    work(|| copied(&stream)),
                    work(|| adapted(dialect, &stream)),
                ],
                rounds(SIZE),
            );
            println!(
                "| {name} | {kind} | {count} | {} | {} | {} | {} | {} |",
                short(timed[0].median() / 1e3 / count as f64),
                short(timed[2].median() / 1e3 / count as f64),
                timed[0].rate(stream.len()),
                timed[1].rate(stream.len()),
                short(timed[1].times_as_fast_as(&timed[0])),
            );
        }
    }
    println!();
}

fn repaired(dialect: Dialect, stream: &[u8]) -> usize {
    let mut repairer = StreamRepairer::new(dialect, FormatFixing::default());
    let mut out = Vec::new();
    let mut length = 0;
    for read in stream.chunks(READ) {
        repairer.push(read, &mut out);
        length += std::hint::black_box(&out).len();
        out.clear();
    }
    repairer.finish(&mut out);
    length + std::hint::black_box(&out).len()
}

/// Sends the stream through the adapter, over a body that is always ready.
fn adapted(dialect: Dialect, stream: &[u8]) -> usize {
    let repairer = StreamRepairer::new(dialect, FormatFixing::default());
    let mut repaired = pin!(RepairedStream::new(Body(stream.chunks(READ)), repairer));
    let mut context = Context::from_waker(Waker::noop());
    let mut length = 0;
    while let Poll::Ready(Some(Ok(bytes))) = repaired.as_mut().poll_next(&mut context) {
        length += std::hint::black_box(&bytes).len();
    }
    length
}

struct Body<'a>(Chunks<'a, u8>);

impl<'a> Stream for Body<'a> {
    type Item = Result<&'a [u8], Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

fn copied(stream: &[u8]) -> usize {
    let mut out = Vec::new();
    let mut length = 0;
    for read in stream.chunks(READ) {
        out.extend_from_slice(read);
        length += std::hint::black_box(&out).len();
        out.clear();
    }
    length
}

/// Builds a stream's events: a text, or the arguments of a call.
fn events(dialect: Dialect, call: bool, text: &str) -> Vec<String> {
    let pieces = texts::pieces(text, PIECE);
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let deltas = pieces.into_iter().enumerate().map(|(number, piece)| {
        let piece = quoted(piece);
        match (dialect, call) {
            (Dialect::Responses, true) => format!(
                r#"{{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"sequence_number":{number},"delta":{piece}}}"#
            ),
            (Dialect::Responses, false) => format!(
                r#"{{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"sequence_number":{number},"delta":{piece}}}"#
            ),
            (Dialect::Anthropic, true) => format!(
                r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#
            ),
            (Dialect::Anthropic, false) => format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{piece}}}}}"#
            ),
            (_, true) => chunk(&format!(
                r#"{{"tool_calls":[{{"index":0,{}"function":{{{}"arguments":{piece}}}}}]}}"#,
                if number == 0 { r#""id":"call_1","type":"function","# } else { "" },
                if number == 0 { r#""name":"TodoWrite","# } else { "" },
            ), "null"),
            (_, false) => chunk(&format!(r#"{{"content":{piece}}}"#), "null"),
        }
    });
    let (mut before, mut after) = (Vec::new(), Vec::new());
    match (dialect, call) {
        (Dialect::Responses, true) => {
            let item = |arguments: &str| {
                let arguments = quoted(arguments);
                format!(
                    r#"{{"type":"function_call","id":"fc_1","call_id":"call_1","name":"TodoWrite","arguments":{arguments}}}"#
                )
            };
            before.push(format!(
                r#"{{"type":"response.output_item.added","output_index":0,"item":{}}}"#,
                item("")
            ));
            after.push(format!(
                r#"{{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":{}}}"#,
                quoted(text)
            ));
            after.push(format!(
                r#"{{"type":"response.output_item.done","output_index":0,"item":{}}}"#,
                item(text)
            ));
            after.push(format!(
                r#"{{"type":"response.completed","response":{{"status":"completed","output":[{}]}}}}"#,
                item(text)
            ));
        }
        (Dialect::Anthropic, true) => {
            before.push(r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"TodoWrite","input":{}}}"#.into());
            after.push(r#"{"type":"content_block_stop","index":1}"#.into());
            after.push(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.into());
        }
        (Dialect::ChatCompletions, _) => {
            after.push(chunk("{}", if call { r#""tool_calls""# } else { r#""stop""# }));
            after.push("[DONE]".into());
        }
        _ => {}
    }
    let named = dialect != Dialect::ChatCompletions;
    let framed = |data: String| match data.split('"').nth(3) {
        Some(name) if named => format!("event: {name}\ndata: {data}\n\n"),
        _ => format!("data: {data}\n\n"),
    };
    before
        .into_iter()
        .chain(deltas)
        .chain(after)
        .map(framed)
        .collect()
}

fn chunk(delta: &str, reason: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763769600,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}"#
    )
}
