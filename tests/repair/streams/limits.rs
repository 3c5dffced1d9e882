//! Streams that exceed limits pass unchanged from there.

use tool_runtime::repair::stream::{Dialect, StreamLimits, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Limits, Status};

use super::client::calls;
use super::sent::{Sent, send};

#[test]
fn default_limits_are_the_documented_ones() {
    let arguments = Limits {
        depth: 1024,
        held: 67_108_864,
        sent: 1_048_576,
        space: 1024,
        number: 64,
    };
    assert_eq!(Limits::default(), arguments);
    let stream = StreamLimits {
        event: 16_777_216,
        calls: 256,
        held: 67_108_864,
        arguments,
    };
    assert_eq!(StreamLimits::default(), stream);
}

pub(super) fn piece(index: usize, head: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).unwrap();
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{index},{head}\
         \"function\":{{\"name\":\"TodoWrite\",\"arguments\":{arguments}}}}}]}}}}]}}\n\n"
    )
}

fn sent(stream: &str, limits: StreamLimits) -> Sent {
    let fixing = FormatFixing::default();
    let whole = send(Dialect::ChatCompletions, &fixing, limits, [stream.as_bytes()]);
    for size in [1, 7, 64] {
        let pieces = send(
            Dialect::ChatCompletions,
            &fixing,
            limits,
            stream.as_bytes().chunks(size),
        );
        assert_eq!(pieces, whole, "in pieces of {size}");
    }
    whole
}

fn assert_as_it_came(stream: &str, sent: &Sent) {
    let arguments = |bytes: &[u8]| -> Vec<String> {
        calls(Dialect::ChatCompletions, bytes)
            .into_iter()
            .map(|call| call.arguments)
            .collect()
    };
    assert_eq!(arguments(&sent.bytes), arguments(stream.as_bytes()));
}

#[test]
fn passes_all_events_after_an_event_over_the_limit() {
    let big = format!("data: {}\n\n", "x".repeat(1000));
    let stream = [
        &piece(0, "", "{'a'"),
        &*big,
        &piece(0, "", ": 1}"),
        "data: [DONE]\n\n",
    ]
    .concat();
    let sent = sent(
        &stream,
        StreamLimits {
            event: 500,
            ..StreamLimits::default()
        },
    );
    assert_as_it_came(&stream, &sent);
    assert_eq!(sent.records.len(), 1);
    assert_eq!(sent.records[0].status, Status::Refused);
    assert!(
        sent.records[0]
            .reason
            .as_ref()
            .unwrap()
            .message
            .contains("500 bytes")
    );
    assert_eq!(
        sent.bailout_reason.as_deref(),
        Some("an event of more than 500 bytes")
    );
}

#[test]
fn passes_all_events_with_more_calls_than_the_limit() {
    let pieces = |text: &str| -> String {
        (0..5)
            .map(|at| piece(at, &format!("\"id\":\"call_{at}\","), text))
            .collect()
    };
    let stream = pieces("{'a'") + &pieces(": 1}") + "data: [DONE]\n\n";
    let sent = sent(
        &stream,
        StreamLimits {
            calls: 4,
            ..StreamLimits::default()
        },
    );
    assert_as_it_came(&stream, &sent);
    assert_eq!(sent.records.len(), 5);
    assert!(sent.records.iter().all(|record| record.status == Status::Refused));
    assert_eq!(sent.bailout_reason.as_deref(), Some("more than 4 calls at once"));
}

