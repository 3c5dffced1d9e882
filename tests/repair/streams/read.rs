//! Calls that are read from events equal the calls that a client joins from the repaired stream.

use serde::de::IgnoredAny;
use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::stream::{CallEvent, CallReader, Dialect, ReadCall};
use tool_runtime::repair::{FormatFixing, Status};
use tool_runtime::sse::{Frame, SseDecoder};

use super::client::calls;
use super::client_events::text;
use super::irregular;
use super::recorded::recorded;
use super::sent::send_whole;

/// Calls of a stream, and whether a piece of arguments belonged to no call.
fn read(dialect: Dialect, fixing: &FormatFixing, stream: &[u8]) -> (Vec<ReadCall>, bool) {
    let mut reader = CallReader::new(dialect, fixing.clone());
    let mut decoder = SseDecoder::new();
    decoder.push(stream);
    decoder.finish();
    let mut events = Vec::new();
    while let Some(frame) = decoder.next_frame() {
        if let Frame::Event(event) = frame
            && let Some(data) = event.data()
            && let Ok(data) = std::str::from_utf8(&data)
            && (data == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok())
        {
            events.extend(reader.read(event.name(), data));
        }
    }
    events.extend(reader.finish());
    let mut begun = Vec::new();
    let mut ended: Vec<ReadCall> = Vec::new();
    let mut unattributed = false;
    let mut pieces: std::collections::HashMap<u64, String> = std::collections::HashMap::new();
    for event in events {
        match event {
            CallEvent::Begun { call, .. } => begun.push(call),
            CallEvent::Arguments { call, text } => pieces.entry(call).or_default().push_str(&text),
            CallEvent::Restarted { call } => drop(pieces.remove(&call)),
            CallEvent::Ended(call) => {
                let pieces = pieces.remove(&call.call).unwrap_or_default();
                assert_eq!(pieces, call.arguments, "its pieces are its arguments");
                ended.push(call);
            }
            CallEvent::Unattributed => unattributed = true,
            other => panic!("{other:?}"),
        }
    }
    ended.sort_by_key(|call| call.call);
    assert_eq!(begun, ended.iter().map(|call| call.call).collect::<Vec<_>>());
    (ended, unattributed)
}

/// Streams that the client of these tests reads differently: it uses the index, accepts a name after the arguments, or reads halves of
/// surrogate pairs.
const OTHERS: [&str; 5] = [
    "of_an_ended_call",
    "responses_index_reused",
    "responses_ids_crosswise",
    "not_utf8",
    "lone_surrogate",
];

#[test]
fn reads_recorded_calls_as_a_client_receives_them() {
    let mut compared = 0;
    for stream in recorded() {
        let is_other = OTHERS.iter().any(|other| stream.name.contains(other));
        if is_other || !stream.fixing.enabled || !stream.fixing.fallback_on_error {
            continue;
        }
        let sent = send_whole(stream.dialect, &stream.fixing, &stream.bytes);
        let (read, _) = read(stream.dialect, &stream.fixing, &stream.bytes);
        let received = calls(stream.dialect, &sent.bytes);
        let of_read: Vec<(&str, &str)> = read.iter().map(|call| (&*call.tool, &*call.arguments)).collect();
        let received: Vec<(String, String)> = received
            .iter()
            .map(|call| (call.tool.clone(), text(call.last()).unwrap_or_default()))
            .collect();
        let received: Vec<(&str, &str)> = received.iter().map(|(tool, last)| (&**tool, &**last)).collect();
        assert_eq!(of_read, received, "{}", stream.name);
        compared += 1;
        let status_texts = |status| {
            sent.records
                .iter()
                .filter(|record| record.status == status)
                .count()
        };
        for status in [Status::Repaired, Status::Truncated, Status::Refused] {
            let read = read.iter().filter(|call| call.status == status).count();
            assert_eq!(read, status_texts(status), "{}: {status:?}", stream.name);
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn reads_pieces_of_unusual_streams_in_order() {
    let mut random = Random::new(14);
    for round in 0..if long() { 50_000 } else { 1_000 } {
        let (dialect, stream, _) = irregular::any_stream(&mut random);
        let fixing = FormatFixing::for_every_tool();
        let received = irregular::together(&send_whole(dialect, &fixing, stream.as_bytes()).bytes);
        let (read, unattributed) = read(dialect, &fixing, stream.as_bytes());
        let read: String = read.iter().map(|call| &*call.arguments).collect();
        assert!(
            unattributed || read == received,
            "round {round}: {read}\nis not {received}\nin\n{stream}"
        );
    }
}
