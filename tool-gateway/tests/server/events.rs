//! Strict parsing of a stream's events: each has a name, which equals the type in its data.

use serde_json::Value;
use tool_runtime::sse::{Frame, SseDecoder};

/// Parses the events of a stream. Returns their data, whose type is the name of the event.
pub(crate) fn events(stream: &[u8]) -> Vec<Value> {
    let mut decoder = SseDecoder::new();
    decoder.push(stream);
    decoder.finish();
    let mut events = Vec::new();
    while let Some(frame) = decoder.next_frame() {
        let Frame::Event(event) = frame else {
            panic!("no event: {frame:?}");
        };
        assert!(event.ended(), "{event:?}");
        let data: Value = serde_json::from_slice(&event.data().unwrap()).unwrap();
        assert_eq!(event.name(), data["type"].as_str(), "{event:?}");
        events.push(data);
    }
    events
}
