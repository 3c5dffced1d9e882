//! An upstream that answers turns with events, and passes no messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode, Uri};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tool_gateway::Gateway;
use tool_gateway::upstream::{
    MessageEvent, MessageEvents, TurnBody, Upstream, UpstreamError, UpstreamFuture,
};

use crate::lab::{Chat, Lab, Runs, call, registry, result, says, text};
use crate::reply;
use crate::test_script::TestScript;

/// Answers turns like a script, with events, and with pauses between events if set.
struct Translated {
    script: TestScript,
    pause: Duration,
    is_alive: bool,
    is_whole: bool,
}

impl Upstream for Translated {
    fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
        panic!("only turns are asked for");
    }

    fn turn(&self, mut request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
        Box::pin(async move {
            let mut body: Value = serde_json::from_slice(request.body()).unwrap();
            body["stream"] = (!self.is_whole).into();
            *request.body_mut() = body.to_string().into();
            let (head, body) = self.script.send(request).await?.into_parts();
            if !head.status.is_success() {
                return Ok(Response::from_parts(head, TurnBody::Error(body)));
            }
            let bytes = reply::bytes(body).await;
            let events = if self.is_whole {
                vec![MessageEvent::whole(std::str::from_utf8(&bytes).unwrap())]
            } else {
                let events = reply::events(&bytes).into_iter();
                events
                    .map(|event| MessageEvent::parse(&event.to_string()))
                    .collect()
            };
            let (pause, is_alive) = (self.pause, self.is_alive);
            let pauses = stream::iter(0..4).then(move |_| async move {
                tokio::time::sleep(pause).await;
                Ok::<_, UpstreamError>(MessageEvent::keep_alive())
            });
            let pauses = pauses.filter(move |_| std::future::ready(is_alive));
            let events = MessageEvents::new(Box::pin(pauses.chain(stream::iter(events))));
            Ok(Response::from_parts(head, TurnBody::Message(events)))
        })
    }

    fn passes_messages(&self) -> bool {
        false
    }

    fn name(&self) -> String {
        "translated".to_owned()
    }
}

fn lab(turns: &Value, configure: impl FnOnce(Translated) -> Translated) -> Lab {
    let script = TestScript::from_json(&json!({ "turns": turns }).to_string()).unwrap();
    let runs = Runs::default();
    let upstream = configure(Translated {
        script: script.clone(),
        pause: Duration::ZERO,
        is_alive: true,
        is_whole: false,
    });
    let gateway = Gateway::new(registry(&runs), upstream).with_upstream_idle(Duration::from_secs(10));
    Lab {
        app: gateway.router(),
        script,
        runs,
    }
}

#[tokio::test]
async fn turns_are_answered_with_events() {
    for (is_stream, is_whole) in [(false, false), (false, true), (true, false), (true, true)] {
        let mixed = says(&[text("I ask."), call("lookup", "a"), call("weather", "b")]);
        let turns = json!([mixed, says(&[text("Done.")])]);
        let lab = lab(&turns, |upstream| Translated { is_whole, ..upstream });
        let mut chat = Chat::new(is_stream);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.shape(), ["text", "weather"], "{}", reply.message);
        assert_eq!(lab.runs.ended(), ["lookup a"]);
        let resumed = chat.answer(&lab, &reply).await;
        assert_eq!(resumed.text(), "Done.");
        let last = lab.last_seen()["messages"][2]["content"].clone();
        assert_eq!(last[1], result("up_b", "from the client"));
        lab.assert_well_formed();
        lab.assert_one_prefix();
    }
}

#[tokio::test]
async fn messages_do_not_pass() {
    let turns = json!([
        says(&[text("It is"), call("weather", "a")]),
        says(&[text("Done.")])
    ]);
    for is_stream in [false, true] {
        let lab = lab(&turns, |upstream| upstream);
        let mut chat = Chat::new(is_stream);
        // Without internal tools.
        chat.body["tools"] = json!([{ "name": "weather", "input_schema": { "type": "object" } }]);
        let reply = chat.say(&lab, "go").await;
        assert_eq!(reply.shape(), ["text", "weather"]);
        assert!(reply.ids()[0].starts_with("toolu_"), "{:?}", reply.ids());
        chat.answer(&lab, &reply).await;
        assert_eq!(
            lab.last_seen()["messages"][2]["content"][0]["tool_use_id"],
            "up_a"
        );
    }
}

#[tokio::test]
async fn error_responses_are_unchanged() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error", "message":"busy"},"x":1.50}"#;
    let error = format!(r#"{{"status":529,"headers":{{"retry-after":"1"}},"body":{body}}}"#);
    let turns: Value = serde_json::from_str(&format!(r#"[{{"error":{error}}}]"#)).unwrap();
    let reply = Chat::new(true).say(&lab(&turns, |upstream| upstream), "go").await;
    assert_eq!(reply.status, StatusCode::from_u16(529).unwrap());
    assert_eq!(reply.headers["retry-after"], "1");
    assert_eq!(reply.error(), ("overloaded_error", "busy"));
}

#[tokio::test(start_paused = true)]
async fn keep_alives_begin_the_idle_time_again() {
    let pause = Duration::from_secs(9);
    for is_alive in [true, false] {
        let turns = json!([says(&[text("Done.")])]);
        let lab = lab(&turns, |upstream| Translated {
            pause,
            is_alive,
            ..upstream
        });
        let reply = Chat::new(false).say(&lab, "go").await;
        if is_alive {
            assert_eq!(reply.text(), "Done.");
        } else {
            let message = "the upstream's response was cut off: no data for 10 s";
            assert_eq!(reply.error(), ("api_error", message));
        }
    }
}

/// A response that ends before its message is an error, also if the stream ends without one.
#[tokio::test]
async fn events_that_end_early_are_an_error() {
    struct Short(AtomicBool);

    impl Upstream for Short {
        fn send(&self, _: Request<Bytes>) -> UpstreamFuture<'_> {
            let response = Response::builder().status(404).body(Body::empty()).unwrap();
            Box::pin(async { Ok(response) })
        }

        fn turn(&self, request: Request<Bytes>) -> UpstreamFuture<'_, TurnBody> {
            assert_eq!(request.uri(), &Uri::from_static("/v1/messages"));
            let event = if self.0.fetch_not(Ordering::Relaxed) {
                MessageEvent::parse(r#"{"type":"content_block_start"}"#)
            } else {
                MessageEvent::parse(r#"{"type":"ping"}"#)
            };
            let events = MessageEvents::new(stream::iter([event]));
            Box::pin(async { Ok(Response::new(TurnBody::Message(events))) })
        }

        fn passes_messages(&self) -> bool {
            false
        }

        fn name(&self) -> String {
            "short".to_owned()
        }
    }

    let runs = Runs::default();
    let lab = Lab {
        app: Gateway::new(registry(&runs), Short(AtomicBool::new(false))).router(),
        script: TestScript::embedded(),
        runs,
    };
    for expected in [
        "the upstream's response ended before its message did",
        "the upstream sent an invalid event",
    ] {
        let reply = Chat::new(false).say(&lab, "go").await;
        assert_eq!(reply.error(), ("api_error", expected));
    }
}
