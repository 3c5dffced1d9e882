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
struct Logged(Arc<Mutex<Vec<(Level, String)>>>);

impl<S: Subscriber> Layer<S> for Logged {
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

/// Returns the log events of calls with these arguments.
fn logged(fixing: &FormatFixing, arguments: &[&str]) -> Vec<(Level, String)> {
    let arguments = arguments.iter().map(|text| serde_json::to_string(text).unwrap());
    logged_for(fixing, &arguments.collect::<Vec<_>>())
}

/// Returns the log events of calls with these arguments, as JSON strings of the stream.
fn logged_for(fixing: &FormatFixing, arguments: &[String]) -> Vec<(Level, String)> {
    let logged = Logged::default();
    let subscriber = tracing_subscriber::registry().with(logged.clone());
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
    let all = logged.0.lock().unwrap();
    all.clone()
}

const ARGUMENTS: [&str; 4] = [
    r#"{"secret": 1}"#,
    "{'secret': None}",
    "{'secret",
    "{'secret': secret}",
];

#[test]
fn logs_each_call_with_invalid_json_once() {
    let logged = logged(&FormatFixing::default(), &ARGUMENTS);
    let levels: Vec<Level> = logged.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::INFO, Level::WARN, Level::WARN], "{logged:?}");
    for (at, words) in [
        (1, "were repaired"),
        (2, "were cut off"),
        (3, "could not be repaired"),
    ] {
        let (_, line) = &logged[at - 1];
        assert!(line.contains(words) && line.contains("TodoWrite"), "{line}");
        assert!(
            line.contains(&format!("call=\"call_{at}\" choice=2 index={at} ")),
            "{line}"
        );
    }
    assert!(
        logged[0]
            .1
            .contains("fixes=single_quotes×1 python_literal×1 offset=1 validated=true "),
        "{logged:?}"
    );
    assert!(logged[1].1.contains(" offset=8 "), "{logged:?}");
    assert!(logged[2].1.contains(" offset=11 "), "{logged:?}");
}

#[test]
fn logs_arguments_that_are_an_object() {
    let objects = [r#"{"secret": 1}"#.to_owned()];
    let logged = logged_for(&FormatFixing::default(), &objects);
    assert_eq!(logged.len(), 1, "{logged:?}");
    let (level, line) = &logged[0];
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
fn logs_the_first_position_in_the_text() {
    let logged = logged(&FormatFixing::default(), &["Here is the call:\n{'secret': 1}"]);
    assert!(logged[0].1.contains("text_before×1 offset=0 "), "{logged:?}");
}

#[test]
fn logs_each_fix_with_its_position_at_level_debug() {
    let fixing = FormatFixing {
        debug_logging: true,
        ..FormatFixing::default()
    };
    let logged = logged(&fixing, &ARGUMENTS);
    let fixes: Vec<&String> = logged
        .iter()
        .filter(|(level, _)| *level == Level::DEBUG)
        .map(|(_, line)| line)
        .collect();
    assert_eq!(fixes.len(), 2, "{logged:?}");
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
fn never_logs_the_arguments() {
    let fixing = FormatFixing {
        debug_logging: true,
        ..FormatFixing::default()
    };
    for (_, line) in logged(&fixing, &ARGUMENTS) {
        assert!(!line.contains("secret"), "{line}");
    }
}

#[test]
fn logs_a_bailout_once() {
    let logged = logged(&FormatFixing::default(), &[r#"{"a": 1"#; 8]);
    let given_up: Vec<&(Level, String)> = logged
        .iter()
        .filter(|(_, line)| line.contains("the rest of a stream passes unchanged"))
        .collect();
    assert_eq!(given_up.len(), 1, "{logged:?}");
    assert_eq!(given_up[0].0, Level::WARN);
    assert!(given_up[0].1.contains("more than 4 calls at once"), "{logged:?}");
}
