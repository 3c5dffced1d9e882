//! `tracing` events: one for each call that was not valid JSON, without its arguments.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tool_runtime::repair::FormatFixing;
use tool_runtime::repair::stream::{Dialect, StreamLimits};
use tracing::field::{Field, Visit};
use tracing::{Dispatch, Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::sent::send;

/// Collects the level and the fields of every event.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(Level, String)>>>);

impl<S: Subscriber> Layer<S> for Told {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push((*event.metadata().level(), line.0));
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

fn told(fixing: &FormatFixing, arguments: &[&str]) -> Vec<(Level, String)> {
    let arguments = arguments.iter().map(|text| serde_json::to_string(text).unwrap());
    told_of(fixing, &arguments.collect::<Vec<_>>())
}

/// Returns the events of calls with these arguments, in the spelling of the stream.
fn told_of(fixing: &FormatFixing, arguments: &[String]) -> Vec<(Level, String)> {
    let told = Told::default();
    let subscriber = tracing_subscriber::registry().with(told.clone());
    let stream: String = arguments
        .iter()
        .enumerate()
        .map(|(at, arguments)| {
            format!(
                "data: {{\"choices\":[{{\"index\":2,\"delta\":{{\"tool_calls\":[{{\"index\":{at},\"id\":\"call_{at}\",\
                 \"function\":{{\"name\":\"TodoWrite\",\"arguments\":{arguments}}}}}]}}}}]}}\n\n"
            )
        })
        .collect();
    let subscriber = Dispatch::new(subscriber);
    // With only one subscriber, an event whose first occurrence is on another thread is cached as disabled.
    let _another = Dispatch::new(tracing_subscriber::registry());
    tracing::dispatcher::with_default(&subscriber, || {
        let limits = StreamLimits {
            calls: 4,
            ..StreamLimits::default()
        };
        send(Dialect::ChatCompletions, fixing, limits, [stream.as_bytes()]);
    });
    let all = told.0.lock().unwrap();
    all.clone()
}

const ARGUMENTS: [&str; 4] = [
    r#"{"secret": 1}"#,
    "{'secret': None}",
    "{'secret",
    "{'secret': secret}",
];

#[test]
fn each_call_that_was_not_simply_json_is_told_once() {
    let told = told(&FormatFixing::default(), &ARGUMENTS);
    let levels: Vec<Level> = told.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::INFO, Level::WARN, Level::WARN], "{told:?}");
    for (at, words) in [
        (1, "were repaired"),
        (2, "were cut off"),
        (3, "could not be repaired"),
    ] {
        let (_, line) = &told[at - 1];
        assert!(line.contains(words) && line.contains("TodoWrite"), "{line}");
        assert!(
            line.contains(&format!("call=\"call_{at}\" choice=2 index={at} ")),
            "{line}"
        );
    }
    assert!(
        told[0]
            .1
            .contains("fixes=single_quotes×1 python_literal×1 offset=1 validated=true "),
        "{told:?}"
    );
    assert!(told[1].1.contains(" offset=8 "), "{told:?}");
    assert!(told[2].1.contains(" offset=11 "), "{told:?}");
}

#[test]
fn arguments_that_are_an_object_are_told() {
    let objects = [r#"{"secret": 1}"#.to_owned()];
    let told = told_of(&FormatFixing::default(), &objects);
    assert_eq!(told.len(), 1, "{told:?}");
    let (level, line) = &told[0];
    assert_eq!(*level, Level::INFO);
    assert!(
        line.contains("arguments that were an object were sent as a string"),
        "{line}"
    );
    assert!(
        line.contains("tool=\"TodoWrite\" call=\"call_0\" choice=2 index=0 "),
        "{line}"
    );
    assert!(!line.contains("secret"), "{line}");
}

/// Fixes are logged in the order in which they are made, so text before the object is last.
#[test]
fn the_first_place_is_the_first_in_the_text() {
    let told = told(&FormatFixing::default(), &["Here is the call:\n{'secret': 1}"]);
    assert!(told[0].1.contains("text_before×1 offset=0 "), "{told:?}");
}

#[test]
fn with_debug_logging_each_fix_is_told_with_its_place() {
    let fixing = FormatFixing {
        debug_logging: true,
        ..FormatFixing::default()
    };
    let told = told(&fixing, &ARGUMENTS);
    let fixes: Vec<&String> = told
        .iter()
        .filter(|(level, _)| *level == Level::DEBUG)
        .map(|(_, line)| line)
        .collect();
    assert_eq!(fixes.len(), 2, "{told:?}");
    assert!(
        fixes[0].contains("single_quotes") && fixes[0].contains("offset=1 "),
        "{}",
        fixes[0]
    );
    assert!(
        fixes[1].contains("python_literal") && fixes[1].contains("offset=11 "),
        "{}",
        fixes[1]
    );
}

#[test]
fn the_arguments_themselves_are_never_told() {
    let fixing = FormatFixing {
        debug_logging: true,
        ..FormatFixing::default()
    };
    for (_, line) in told(&fixing, &ARGUMENTS) {
        assert!(!line.contains("secret"), "{line}");
    }
}

#[test]
fn giving_up_on_the_rest_of_a_stream_is_told_once() {
    let told = told(&FormatFixing::default(), &[r#"{"a": 1"#; 8]);
    let given_up: Vec<&(Level, String)> = told
        .iter()
        .filter(|(_, line)| line.contains("the rest of a stream passes untouched"))
        .collect();
    assert_eq!(given_up.len(), 1, "{told:?}");
    assert_eq!(given_up[0].0, Level::WARN);
    assert!(given_up[0].1.contains("more than 4 calls at once"), "{told:?}");
}
