//! Streams with very many pieces or calls take time linear in their number.

use std::time::Duration;

use serde_json::json;
use tests::clock::Clock;
use tool_runtime::format::openai::responses::ResponseReader;
use tool_runtime::repair::stream::{Dialect, StreamLimits, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Status};

use super::limits::piece;
use super::sent::send;

/// Builds pieces with a new id each, after incomplete arguments. Completeness is checked without reading all held bytes.
#[test]
fn changing_ids_take_linear_time() {
    let took = |pieces: usize| {
        let delta = |id: usize, name: &str, arguments: &str| {
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"id\":\"call_{id}\",\"function\":\
                 {{{name}\"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\n"
            )
        };
        let mut stream = delta(0, "\"name\":\"TodoWrite\",", "{'a': 1, ");
        for id in 1..pieces {
            stream += &delta(id, "", "                    ");
        }
        let clock = Clock::start();
        let sent = send(
            Dialect::ChatCompletions,
            &FormatFixing::default(),
            StreamLimits::default(),
            [stream.as_bytes()],
        );
        assert_eq!(sent.records.len(), 1);
        clock.worked()
    };
    let few = (0..3)
        .map(|_| took(2_000))
        .min()
        .unwrap()
        .max(Duration::from_millis(2));
    let many = (0..3).map(|_| took(16_000)).min().unwrap();
    assert!(many < few * 24, "{few:?}, and eight times as many {many:?}");
}

/// Builds open calls, and the event that ends all of them.
fn calls_and_end(dialect: Dialect, count: usize) -> (String, String) {
    let begin = |at: usize| match dialect {
        Dialect::ChatCompletions => piece(at, &format!("\"id\":\"call_{at}\","), "{'a': 1}"),
        Dialect::Responses => format!(
            "data: {{\"type\":\"response.output_item.added\",\"output_index\":{at},\"item\":\
             {{\"type\":\"function_call\",\"id\":\"fc_{at}\",\"call_id\":\"call_{at}\",\
             \"name\":\"TodoWrite\",\"arguments\":\"{{'a': 1}}\"}}}}\n\n"
        ),
        _ => format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{at},\"content_block\":\
             {{\"type\":\"tool_use\",\"id\":\"toolu_{at}\",\"name\":\"TodoWrite\"}}}}\n\n\
             data: {{\"type\":\"content_block_delta\",\"index\":{at},\"delta\":\
             {{\"partial_json\":\"{{'a': 1}}\"}}}}\n\n"
        ),
    };
    let end = match dialect {
        Dialect::ChatCompletions => {
            "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}".to_owned()
        }
        Dialect::Responses => {
            let item = |at| {
                format!(
                    "{{\"type\":\"function_call\",\"id\":\"fc_{at}\",\"call_id\":\"call_{at}\",\
                     \"name\":\"TodoWrite\",\"arguments\":\"{{'a': 1}}\",\"status\":\"completed\"}}"
                )
            };
            let output: Vec<String> = (0..count).map(item).collect();
            let output = output.join(",");
            format!("{{\"type\":\"response.completed\",\"response\":{{\"output\":[{output}]}}}}")
        }
        _ => "{\"type\":\"message_stop\"}".to_owned(),
    };
    ((0..count).map(begin).collect(), format!("data: {end}\n\n"))
}

/// Measures the processor time of the end of all calls.
fn end_takes(dialect: Dialect, count: usize, by_event: bool) -> Duration {
    let (calls, end) = calls_and_end(dialect, count);
    let limits = StreamLimits {
        calls: 100_000,
        ..StreamLimits::default()
    };
    let mut repairer = StreamRepairer::with(dialect, FormatFixing::default(), limits);
    let mut out = Vec::new();
    repairer.push(calls.as_bytes(), &mut out);
    let clock = Clock::start();
    if by_event {
        repairer.push(end.as_bytes(), &mut out);
    } else {
        repairer.finish(&mut out);
    }
    let took = clock.worked();
    let records = repairer.take_records();
    assert_eq!(records.len(), count);
    assert!(records.iter().all(|record| record.status == Status::Repaired));
    took
}

/// Eight times as many calls may take 24 times as long; quadratic work would take 64 times as long. The fastest of several rounds counts,
/// and the first round that is fast enough is the last one, since other processes only slow the test down. Thread clock times below two
/// milliseconds are not significant.
fn assert_ends_in_linear_time(dialect: Dialect) {
    for by_event in [true, false] {
        let (mut few, mut many) = (Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            few = few.min(end_takes(dialect, 500, by_event).max(Duration::from_millis(2)));
            many = many.min(end_takes(dialect, 4_000, by_event));
            if many < few * 24 {
                break;
            }
        }
        assert!(many < few * 24, "{few:?}, and eight times as many {many:?}");
    }
}

#[test]
fn ending_the_calls_of_a_chat_takes_linear_time() {
    assert_ends_in_linear_time(Dialect::ChatCompletions);
}

#[test]
fn ending_the_calls_of_a_response_takes_linear_time() {
    assert_ends_in_linear_time(Dialect::Responses);
}

#[test]
fn ending_the_calls_of_a_message_takes_linear_time() {
    assert_ends_in_linear_time(Dialect::Anthropic);
}

/// Builds arguments of a length, which differ only at the end.
fn long_arguments(at: usize) -> String {
    format!("{{\"text\": \"{}\", \"at\": {at}}}", "x".repeat(4_000))
}

/// Measures the processor time of the end of a response whose calls begin with the last item, and end with other `call_id`s or none, so
/// that the arguments distinguish them. There are no more calls than a reader follows.
fn pairing_takes(count: usize, has_ids: bool) -> Duration {
    let mut reader = ResponseReader::new();
    for at in (0..count).rev() {
        let mut push = |kind: &str, id: Option<String>| {
            let item = json!({
                "type": "function_call", "id": format!("fc_{at}"), "call_id": id, "name": "f",
                "arguments": long_arguments(at),
            });
            let event = json!({ "type": kind, "output_index": at, "item": item });
            reader.push_event(&event).unwrap();
        };
        push("response.output_item.added", Some(format!("call_{at}")));
        push(
            "response.output_item.done",
            has_ids.then(|| format!("other_{at}")),
        );
    }
    let last = json!({ "type": "response.completed", "response": { "output": [] } });
    reader.push_event(&last).unwrap();
    let clock = Clock::start();
    let response = reader.finish().unwrap();
    let took = clock.worked();
    assert_eq!((response.calls.len(), response.output.len()), (count, count));
    for (at, call) in response.calls.iter().enumerate() {
        assert_eq!(call.input, long_arguments(at).into());
    }
    took
}

#[test]
fn pairing_calls_with_items_of_other_ids_takes_linear_time() {
    for has_ids in [true, false] {
        let (mut few, mut many) = (Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            few = few.min(pairing_takes(30, has_ids).max(Duration::from_millis(2)));
            many = many.min(pairing_takes(240, has_ids));
            if many < few * 24 {
                break;
            }
        }
        assert!(many < few * 24, "{few:?}, and eight times as many {many:?}");
    }
}
