//! Random streams of chunks: no panic, events in their order, and no call that was not complete.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::played::Played;
use crate::session::tests::Random;
use crate::upstream::openai::response::expected::ExpectedResponse;

/// A generator of choices, which a test can repeat.
struct Choices(Random);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    fn pick(&mut self, items: &[&str]) -> String {
        items[self.below(items.len())].to_owned()
    }

    /// A piece of a call, most of which fit the one before.
    fn call(&mut self) -> Value {
        let pieces = [
            "",
            "{",
            "}",
            "{\"a\":",
            "1",
            "\"b\"",
            ",",
            "{}",
            "{\"a\":1}",
            "{'a': ",
            "[1]",
            "null",
            "\"{}\"",
            "x",
        ];
        let mut call = json!({});
        if self.below(4) > 0 {
            call["index"] = self.below(3).into();
        }
        if self.below(3) == 0 {
            call["id"] = self.pick(&["", "call_1", "call_2"]).into();
        }
        let mut function = json!({});
        if self.below(3) == 0 {
            function["name"] = self.pick(&["f", "g", ""]).into();
        }
        match self.below(8) {
            0 => {}
            1 => function["arguments"] = json!({ "a": 1 }),
            _ => function["arguments"] = self.pick(&pieces).into(),
        }
        call["function"] = function;
        call
    }

    fn frame(&mut self) -> String {
        let delta = match self.below(10) {
            0 => json!({ "content": self.pick(&["a", " ", "", "\n\n", "text"]) }),
            1 => json!({ "reasoning_content": self.pick(&["a", " ", "thought"]) }),
            2 => json!({ "refusal": "no" }),
            3 => json!({ "content": [{ "type": "text", "text": "p" }] }),
            4 => json!({}),
            5 => json!({ "tool_calls": [self.call(), self.call()] }),
            _ => json!({ "tool_calls": [self.call()] }),
        };
        let mut choice = json!({ "index": 0, "delta": delta });
        if self.below(10) == 0 {
            choice["finish_reason"] = self
                .pick(&["stop", "tool_calls", "length", "content_filter", "error", "later"])
                .into();
        }
        match self.below(30) {
            0 => ": comment\n\n".to_owned(),
            1 => "data: [DONE]\n\n".to_owned(),
            2 => "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n"
                .to_owned(),
            3 => "data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n".to_owned(),
            4 => "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ud83d\"}}]}\n\n".to_owned(),
            5 => "data: nonsense\n\n".to_owned(),
            _ => format!("data: {}\n\n", json!({ "choices": [choice] })),
        }
    }
}

#[tokio::test]
async fn random_streams_have_legal_events_and_no_incomplete_call() {
    for seed in 0..3000 {
        let mut choices = Choices(Random(seed));
        let mut stream = String::new();
        for _ in 0..=choices.below(12) {
            let _ = write!(stream, "{}", choices.frame());
        }
        if choices.below(3) > 0 {
            stream.push_str("data: [DONE]\n\n");
        }
        let expected = || ExpectedResponse {
            splits_objects: seed % 2 == 0,
            eager_functions: (seed % 4 == 1).then(|| "f".to_owned()).into_iter().collect(),
            ..ExpectedResponse::default()
        };
        // The order of the events is asserted there.
        let played = Played::stream(stream.as_bytes(), expected()).await;
        let pieces = stream.bytes().map(|byte| vec![byte]).collect();
        let slow = Played::new("text/event-stream", pieces, expected()).await;
        assert_eq!(played, slow, "seed {seed}:\n{stream}");
        let is_finished = stream.contains("finish_reason");
        for call in played.message["content"].as_array().into_iter().flatten() {
            if call["type"] != "tool_use" {
                continue;
            }
            assert_ne!(call["name"], "", "seed {seed}:\n{stream}");
            // Without a finish reason, only JSON is a complete call.
            let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
            let is_complete = call["input"].as_str().is_none_or(is_json);
            assert!(
                is_complete || is_finished || played.error.is_some(),
                "seed {seed}:\n{stream}\n{call}"
            );
        }
    }
}
