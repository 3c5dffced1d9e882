//! Decisions other than allow and deny: edited arguments, and rules of a session.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json, to_value};
use tool_runtime::permission::{AllowRule, AllowRules, Decision, Permission, PermissionRequest};
use tool_runtime::result::Failure;
use tool_runtime::{Context, Policy, SessionValues, ToolCall, ToolOutcome, ToolRegistry, tool, tool_set};

/// Write a file.
#[tool(destructive)]
async fn write(
    /// Path of the file.
    #[arg(length = 1..)]
    path: String,
    /// Number of lines.
    #[arg(default = 1)]
    lines: u8,
    /// A number of any size.
    size: Option<f64>,
) -> String {
    format!("{path} {lines} {size:?}")
}

/// Read a file.
#[tool(read_only)]
async fn read() -> &'static str {
    "read"
}

fn registry(permission: Permission) -> ToolRegistry {
    let mut registry = ToolRegistry::new().layer(permission);
    registry.register_all(tool_set![write, read]).unwrap();
    registry
}

/// Answers each question with the next decision, and logs the question.
#[derive(Clone, Default)]
struct User(Arc<Mutex<Vec<String>>>);

impl User {
    fn deciding(
        &self,
        decide: impl Fn(&PermissionRequest) -> Decision + Send + Sync + 'static,
    ) -> Permission {
        let asked = Arc::clone(&self.0);
        Permission::new(move |request: PermissionRequest| {
            let call = &request.call;
            asked
                .lock()
                .unwrap()
                .push(format!("{} {}", call.name, call.arguments_json));
            std::future::ready(decide(&request))
        })
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

async fn call_in(registry: &ToolRegistry, session: &str, name: &str, input: &str) -> ToolOutcome {
    let context = Context::new().with_session(session);
    registry
        .call(ToolCall::new("toolu_1", name, input).with_context(context))
        .await
}

async fn call(registry: &ToolRegistry, input: &str) -> ToolOutcome {
    call_in(registry, "s", "write", input).await
}

fn text(outcome: &ToolOutcome) -> &str {
    outcome.result.text().unwrap()
}

/// Sets a field in the arguments that were sent.
fn with(request: &PermissionRequest, name: &str, value: Value) -> Map<String, Value> {
    let mut arguments = request.call.arguments.clone();
    arguments.insert(name.to_owned(), value);
    arguments
}

#[tokio::test]
async fn edited_arguments_run_and_the_model_reads_it() {
    let user = User::default();
    let permission = user.deciding(|request| {
        let mut arguments = with(request, "path", "/tmp/b".into());
        arguments.remove("lines");
        Decision::AllowWith(arguments)
    });
    let outcome = call(&registry(permission), r#"{ "path": "/etc/a", "lines": "3" }"#).await;
    assert_eq!(
        text(&outcome),
        "/tmp/b 1 None\n\nThe arguments of this call were changed when it was approved: `path` is \"/tmp/b\", `lines` is left out."
    );
    assert_eq!((outcome.failure, outcome.result.is_error), (None, false));
    // The record of the original arguments stays.
    let warnings: Vec<String> = outcome.warnings.iter().map(|issue| issue.path.clone()).collect();
    assert_eq!(warnings, ["/lines"]);
    assert_eq!(user.asked(), [r#"write {"path":"/etc/a","lines":3}"#]);
}

#[tokio::test]
async fn edited_arguments_are_coerced_again() {
    let edited = |arguments: Value| {
        let permission =
            User::default().deciding(move |_| Decision::AllowWith(arguments.as_object().unwrap().clone()));
        registry(permission)
    };
    let lenient = edited(json!({ "PATH": "/tmp/b", "lines": "4" }));
    let outcome = call(&lenient, r#"{ "path": "a" }"#).await;
    assert!(
        text(&outcome).starts_with("/tmp/b 4 None\n\nThe arguments"),
        "{}",
        text(&outcome)
    );
    assert_eq!(outcome.warnings.len(), 2);

    let strict = ToolCall::new("toolu_1", "write", r#"{ "path": "a" }"#).with_policy(Policy::Strict);
    assert_eq!(
        lenient.call(strict).await.failure,
        Some(Failure::InvalidArguments)
    );

    // The model did not send the edited arguments, so the message names their author.
    let outcome = call(&edited(json!({ "path": "", "lines": 1 })), r#"{ "path": "a" }"#).await;
    assert_eq!(outcome.failure, Some(Failure::InvalidArguments));
    assert!(text(&outcome).starts_with("`write` was not called because of invalid arguments:"));
    assert!(text(&outcome).ends_with("when it was approved: `path` is \"\", `lines` is 1."));
}

#[tokio::test]
async fn unchanged_arguments_are_only_allowed() {
    let permission = User::default().deciding(|request| Decision::AllowWith(request.call.arguments.clone()));
    let outcome = call(&registry(permission), r#"{ "path": "a", "lines": "2" }"#).await;
    assert_eq!(text(&outcome), "a 2 None");
    assert_eq!(outcome.warnings.len(), 1);
}

#[tokio::test]
async fn unchanged_numbers_keep_their_text() {
    let inner = User::default();
    let seen = inner.deciding(|_| Decision::Allow);
    let edit = User::default().deciding(|request| Decision::AllowWith(with(request, "path", "b".into())));
    let outcome = call(
        &registry(seen).layer(edit),
        r#"{ "path": "a", "size": 12345678901234567890.50 }"#,
    )
    .await;
    assert_eq!(outcome.failure, None);
    assert_eq!(
        inner.asked(),
        [r#"write {"path":"b","size":12345678901234567890.50}"#]
    );
}

#[tokio::test]
async fn long_edited_values_are_truncated_in_the_note() {
    let permission = User::default()
        .deciding(|request| Decision::AllowWith(with(request, "path", "é".repeat(9_000).into())));
    let outcome = call(&registry(permission), r#"{ "path": "a" }"#).await;
    assert!(outcome.notes[0].chars().count() < 700);
    assert!(outcome.notes[0].ends_with("…."), "{}", outcome.notes[0]);
}

#[tokio::test]
async fn rule_for_a_tool_allows_it_in_its_session() {
    let user = User::default();
    let registry = registry(user.deciding(|request| Decision::AllowAlways(request.rule_for_tool())));
    for input in [r#"{ "path": "a" }"#, r#"{ "path": "b" }"#] {
        assert_eq!(call(&registry, input).await.failure, None);
    }
    assert_eq!(user.asked(), [r#"write {"path":"a"}"#]);
    // Another tool, and another session.
    call_in(&registry, "s", "read", "{}").await;
    call_in(&registry, "t", "write", r#"{ "path": "a" }"#).await;
    assert_eq!(user.asked(), ["read {}", r#"write {"path":"a"}"#]);
    // The host can show and remove the rules.
    let rules = registry.session_values(Some("s")).get::<AllowRules>().unwrap();
    assert_eq!(
        rules.lock().0,
        [AllowRule::for_tool("write"), AllowRule::for_tool("read")]
    );
    rules.lock().0.clear();
    call(&registry, r#"{ "path": "a" }"#).await;
    assert_eq!(user.asked().len(), 1);
}

/// A person is asked one question at a time.
#[tokio::test]
async fn rule_allows_calls_that_wait_for_a_decision() {
    for of_call in [false, true] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (questions, person) = (Arc::clone(&asked), Arc::new(tokio::sync::Mutex::new(())));
        let registry = registry(Permission::new(move |request: PermissionRequest| {
            let (questions, person) = (Arc::clone(&questions), Arc::clone(&person));
            async move {
                let _turn = person.lock().await;
                questions
                    .lock()
                    .unwrap()
                    .push(request.call.arguments_json.clone());
                tokio::task::yield_now().await;
                Decision::AllowAlways(if of_call {
                    request.rule_for_call()
                } else {
                    request.rule_for_tool()
                })
            }
        }));
        let calls = |session: &'static str| {
            ["a", "b", "a"].map(|path| {
                let context = Context::new().with_session(session);
                ToolCall::new("toolu_1", "write", json!({ "path": path })).with_context(context)
            })
        };
        let mut turns = Vec::from(calls("s"));
        turns.extend(calls("t"));
        for outcome in registry.execute_all(turns).await {
            assert_eq!(outcome.failure, None);
        }
        let (a, b) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
        let expected = if of_call { vec![a, b, a, b] } else { vec![a, a] };
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn rule_for_a_call_allows_equal_arguments_only() {
    let user = User::default();
    let registry = registry(user.deciding(|request| Decision::AllowAlways(request.rule_for_call())));
    call(&registry, r#"{ "path": "é/\"a\"" }"#).await;
    user.asked();
    // Equal after coercion, and with the default.
    for input in [
        r#"{ "path": "é/\"a\"" }"#,
        r#"{ "lines": "1", "Path": "\u00e9/\"a\"" }"#,
    ] {
        call(&registry, input).await;
        assert_eq!(user.asked(), [] as [&str; 0], "{input}");
    }
    for input in [
        r#"{ "path": "b" }"#,
        r#"{ "path": "é/\"a\"", "lines": 2 }"#,
        r#"{ "path": "é/\"a\"", "size": 1.5 }"#,
        // Unknown to the tool, and not a part of the allowed arguments.
        r#"{ "path": "é/\"a\"", "force": true }"#,
    ] {
        call(&registry, input).await;
        assert_eq!(user.asked().len(), 1, "{input}");
    }
}

#[tokio::test]
async fn numbers_that_are_equal_as_values_only_are_asked_about() {
    let user = User::default();
    let registry = registry(user.deciding(|request| Decision::AllowAlways(request.rule_for_call())));
    for size in ["12345678901234567890123", "12345678901234567890124"] {
        call(&registry, &format!(r#"{{ "path": "a", "size": {size} }}"#)).await;
    }
    assert_eq!(user.asked().len(), 2);
    for _ in 0..2 {
        call(&registry, r#"{ "path": "a", "size": 1.5 }"#).await;
    }
    assert_eq!(user.asked().len(), 1);
}

#[tokio::test]
async fn rules_have_the_name_that_the_model_calls() {
    let user = User::default();
    // A call has two names: the name in the layers of the nested registry, and the name in the request.
    for rule in [
        (|request: &PermissionRequest| AllowRule::for_tool(&request.call.name)) as fn(&_) -> AllowRule,
        PermissionRequest::rule_for_tool,
    ] {
        let files = registry(user.deciding(move |request| Decision::AllowAlways(rule(request))));
        let mut registry = ToolRegistry::new();
        registry
            .nest("files", files.clone())
            .unwrap()
            .nest("mails", files)
            .unwrap();
        let values = SessionValues::new();
        for tool in ["files__read", "files__read", "mails__read"] {
            let context = Context::new().with_session_values(values.clone());
            registry
                .call(ToolCall::new("toolu_1", tool, "{}").with_context(context))
                .await;
        }
        assert_eq!(user.asked(), ["read {}", "read {}"]);
        let rules = values.get::<AllowRules>().unwrap().lock().clone();
        assert_eq!(
            to_value(rules).unwrap(),
            json!([
                { "tool": "files__read", "arguments": null },
                { "tool": "mails__read", "arguments": null },
            ])
        );
    }
}

#[tokio::test]
async fn rules_survive_as_json() {
    let user = User::default();
    let decide = |request: &PermissionRequest| Decision::AllowAlways(request.rule_for_call());
    let registry = registry(user.deciding(decide));
    let run = async |values: &SessionValues| {
        let context = Context::new().with_session_values(values.clone());
        let call = ToolCall::new("toolu_1", "write", r#"{ "path": "a" }"#).with_context(context);
        registry.call(call).await
    };
    let values = SessionValues::new();
    run(&values).await;
    let stored = values.to_json().unwrap();
    assert_eq!(
        Value::from(stored.clone()),
        json!({ "tool_runtime::allow_rules::AllowRules": [
            { "tool": "write", "arguments": { "path": "a", "lines": 1 } },
        ] })
    );
    run(&SessionValues::from_json(stored)).await;
    assert_eq!(user.asked().len(), 1);
}

#[tokio::test]
async fn damaged_rules_allow_nothing() {
    let user = User::default();
    let registry = registry(user.deciding(|request| Decision::AllowAlways(request.rule_for_tool())));
    for rules in [
        json!([{ "tool": "write" }]),
        json!([{ "tool": "write", "arguments": null, "until": "noon" }]),
        json!({ "write": true }),
    ] {
        let stored = Map::from_iter([(std::any::type_name::<AllowRules>().to_owned(), rules.clone())]);
        let values = SessionValues::from_json(stored.clone());
        for _ in 0..2 {
            let context = Context::new().with_session_values(values.clone());
            let call = ToolCall::new("toolu_1", "write", r#"{ "path": "a" }"#).with_context(context);
            assert_eq!(registry.call(call).await.failure, None);
            assert_eq!(user.asked().len(), 1, "{rules}");
        }
        assert_eq!(values.to_json().unwrap(), stored);
    }
}

#[tokio::test]
async fn sessions_without_rules_are_not_begun() {
    let registry = registry(User::default().deciding(|_| Decision::Allow));
    call(&registry, r#"{ "path": "a" }"#).await;
    assert!(registry.remove_session(Some("s")).is_none());
}