#[test]
fn passes_the_call_over_the_limit_and_repairs_the_others() {
    let stream = [
        piece(0, "\"id\":\"a\",", "{'a'"),
        piece(1, "\"id\":\"b\",", "{'b': '"),
        piece(1, "", &"x".repeat(2000)),
        piece(1, "", "'}"),
        piece(0, "", ": 1}"),
    ]
    .concat();
    let sent = sent(
        &stream,
        StreamLimits {
            held: 1500,
            ..StreamLimits::default()
        },
    );
    let received = calls(Dialect::ChatCompletions, &sent.bytes);
    assert_eq!(sent.bailout_reason, None);
    assert_eq!(received[0].arguments, r#"{"a": 1}"#);
    assert_eq!(received[1].arguments, format!("{{'b': '{}'}}", "x".repeat(2000)));
    let status: Vec<Status> = sent.records.iter().map(|record| record.status).collect();
    assert_eq!(status, [Status::Repaired, Status::Refused]);
}

#[test]
fn applies_the_limits_of_the_repair() {
    let stream = [
        piece(0, "", "{'a': '"),
        piece(0, "", &"x".repeat(2000)),
        piece(0, "", "'}"),
    ]
    .concat();
    let arguments = Limits {
        held: 500,
        ..Limits::default()
    };
    let sent = sent(
        &stream,
        StreamLimits {
            arguments,
            ..StreamLimits::default()
        },
    );
    assert_as_it_came(&stream, &sent);
    assert_eq!(sent.records[0].status, Status::Refused);
}

#[test]
fn passes_an_event_with_more_calls_than_the_limit() {
    let delta = "{\"index\":0,\"function\":{\"name\":\"TodoWrite\",\"arguments\":\"@\"}}";
    let many = vec![delta; 100_000].join(",");
    let stream = piece(0, "", "{'a': ")
        + &format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{many}]}}}}]}}\n\n")
        + &piece(0, "", "1}");
    let fixing = FormatFixing::default();
    let sent = send(
        Dialect::ChatCompletions,
        &fixing,
        StreamLimits::default(),
        [stream.as_bytes()],
    );
    assert_eq!(sent.records.len(), 1);
    assert_eq!(
        sent.bailout_reason.as_deref(),
        Some("more than 256 calls at once")
    );
    assert!(sent.bytes.ends_with(&stream.as_bytes()[stream.len() - 1000..]));
}

#[test]
fn counts_held_events() {
    let block = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
        {\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"TodoWrite\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{'a': 1}\"}}\n\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let delta = "data: {\"type\":\"message_delta\",\"delta\":{}}\n\n";
    let stream = block.to_owned() + &delta.repeat(100);
    for (held, status) in [
        (20, Status::Refused),
        (1000, Status::Refused),
        (1 << 20, Status::Repaired),
    ] {
        let limits = StreamLimits {
            held,
            ..StreamLimits::default()
        };
        let fixing = FormatFixing::default();
        let sent = send(Dialect::Anthropic, &fixing, limits, [stream.as_bytes()]);
        assert_eq!(sent.records[0].status, status, "{held}");
        let whole = String::from_utf8(sent.bytes).unwrap();
        assert_eq!(whole.matches("message_delta").count(), 100);
        let stop = whole.find("content_block_stop").unwrap();
        assert!(whole.rfind("partial_json").unwrap() < stop && stop < whole.find("message_delta").unwrap());
        let expected = if status == Status::Refused {
            "{'a': 1}"
        } else {
            r#"{"a": 1}"#
        };
        let received = calls(Dialect::Anthropic, whole.as_bytes());
        assert_eq!(received[0].arguments, expected);
    }
}

#[test]
fn every_dialect_reports_its_bailout() {
    let block = |at| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{at},\"content_block\":\
             {{\"type\":\"tool_use\",\"id\":\"toolu_{at}\",\"name\":\"TodoWrite\"}}}}\n\n"
        )
    };
    let item = |at| {
        format!(
            "data: {{\"type\":\"response.output_item.added\",\"output_index\":{at},\"item\":\
             {{\"type\":\"function_call\",\"id\":\"fc_{at}\",\"call_id\":\"call_{at}\",\
             \"name\":\"TodoWrite\",\"arguments\":\"\"}}}}\n\n"
        )
    };
    let call = |at| piece(at, &format!("\"id\":\"call_{at}\","), "{");
    let limits = StreamLimits {
        calls: 4,
        ..StreamLimits::default()
    };
    let fixing = FormatFixing::default();
    for (dialect, stream) in [
        (Dialect::ChatCompletions, (0..6).map(call).collect::<String>()),
        (Dialect::Responses, (0..6).map(item).collect()),
        (Dialect::Anthropic, (0..6).map(block).collect()),
    ] {
        let sent = send(dialect, &fixing, limits, [stream.as_bytes()]);
        assert_eq!(
            sent.bailout_reason.as_deref(),
            Some("more than 4 calls at once"),
            "{dialect}"
        );
    }
}

