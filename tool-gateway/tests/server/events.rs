//! The events of a stream, read strictly: each has a name, and its data the same type.

use serde_json::Value;
use tool_runtime::sse::{Frame, SseDecoder};

/// The events of a stream: their data, of which the type is the event's name.
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
