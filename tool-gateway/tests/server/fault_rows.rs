//! Rows of `docs/faults.md` about the gateway. Each row has a test in `faults.rs`, `upstream_faults.rs`, `chat_faults.rs`,
//! `limit_faults.rs`, `client_faults.rs`, `store_faults.rs`, `instance_faults.rs`, `redis_faults.rs` or
//! `command_faults.rs`, and each test has a row.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber, subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::fault_row::FaultRow;
use crate::lab::Lab;
use crate::reply::{self, Reply};

/// A row with the code in its columns.
#[derive(Debug)]
pub(crate) struct Row {
    client: Vec<String>,
    host: Vec<String>,
}

/// Returns the row of a test in `faults.rs`.
pub(crate) fn row(test: &str) -> Row {
    let FaultRow { reader, host, .. } = FaultRow::find("gateway", test);
    Row { client: reader, host }
}

impl Row {
    /// Returns the row without the code for the client.
    pub(crate) fn without(&self, code: &str) -> Self {
        let client = self.client.iter().filter(|seen| *seen != code);
        Self {
            client: client.cloned().collect(),
            host: self.host.clone(),
        }
    }

    /// Returns the row with another text in the lines of the log.
    pub(crate) fn with(&self, text: &str, other: &str) -> Self {
        let host = self.host.iter().map(|line| line.replace(text, other));
        Self {
            client: self.client.clone(),
            host: host.collect(),
        }
    }

    /// Asserts that a client received the row's answer. After the beginning of a stream, an error has no status and no headers.
    #[track_caller]
    pub(crate) fn client_sees(&self, reply: &Reply) {
        let mut seen = Vec::new();
        let mut expected = self.client.as_slice();
        if reply.is_error() {
            let (kind, message) = reply.error();
            seen.extend([kind.to_owned(), without_port(message)]);
            if reply.status == 200 {
                expected = &expected[1..3];
            } else {
                seen.insert(0, reply.status.as_u16().to_string());
                let after = reply.headers.get("retry-after");
                seen.extend(after.map(|after| format!("retry-after: {}", after.to_str().unwrap())));
            }
        } else if reply.stop_reason() == "pause_turn" {
            seen.push("pause_turn".to_owned());
        }
        assert_eq!(
            seen, expected,
            "what the client sees (left), and what docs/faults.md says"
        );
    }

    /// Asserts the row of an error in the form of `OpenAI`'s APIs.
    #[track_caller]
    pub(crate) fn client_sees_openai_error(&self, status: StatusCode, error: &Value) {
        let text = |field: &str| error["error"][field].as_str().unwrap_or_default();
        let seen = [status.as_str(), text("type"), text("message")];
        assert_eq!(
            seen.as_slice(),
            self.client,
            "what the client sees (left), and what docs/faults.md says"
        );
    }

    /// Asserts that the client received nothing, or the whole answer.
    #[track_caller]
    pub(crate) fn client_sees_no_error(&self) {
        assert_eq!(self.client, [""; 0], "what docs/faults.md says the client sees");
    }

    /// Asserts the row of an error at the start of the program, without a client.
    #[track_caller]
    pub(crate) fn program_does_not_start(&self, error: &str) {
        self.client_sees_no_error();
        assert_eq!(self.host, [error], "what docs/faults.md says the host learns");
    }

    /// Asserts the warning in a line of the program's log.
    #[cfg(all(unix, feature = "redis"))]
    #[track_caller]
    pub(crate) fn host_logs(&self, line: &str) {
        let line = without_port(line);
        for part in self.host.iter().flat_map(|warning| warning.split("; ")) {
            let (field, value) = part.split_once('=').unwrap_or(("", part));
            let value = value.trim_start_matches("WARN ");
            assert!(line.contains(field) && line.contains(value), "{line}");
        }
    }

    /// Asserts that the metrics have the row's lines, and that the log has only the row's warnings and errors.
    pub(crate) async fn host_learns(&self, lab: &Lab, log: &Log) {
        let is_logged = |line: &&String| line.starts_with("WARN ") || line.starts_with("ERROR ");
        let logged: Vec<_> = self.host.iter().filter(is_logged).cloned().collect();
        let lines = std::mem::take(&mut *log.lines.lock().unwrap());
        assert_eq!(lines, logged, "the log (left), and what docs/faults.md says");
        let metrics = metrics(lab).await;
        // A joined turn is logged once.
        let begun = metrics
            .lines()
            .filter_map(turn_count)
            .filter(|(end, _)| *end != "joined");
        assert_eq!(
            log.turns.swap(0, Ordering::Relaxed),
            begun.map(|(_, count)| count).sum::<usize>(),
            "each turn has one line of the log, and ends once: {metrics}"
        );
        let counted = self.host.iter().filter(|line| !is_logged(line));
        let missing: Vec<_> = counted.filter(|line| !has_metric(&metrics, line)).collect();
        assert!(missing.is_empty(), "{missing:?}\n{metrics}");
    }