#[test]
fn truncates_an_endless_name() {
    let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::for_every_tool());
    let mut out = Vec::new();
    for count in 0..100 {
        let function = format!("{{\"name\":\"{count}{}\"}}", "x".repeat(1000));
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{function}}}]}}}}]}}\n\n"
        );
        repairer.push(event.as_bytes(), &mut out);
    }
    let arguments = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{'a': 1}\"}}]}}]}\n\n";
    repairer.push(arguments.as_bytes(), &mut out);
    repairer.finish(&mut out);
    let records = repairer.take_records();
    assert_eq!(records[0].status, Status::Repaired);
    assert!(records[0].tool.len() < 6000, "{} bytes", records[0].tool.len());
}

/// Builds a complete call of any tool.
fn call(at: usize, tool: &str, arguments: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"call_{at}\",\
         \"function\":{{\"name\":\"{tool}\",\"arguments\":\"{arguments}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\n"
    )
}

#[test]
fn limits_the_number_of_untaken_records() {
    let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
    let mut out = Vec::new();
    for at in 0..4200 {
        repairer.push(call(at, "TodoWrite", "{'a': 1}").as_bytes(), &mut out);
    }
    let records = repairer.take_records();
    assert_eq!(records.len(), 4096);
    assert_eq!(records[4095].call.as_deref(), Some("call_4095"));
    repairer.push(call(4200, "TodoWrite", "{'a': 1}").as_bytes(), &mut out);
    let records = repairer.take_records();
    assert_eq!(records.len(), 1, "there is room again");
    assert_eq!(records[0].call.as_deref(), Some("call_4200"));
    assert!(
        !String::from_utf8(out).unwrap().contains("'a'"),
        "all were repaired"
    );
}

#[test]
fn limits_the_number_of_skipped_names() {
    let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
    let mut out = Vec::new();
    repairer.push(call(0, &"x".repeat(257), "{}").as_bytes(), &mut out);
    assert_eq!(repairer.skipped(), [""; 0]);
    repairer.push(call(1, &"x".repeat(256), "{}").as_bytes(), &mut out);
    for at in 0..100 {
        for _ in 0..2 {
            repairer.push(call(at, &format!("Tool{at}"), "{}").as_bytes(), &mut out);
        }
    }
    let names = repairer.skipped();
    assert_eq!((names.len(), &*names[1], &*names[63]), (64, "Tool0", "Tool62"));
}

/// No known repair has a result that is not JSON, so only the switch is visible here. Unit tests with an incorrect repair show that it has
/// an effect.
#[test]
fn configuration_disables_validation() {
    for strict_validation in [true, false] {
        let fixing = FormatFixing {
            strict_validation,
            ..FormatFixing::default()
        };
        for (dialect, stream) in [
            (Dialect::ChatCompletions, piece(0, "", "{'a'")),
            (
                Dialect::Anthropic,
                "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
                 {\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"TodoWrite\"}}\n\n\
                 data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{'a'\"}}\n\n"
                    .to_owned(),
            ),
            (
                Dialect::Responses,
                "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":\
                 {\"type\":\"function_call\",\"id\":\"fc_1\",\"name\":\"TodoWrite\",\"arguments\":\"{'a'\"}}\n\n"
                    .to_owned(),
            ),
        ] {
            let mut repairer = StreamRepairer::new(dialect, fixing.clone());
            repairer.push(stream.as_bytes(), &mut Vec::new());
            let shown = format!("{repairer:?}");
            let wanted = format!(" validate: {strict_validation},");
            assert_eq!(shown.matches(" validate: ").count(), 1, "{dialect}: {shown}");
            assert!(shown.contains(&wanted), "{dialect}: {shown}");
        }
    }
}
