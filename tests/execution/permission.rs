//! Layer `Permission`: the calls that need a decision, the effects of decisions, and the time that decisions take.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::result::Failure;
use tool_runtime::{CancellationToken, Context, State, ToolCall, ToolOutcome, ToolRegistry, tool, tool_set};
use tower::{ServiceExt, service_fn};
use tower_layer::layer_fn;

const HOUR: Duration = Duration::from_secs(3600);

/// Look around.
#[tool(read_only)]
async fn look() -> &'static str {
    "seen"
}

/// Look into the web.
#[tool(read_only, open_world)]
async fn browse() -> &'static str {
    "found"
}

/// Run an action.
#[tool]
async fn act() -> &'static str {
    "done"
}

/// Write a note.
#[tool(destructive = false, idempotent)]
async fn note() -> &'static str {
    "noted"
}

/// Delete files.
#[tool(destructive)]
async fn delete(
    /// Number of files.
    count: u8,
    /// List the files without a change.
    #[arg(default = true)]
    dry_run: bool,
) -> String {
    format!("deleted {count} {dry_run}")
}

/// Work for half an hour.
#[tool(timeout = "1h")]
async fn work() -> &'static str {
    tokio::time::sleep(HOUR / 2).await;
    "worked"
}

/// Report the remaining time in minutes.
#[tool]
async fn remaining(context: Context) -> Option<u64> {
    let deadline = tokio::time::Instant::from_std(context.deadline()?);
    Some(deadline.duration_since(tokio::time::Instant::now()).as_secs() / 60)
}

fn registry(permission: Permission) -> ToolRegistry {
    let mut registry = ToolRegistry::new().layer(permission);
    registry
        .register_all(tool_set![look, browse, act, note, delete, work, remaining])
        .unwrap();
    registry
}

type Log = Arc<Mutex<Vec<String>>>;

/// Logs the questions, and always returns `decision`.
fn logging(
    log: &Log,
    decision: Decision,
) -> impl Fn(PermissionRequest) -> std::future::Ready<Decision> + Send + Sync + use<> {
    let log = Arc::clone(log);
    move |request| {
        let call = &request.call;
        assert_eq!(request.definition().name, call.name);
        log.lock()
            .unwrap()
            .push(format!("{} {}", call.name, call.arguments_json));
        std::future::ready(decision.clone())
    }
}

async fn run_all(registry: &ToolRegistry) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for name in ["look", "browse", "act", "note"] {
        let result = registry.execute_tool("toolu_1", name, "{}").await;
        texts.push(result.text().map(str::to_owned));
    }
    texts
}

#[tokio::test]
async fn asks_about_every_call() {
    let log = Log::default();
    let registry = registry(Permission::new(logging(&log, Decision::Allow)));
    let texts = run_all(&registry).await;
    assert_eq!(
        texts.into_iter().flatten().collect::<Vec<_>>(),
        ["seen", "found", "done", "noted"]
    );
    assert_eq!(
        *log.lock().unwrap(),
        ["look {}", "browse {}", "act {}", "note {}"]
    );
}