    /// Returns whether the metrics of a program have all lines for the host.
    pub(crate) fn is_counted(&self, metrics: &str) -> bool {
        self.host.iter().all(|line| has_metric(metrics, line))
    }
}

/// Waits until the gateway has removed expired sessions for the first time, so that a later failure of the store does not affect that
/// removal.
pub(crate) async fn first_sweep_ends(lab: &Lab) {
    until_counted(lab, "store_seconds_count{operation=\"remove_expired\"} 1").await;
}

/// Waits until the metrics have a line.
pub(crate) async fn until_counted(lab: &Lab, line: &str) {
    while !has_metric(&metrics(lab).await, line) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Returns whether the metrics have a line.
fn has_metric(metrics: &str, line: &str) -> bool {
    metrics
        .lines()
        .any(|found| found.strip_prefix("tool_gateway_") == Some(line))
}

async fn metrics(lab: &Lab) -> String {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let metrics = reply::bytes(lab.send(request).await.into_body()).await;
    String::from_utf8(metrics.to_vec()).unwrap()
}

/// Returns the number of turns in a metric about the ends of turns.
fn turn_count(line: &str) -> Option<(&str, usize)> {
    let line = line.strip_prefix("tool_gateway_turns_total{end=\"")?;
    let (end, count) = line.split_once("\"} ")?;
    Some((end, count.parse().ok()?))
}

/// Replaces the port of a listener, which differs in each run.
fn without_port(text: &str) -> String {
    let Some((before, after)) = text.split_once("127.0.0.1:") else {
        return text.to_owned();
    };
    let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    format!("{before}ADDRESS{}", without_port(after))
}

/// Records the warnings and errors of this thread until it is dropped, and the number of logged turns.
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    turns: Arc<AtomicUsize>,
    _guard: subscriber::DefaultGuard,
}

impl Log {
    pub(crate) fn start() -> Self {
        Self::start_in(Path::new("DIR"))
    }

    /// Replaces a directory by `DIR`.
    pub(crate) fn start_in(directory: &Path) -> Self {
        crate::subscriber::keep();
        let (lines, turns) = (Arc::default(), Arc::default());
        let recorder = Recorder {
            lines: Arc::clone(&lines),
            turns: Arc::clone(&turns),
            directory: directory.to_str().unwrap().to_owned(),
        };
        let guard = subscriber::set_default(tracing_subscriber::registry().with(recorder));
        Self {
            lines,
            turns,
            _guard: guard,
        }
    }
}

struct Recorder {
    lines: Arc<Mutex<Vec<String>>>,
    turns: Arc<AtomicUsize>,
    directory: String,
}

impl<S: Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if level > Level::INFO {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if level == Level::INFO {
            self.turns
                .fetch_add((fields.message == "turn").into(), Ordering::Relaxed);
            return;
        }
        let line = format!("{} {}{}", event.metadata().level(), fields.message, fields.others);
        let line = without_port(&line).replace(&self.directory, "DIR");
        self.lines.lock().unwrap().push(line);
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            // Differs in each call.
            "gen_ai.tool.call.id" => {}
            name => {
                let _ = write!(self.others, "; {name}={value:?}");
            }
        }
    }
}

#[test]
fn each_row_has_one_test_and_each_test_a_row() {
    let source = concat!(
        include_str!("faults.rs"),
        include_str!("upstream_faults.rs"),
        include_str!("chat_faults.rs"),
        include_str!("limit_faults.rs"),
        include_str!("request_faults.rs"),
        include_str!("client_faults.rs"),
        include_str!("store_faults.rs"),
        include_str!("instance_faults.rs"),
        include_str!("redis_faults.rs"),
        include_str!("command_faults.rs")
    );
    let lines: Vec<_> = source.lines().collect();
    let tests = lines
        .windows(3)
        .filter(|lines| lines[0].starts_with("#[tokio::test"));
    let tests = tests.filter_map(|lines| {
        let signature = lines.iter().find(|line| line.contains("fn "))?;
        let (_, name) = signature.split_once("fn ")?;
        let name = name.split('(').next()?;
        assert!(
            source.contains(&format!("\"{name}\"")),
            "`{name}` does not look at its row"
        );
        Some(format!("gateway::{name}"))
    });
    let tests: BTreeSet<_> = tests.collect();
    let names: Vec<_> = FaultRow::in_suite("gateway").map(|row| row.test).collect();
    assert_eq!(
        names.iter().cloned().collect::<BTreeSet<_>>(),
        tests,
        "rows (left), and tests"
    );
    assert_eq!(
        names.len(),
        ROWS,
        "a row that goes takes its test along, and would not be missed"
    );
}

/// Number of rows.
const ROWS: usize = 138;