#[tokio::test]
async fn asks_by_hints() {
    let log = Log::default();
    let registry = registry(Permission::by_hints(logging(
        &log,
        Decision::Deny("no".to_owned()),
    )));
    let texts = run_all(&registry).await;
    assert_eq!(
        texts.into_iter().flatten().collect::<Vec<_>>(),
        ["seen", "no", "no", "no"]
    );
    let result = registry
        .execute_tool("toolu_1", "delete", r#"{ "count": 1 }"#)
        .await;
    assert_eq!(result.text(), Some("no"));
    assert_eq!(
        *log.lock().unwrap(),
        ["browse {}", "act {}", "note {}", r#"delete {"count":1}"#]
    );
}

/// A tool with contradictory hints, as a server may list it.
#[tokio::test]
async fn asks_about_tools_with_contradicting_hints() {
    let log = Log::default();
    let mut registry = registry(Permission::by_hints(logging(&log, Decision::Interrupt)));
    let mut definition = crate::execution::tools::definition("odd");
    (definition.hints.read_only, definition.hints.destructive) = (Some(true), Some(true));
    registry.register_dynamic(definition, async |_, _| "ran").unwrap();
    let outcome = registry.call(ToolCall::new("toolu_1", "odd", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Interrupted));
}

#[tokio::test]
async fn request_has_coerced_arguments_defaults_and_context() {
    let permission = Permission::new(async |request: PermissionRequest| {
        let PermissionRequest { call, context, .. } = &request;
        assert_eq!(
            (call.tool_use_id.as_str(), call.name.as_str()),
            ("toolu_1", "delete")
        );
        assert_eq!(call.arguments_json, r#"{"count":3}"#);
        assert_eq!(call.argument("dry_run"), Some(&true.into()));
        assert_eq!(context.session(), Some("s-1"));
        assert_eq!(request.definition().hints.destructive, Some(true));
        Decision::Allow
    });
    let call = ToolCall::new("toolu_1", "delete", r#"{ "Count": "3" }"#);
    let outcome = registry(permission)
        .call(call.with_context(Context::new().with_session("s-1")))
        .await;
    assert_eq!(outcome.result.text(), Some("deleted 3 true"));
    assert_eq!((outcome.failure, outcome.warnings.len()), (None, 2));
}

#[tokio::test]
async fn denied_call_does_not_run_and_has_the_text() {
    let registry = registry(Permission::new(async |_| {
        Decision::Deny("not on Sundays".to_owned())
    }));
    let outcome = registry.call(ToolCall::new("toolu_1", "act", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Denied));
    assert_eq!(
        (outcome.result.text(), outcome.result.is_error),
        (Some("not on Sundays"), true)
    );
    assert_eq!(outcome.result.tool_use_id, "toolu_1");
}

/// The API rejects an error without content.
#[tokio::test]
async fn denial_without_a_text_has_one() {
    let registry = registry(Permission::new(async |_| Decision::Deny(" ".to_owned())));
    let result = registry.execute_tool("toolu_1", "act", "{}").await;
    assert_eq!(
        result.text(),
        Some("`act` was not called because permission was denied")
    );
}

#[tokio::test]
async fn interrupted_call_reports_that_approval_is_needed() {
    let registry = registry(Permission::new(async |_| Decision::Interrupt));
    let outcome = registry.call(ToolCall::new("toolu_1", "act", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Interrupted));
    let result = registry.execute_tool("toolu_1", "act", "{}").await;
    assert_eq!(result, outcome.result);
    assert!(
        result.is_error && result.text().unwrap().contains("approval is needed"),
        "{result:?}"
    );
}

#[tokio::test]
async fn passes_invalid_calls_on_without_asking() {
    let log = Log::default();
    let registry = registry(Permission::new(logging(&log, Decision::Allow)));
    let calls = [
        ("delete", "{}", Failure::InvalidArguments),
        ("delete", r#"{ "count": 300 }"#, Failure::InvalidArguments),
        ("destroy", "{}", Failure::NotFound),
    ];
    for (name, input, failure) in calls {
        let outcome = registry.call(ToolCall::new("toolu_1", name, input)).await;
        assert_eq!(outcome.failure, Some(failure));
    }
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn panic_of_a_decision_is_isolated() {
    let ran = Arc::new(Mutex::new(0));
    let permission = Permission::new(async |request: PermissionRequest| {
        assert!(request.call.name != "count", "the secret is 1234");
        Decision::Allow
    });
    let mut registry = registry(permission);
    let counter = Arc::clone(&ran);
    registry
        .register_dynamic(crate::execution::tools::definition("count"), move |_, _| {
            *counter.lock().unwrap() += 1;
            async { "counted" }
        })
        .unwrap();
    let calls = ["look", "count", "act"].map(|name| ToolCall::new(name, name, "{}"));
    let outcomes = registry.execute_all(calls).await;
    let failures: Vec<_> = outcomes.iter().map(|outcome| outcome.failure).collect();
    assert_eq!(failures, [None, Some(Failure::Panicked), None]);
    let text = outcomes[1].result.text().unwrap();
    assert!(outcomes[1].result.is_error && !text.contains("secret"), "{text}");
    assert_eq!(*ran.lock().unwrap(), 0);
}

/// Allows every call after a delay.
fn slow(time: Duration) -> Permission {
    Permission::new(move |_| async move {
        tokio::time::sleep(time).await;
        Decision::Allow
    })
}

#[tokio::test(start_paused = true)]
async fn decision_does_not_count_against_the_timeout_of_the_tool() {
    let outcome = registry(slow(HOUR * 24))
        .call(ToolCall::new("toolu_1", "work", "{}"))
        .await;
    assert_eq!((outcome.failure, outcome.result.text()), (None, Some("worked")));
}

#[tokio::test(start_paused = true)]
async fn decision_does_not_count_against_the_deadline_of_the_context() {
    let call = |name: &str| {
        let deadline = (tokio::time::Instant::now() + HOUR).into_std();
        ToolCall::new("toolu_1", name, "{}").with_context(Context::new().with_deadline(deadline))
    };
    let two_layers = registry(slow(HOUR * 24)).layer(slow(HOUR * 2));
    for registry in [registry(slow(HOUR * 24)), two_layers] {
        let outcome = registry.call(call("work")).await;
        assert_eq!((outcome.failure, outcome.result.text()), (None, Some("worked")));
        let outcome = registry.call(call("remaining")).await;
        assert_eq!((outcome.failure, outcome.result.text()), (None, Some("60")));
    }
}

#[tokio::test(start_paused = true)]
async fn deadline_holds_after_the_decision() {
    let hanging_outside = layer_fn(|inner: ToolService| {
        service_fn(move |call: ToolCall| {
            let inner = inner.clone();
            async move {
                inner.oneshot(call).await?;
                std::future::pending::<Result<ToolOutcome, BoxError>>().await
            }
        })
    });
    let began = tokio::time::Instant::now();
    let call = ToolCall::new("toolu_1", "look", "{}").with_context(Context::new().with_timeout(HOUR));
    let outcome = registry(slow(HOUR * 24)).layer(hanging_outside).call(call).await;
    assert_eq!(outcome.failure, Some(Failure::TimedOut));
    let hours = began.elapsed().as_secs() / HOUR.as_secs();
    assert_eq!(hours, 25);
}

#[tokio::test]
async fn does_not_ask_about_finished_calls() {
    let log = Log::default();
    let registry = registry(Permission::new(logging(&log, Decision::Allow)));
    let token = CancellationToken::new();
    token.cancel();
    let late = Context::new().with_timeout(Duration::ZERO);
    let cancelled = Context::new().with_cancellation(token);
    for (context, failure) in [(late, Failure::TimedOut), (cancelled, Failure::Cancelled)] {
        let outcome = registry
            .call(ToolCall::new("toolu_1", "act", "{}").with_context(context))
            .await;
        assert_eq!(outcome.failure, Some(failure));
    }
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancellation_stops_a_decision() {
    let registry = registry(Permission::new(async |_| std::future::pending().await));
    let token = CancellationToken::new();
    let call = ToolCall::new("toolu_1", "act", "{}")
        .with_context(Context::new().with_cancellation(token.clone()).with_timeout(HOUR));
    let (outcome, ()) = tokio::join!(registry.call(call), async {
        tokio::time::sleep(HOUR * 24).await;
        token.cancel();
    });
    assert_eq!(outcome.failure, Some(Failure::Cancelled));
}

/// A call from an outer layer needs a decision, like any other call.
#[tokio::test]
async fn asks_about_calls_that_layers_make() {
    let log = Log::default();
    let forging = layer_fn(|inner: ToolService| {
        service_fn(move |_: ToolCall| inner.clone().oneshot(ToolCall::new("other", "act", "{}")))
    });
    let registry = registry(Permission::by_hints(logging(&log, Decision::Interrupt))).layer(forging);
    let outcome = registry.call(ToolCall::new("toolu_1", "look", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::Interrupted));
    assert_eq!(*log.lock().unwrap(), ["act {}"]);
}

/// An outer layer receives the outcome, and no error.
#[tokio::test]
async fn outer_layers_see_the_outcome() {
    let seen: Arc<Mutex<Vec<Option<Failure>>>> = Arc::default();
    let log = Arc::clone(&seen);
    let watching = layer_fn(move |inner: ToolService| {
        let log = Arc::clone(&log);
        service_fn(move |call: ToolCall| {
            let (inner, log) = (inner.clone(), Arc::clone(&log));
            async move {
                let outcome = inner.oneshot(call).await?;
                log.lock().unwrap().push(outcome.failure);
                Ok::<_, BoxError>(outcome)
            }
        })
    });
    let permission = Permission::new(
        async |request: PermissionRequest| match request.call.name.as_str() {
            "act" => Decision::Interrupt,
            "note" => panic!("no answer"),
            _ => Decision::Deny("no".to_owned()),
        },
    );
    let registry = registry(permission).layer(watching);
    run_all(&registry).await;
    assert_eq!(
        *seen.lock().unwrap(),
        [
            Some(Failure::Denied),
            Some(Failure::Denied),
            Some(Failure::Interrupted),
            Some(Failure::Panicked),
        ]
    );
}

#[tokio::test]
async fn decisions_of_one_turn_are_made_concurrently() {
    /// Count a call.
    #[tool]
    async fn count(counter: State<Mutex<u8>>) -> u8 {
        let mut counter = counter.lock().unwrap();
        *counter += 1;
        *counter
    }
    let both_asked = Arc::new(tokio::sync::Barrier::new(2));
    let permission = Permission::new(move |_| {
        let both_asked = Arc::clone(&both_asked);
        async move {
            both_asked.wait().await;
            Decision::Allow
        }
    });
    let mut registry = ToolRegistry::new().with_state(Mutex::new(0_u8)).layer(permission);
    registry.register::<count>().unwrap();
    let calls = ["1", "2"].map(|id| ToolCall::new(id, "count", "{}"));
    let outcomes = registry.execute_all(calls).await;
    assert!(outcomes.iter().all(|outcome| outcome.failure.is_none()));
}
