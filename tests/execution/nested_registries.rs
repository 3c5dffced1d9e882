//! `nest` and `register_source`: tools of other registries and sources, under separate names.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::permission::{Decision, Permission};
use tool_runtime::result::Failure;
use tool_runtime::testing::{run_call, run_in};
use tool_runtime::{
    Context, Policy, RegistryError, SessionState, State, ToolCall, ToolDefinition, ToolRegistry, tool,
    tool_set,
};
use tower::util::MapRequestLayer;
use tower::{ServiceExt, service_fn};
use tower_layer::layer_fn;

/// Search for a word.
#[tool(read_only)]
async fn search(
    /// The word.
    word: String,
    /// Maximum number of results.
    #[arg(default = 1)]
    limit: u8,
    place: State<String>,
) -> String {
    format!("{word} {limit} in {}", *place)
}

/// Fail with an internal error.
#[tool]
async fn fall() {
    panic!("fallen")
}

/// Wait for an hour.
#[tool(timeout = "1s")]
async fn wait() -> &'static str {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    "waited"
}

/// Count the calls.
#[tool]
async fn count(count: SessionState<u32>) -> u32 {
    *count.lock() += 1;
    *count.lock()
}

/// Builds a registry with all of these tools.
fn files() -> ToolRegistry {
    let mut files = ToolRegistry::new().with_state("files".to_owned());
    files.register_all(tool_set![search, fall, wait, count]).unwrap();
    files
}

fn nested(registry: ToolRegistry) -> ToolRegistry {
    let mut outer = ToolRegistry::new().with_state("the outer registry".to_owned());
    outer
        .register::<search>()
        .unwrap()
        .nest("files", registry)
        .unwrap();
    outer
}

type Log = Arc<Mutex<Vec<String>>>;

/// Builds a registry in a layer that records the names of calls, before and after them.
fn watched(registry: ToolRegistry, who: &'static str, log: &Log) -> ToolRegistry {
    let log = Arc::clone(log);
    registry.layer(layer_fn(move |inner: ToolService| {
        let log = Arc::clone(&log);
        service_fn(move |call: ToolCall| {
            let (inner, log) = (inner.clone(), Arc::clone(&log));
            async move {
                let request = call.prepare().unwrap();
                let definition = call.definition().map(|definition| definition.name.clone());
                log.lock().unwrap().push(format!(
                    "{who}: {} {} {definition:?} {}",
                    call.name,
                    call.qualified_name(),
                    request.arguments_json,
                ));
                assert_eq!(request.name, call.name);
                let outcome = inner.oneshot(call).await;
                log.lock().unwrap().push(format!("{who} again"));
                outcome
            }
        })
    }))
}

#[tokio::test]
async fn nested_tools_keep_their_state_and_have_a_prefix() {
    let registry = nested(files());
    let names: Vec<_> = registry
        .tool_definitions()
        .iter()
        .map(|tool| &*tool.name)
        .collect();
    assert_eq!(
        names,
        [
            "search",
            "files__search",
            "files__fall",
            "files__wait",
            "files__count"
        ]
    );
    run_in(&registry, "search", r#"{ "word": "tea" }"#)
        .await
        .assert_text("tea 1 in the outer registry");
    run_in(&registry, "files__search", r#"{ "word": "tea" }"#)
        .await
        .assert_text("tea 1 in files");
    let calls = ["search", "files__search"].map(|name| ToolCall::new("1", name, r#"{ "word": "tea" }"#));
    let outcomes = registry.execute_all(calls).await;
    assert_eq!(outcomes[1].result.text(), Some("tea 1 in files"));
    assert!(registry.execute_tool("1", "files__", "{}").await.is_error);
    assert!(registry.get_tool("files__count").unwrap().uses_session_state());
}

#[test]
fn nested_tools_keep_their_definitions() {
    let text = |registry: &ToolRegistry| serde_json::to_string(&registry.tool_definitions()).unwrap();
    let first = text(&nested(files()));
    for _ in 0..20 {
        assert_eq!(text(&nested(files())), first);
    }
    let mut alone = ToolRegistry::new();
    alone.nest("files", files()).unwrap();
    let renamed = text(&files()).replace(r#""name":""#, r#""name":"files__"#);
    assert_eq!(text(&alone), renamed);
}

#[tokio::test]
async fn layers_of_a_nested_registry_run_inside_and_know_its_names() {
    let log = Log::default();
    let inner = watched(watched(files(), "inner", &log), "middle", &log);
    let registry = watched(nested(inner), "outer", &log);
    let outcome = run_in(&registry, "files__search", r#"{ "word": "tea", "limit": "2" }"#).await;
    outcome
        .assert_text("tea 2 in files")
        .assert_warnings(["string_literal_converted_to_integer at /limit"]);
    let arguments = r#"{"word":"tea","limit":2}"#;
    assert_eq!(
        *log.lock().unwrap(),
        [
            &*format!(r#"outer: files__search files__search Some("files__search") {arguments}"#),
            &*format!(r#"middle: search files__search Some("search") {arguments}"#),
            &*format!(r#"inner: search files__search Some("search") {arguments}"#),
            "inner again",
            "middle again",
            "outer again",
        ],
    );
    log.lock().unwrap().clear();
    run_in(&registry, "search", r#"{ "word": "tea" }"#)
        .await
        .assert_no_warnings();
    assert_eq!(log.lock().unwrap().len(), 2, "only the outer layer");
}

#[tokio::test]
async fn calls_use_policies_and_settings_of_the_nested_registry() {
    let registry = nested(files().with_policy(Policy::Strict)).with_warnings_in_results(true);
    let sloppy = r#"{ "word": "tea", "limit": "2" }"#;
    let request = registry.prepare(ToolCall::new("1", "files__search", sloppy));
    assert_eq!((&*request.name, request.errors.len()), ("files__search", 1));
    assert_eq!(request.argument("word"), Some(&json!("tea")));
    run_in(&registry, "files__search", sloppy)
        .await
        .assert_refused(["unsupported_integer_literal at /limit"]);
    run_in(&registry, "search", sloppy)
        .await
        .assert_notes(["Note on the arguments of this call:\n\
        - string_literal_converted_to_integer at /limit: \"2\" was read as 2"]);
    let call = ToolCall::new("1", "files__search", sloppy).with_policy(Policy::Lenient);
    run_call(&registry, call)
        .await
        .assert_text("tea 2 in files")
        .assert_notes([]);
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_nested_registry_are_changed_by_their_full_names() {
    let original = files();
    let mut registry = nested(original.clone());
    registry
        .set_policy("files__search", Policy::Strict)
        .unwrap()
        .set_timeout("files__wait", Duration::from_secs(7200))
        .unwrap();
    run_in(&registry, "files__search", r#"{ "word": 1 }"#)
        .await
        .assert_refused(["unsupported_string_literal at /word"]);
    run_in(&registry, "files__wait", "{}").await.assert_text("waited");
    assert_eq!(
        registry.get_tool("files__search").unwrap().policy(),
        Some(Policy::Strict)
    );
    run_in(&original, "search", r#"{ "word": 1 }"#)
        .await
        .assert_text("1 1 in files");
    assert!(run_in(&original, "wait", "{}").await.result.is_error);
    assert_eq!(original.get_tool("search").unwrap().definition().name, "search");

    assert_eq!(registry.unregister("files__wait").unwrap().name, "files__wait");
    assert_eq!(
        run_in(&registry, "files__wait", "{}").await.failure,
        Some(Failure::NotFound)
    );
    assert!(registry.set_policy("files__wait", Policy::Strict).is_err());
}

#[tokio::test(start_paused = true)]
async fn texts_for_the_model_have_the_full_name() {
    let inner = files().layer(Permission::new(async |_| Decision::Interrupt));
    let mut registry = nested(files());
    registry.nest("asked", inner).unwrap();
    for (name, expected) in [
        (
            "files__search",
            "`files__search` was not called because of invalid arguments:\n\
             - missing_required:word at /word: missing required parameter; expected a string",
        ),
        (
            "files__fall",
            "the tool `files__fall` failed with an internal error; other calls are not affected",
        ),
        (
            "files__wait",
            "the tool `files__wait` timed out and was stopped; ask for less, or try again later",
        ),
        (
            "asked__fall",
            "`asked__fall` was not called because approval is needed; ask the user to approve it",
        ),
    ] {
        run_in(&registry, name, "{}").await.assert_error(expected);
    }
    let late =
        ToolCall::new("1", "files__fall", "{}").with_context(Context::new().with_timeout(Duration::ZERO));
    run_call(&registry, late)
        .await
        .assert_error("the call timed out before `files__fall` started; it did not run, try again later");
}

#[tokio::test(start_paused = true)]
async fn a_nested_layer_that_hangs_is_stopped_with_the_full_name() {
    let hangs =
        layer_fn(|_: ToolService| service_fn(|_: ToolCall| std::future::pending::<Result<_, BoxError>>()));
    let log = Log::default();
    for registry in [
        nested(files().layer(hangs)),
        watched(nested(files().layer(hangs)), "outer", &log),
    ] {
        let context = Context::new().with_timeout(Duration::from_secs(3600));
        let call = ToolCall::new("toolu_1", "files__count", "{}").with_context(context);
        let outcome = run_call(&registry, call).await;
        let outcome = outcome
            .assert_error("the call timed out before it reached `files__count`; try again later")
            .into_outcome();
        assert_eq!(
            (&*outcome.result.tool_use_id, outcome.failure),
            ("toolu_1", Some(Failure::TimedOut))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_nested_decision_does_not_count_in_outer_layers() {
    let hour = Duration::from_secs(3600);
    let slow = Permission::new(move |_| async move {
        tokio::time::sleep(3 * hour).await;
        Decision::Allow
    });
    let log = Log::default();
    let inner = watched(files().layer(slow), "inner", &log);
    let middle = watched(nested(inner), "middle", &log);
    let registry = watched(nested(middle), "outer", &log);
    let context = Context::new().with_timeout(hour);
    let call = ToolCall::new("1", "files__files__count", "{}").with_context(context);
    run_call(&registry, call).await.assert_text("1");
}

#[tokio::test]
async fn nested_in_nested_has_both_prefixes() {
    let mut middle = ToolRegistry::new();
    middle.nest("docs", files()).unwrap();
    let mut registry = ToolRegistry::new();
    registry
        .nest("work", middle.clone())
        .unwrap()
        .nest("home", middle.clone())
        .unwrap();
    run_in(&registry, "home__docs__search", r#"{ "word": "tea" }"#)
        .await
        .assert_text("tea 1 in files");
    run_in(&registry, "home__docs__fall", "{}").await.assert_error(
        "the tool `home__docs__fall` failed with an internal error; other calls are not affected",
    );
    run_in(&middle, "docs__fall", "{}")
        .await
        .assert_error("the tool `docs__fall` failed with an internal error; other calls are not affected");
    let request = registry.prepare(ToolCall::new("1", "work__docs__search", "{}"));
    assert_eq!((&*request.name, request.errors.len()), ("work__docs__search", 1));
    registry.set_policy("work__docs__search", Policy::Strict).unwrap();
    for (name, is_refused) in [("work__docs__search", true), ("home__docs__search", false)] {
        assert_eq!(
            run_in(&registry, name, r#"{ "word": 1 }"#).await.result.is_error,
            is_refused
        );
    }
}

/// A layer that calls another tool of its registry instead.
#[tokio::test]
async fn nested_layers_call_only_the_registered_tools() {
    let redirects = layer_fn(|inner: ToolService| {
        service_fn(move |_: ToolCall| inner.clone().oneshot(ToolCall::new("new", "count", "{}")))
    });
    let registry = nested(files().layer(redirects));
    run_in(&registry, "files__fall", "{}").await.assert_text("1");
    let subset = registry.subset(["files__fall", "search"]);
    let outcome = run_in(&subset, "files__fall", "{}").await;
    assert_eq!(outcome.failure, Some(Failure::NotFound));
    outcome.assert_notes(["available tools: `files__fall`"]);
    run_in(&registry, "files__fall", "{}").await.assert_text("2");
}

#[tokio::test]
async fn each_registry_keeps_its_values_of_a_session() {
    let mut registry = ToolRegistry::new();
    registry
        .register::<count>()
        .unwrap()
        .nest("files", files())
        .unwrap();
    let in_session =
        |name: &str| ToolCall::new("1", name, "{}").with_context(Context::new().with_session("s"));
    run_call(&registry, in_session("count")).await.assert_text("1");
    run_call(&registry, in_session("files__count"))
        .await
        .assert_text("1");
    run_call(&registry, in_session("files__count"))
        .await
        .assert_text("2");
    let own = registry.remove_session(Some("s")).unwrap();
    assert_eq!(*own.get::<u32>().unwrap().lock(), 1);
    run_call(&registry, in_session("files__count"))
        .await
        .assert_text("1");

    let context = Context::new().with_session_values(tool_runtime::SessionValues::new());
    for (name, expected) in [("count", "1"), ("files__count", "2")] {
        let call = ToolCall::new("1", name, "{}").with_context(context.clone());
        run_call(&registry, call).await.assert_text(expected);
    }
}

#[test]
fn rejects_invalid_prefixes_and_stays_unchanged() {
    let mut registry = nested(files());
    let definitions = serde_json::to_string(&registry.tool_definitions()).unwrap();
    let mut taken = ToolRegistry::new();
    taken
        .register::<fall>()
        .unwrap()
        .register_dynamic(
            ToolDefinition::new("s__x", "", json!({ "type": "object" })),
            async |_, _| "",
        )
        .unwrap();
    let long = "x".repeat(57);
    for (prefix, expected) in [
        (
            "files",
            "a tool named `files__fall` is already registered; give one of the two another `name`, or a prefix".to_owned(),
        ),
        (
            "",
            "no registry can be nested as ``: it is empty; expected a-z, A-Z, 0-9, `_` and `-`".to_owned(),
        ),
        (
            "fi les",
            "no registry can be nested as `fi les`: ' ' is not allowed; expected a-z, A-Z, 0-9, `_` and `-`"
                .to_owned(),
        ),
    ] {
        let error = registry.nest(prefix, taken.clone()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(
            serde_json::to_string(&registry.tool_definitions()).unwrap(),
            definitions
        );
    }
    assert!(registry.clone().nest(&long, taken.clone()).is_ok());
    // A name that is too long with the prefix is cut.
    let mut outer = ToolRegistry::new();
    outer.nest(&format!("{long}xx"), taken.clone()).unwrap();
    assert!(names(&outer).contains(&cut(&format!("{long}xx__fall"), "fall").as_str()));
    // An equal name in another registry.
    registry.nest("file", taken).unwrap();
    let mut other = ToolRegistry::new();
    other
        .register_dynamic(
            ToolDefinition::new("x", "", json!({ "type": "object" })),
            async |_, _| "",
        )
        .unwrap();
    let error = registry.nest("file__s", other).unwrap_err();
    assert!(
        matches!(&error, RegistryError::Duplicate { tool } if tool == "file__s__x"),
        "{error}"
    );
}

fn listed<const N: usize>(names: [&str; N]) -> [ToolDefinition; N] {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    names.map(|name| ToolDefinition::new(name, "Listed.", schema.clone()))
}

#[tokio::test]
async fn a_source_is_called_by_its_own_names() {
    let mut source = ToolRegistry::new();
    source
        .register_source(
            listed(["files.read", "files/remove", "plain"]),
            async |name, arguments, _| format!("{name} {arguments}"),
        )
        .unwrap();
    let names: Vec<_> = source.tool_definitions().iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["files_read", "files_remove", "plain"]);
    for (name, expected) in [
        ("files_read", r#"files.read {"path":"7"}"#),
        ("files_remove", r#"files/remove {"path":"7"}"#),
        ("plain", r#"plain {"path":"7"}"#),
    ] {
        run_in(&source, name, r#"{ "path": 7 }"#)
            .await
            .assert_text(expected)
            .assert_warnings(["number_coerced_to_string at /path"]);
    }
    run_in(&source, "files.read", "{}")
        .await
        .assert_error("Tool 'files.read' not found")
        .assert_notes(["available tools: `files_read`, `files_remove`, `plain`"]);
    let mut registry = ToolRegistry::new();
    registry.nest("here", source).unwrap();
    run_in(&registry, "here__files_read", "{}")
        .await
        .assert_text("files.read {}");
}

/// Returns a name with the suffix of a source's name.
fn cut(name: &str, own: &str) -> String {
    let digits = blake3::hash(own.as_bytes()).to_hex();
    format!("{}_{}", &name[..name.len().min(55)], &digits[..8])
}

#[tokio::test]
async fn names_of_a_source_are_unique_and_short() {
    let long = "x.".repeat(33);
    let own = ["a.b", "读取", &long, "a_b", "a/b"];
    let mut registry = ToolRegistry::new();
    registry
        .register_source(listed(own), async |name, _, _| name)
        .unwrap();
    let expected = [
        cut("a_b", "a.b"),
        cut("t", "读取"),
        cut(&"x_".repeat(33), &long),
        "a_b".to_owned(),
        cut("a_b", "a/b"),
    ];
    assert_eq!(names(&registry), expected);
    for (name, own) in expected.iter().zip(own) {
        run_in(&registry, name, "{}").await.assert_text(own);
        assert_eq!(registry.get_tool(name).unwrap().source_name(), own);
    }

    // The suffix of a long name stays that of the source's name, however deep the tool is nested.
    let (mut middle, mut outer) = (ToolRegistry::new(), ToolRegistry::new());
    middle.nest("middle", registry).unwrap();
    outer.nest("outer", middle).unwrap();
    let name = cut(&format!("outer__middle__{}", "x_".repeat(33)), &long);
    run_in(&outer, &name, "{}").await.assert_text(&long);
    assert_eq!(outer.get_tool(&name).unwrap().source_name(), long);
    let failed = outer.execute_tool("1", &name, "[1]").await;
    assert!(
        failed
            .text()
            .unwrap()
            .starts_with(&format!("`{name}` was not called")),
        "{failed:?}"
    );
    let call = "outer__middle__a_b";
    run_in(&outer, call, "{}").await.assert_text("a_b");
}

#[test]
fn duplicate_and_empty_names_of_a_source_are_errors() {
    let mut registry = ToolRegistry::new();
    let mut refused = |names: [&str; 2]| {
        let error = registry
            .register_source(listed(names), async |_, _, _| "")
            .unwrap_err();
        assert!(registry.tool_definitions().is_empty());
        error.to_string()
    };
    for names in [["a.b", "a.b"], ["a_b", "a_b"]] {
        assert_eq!(
            refused(names),
            "a tool named `a_b` is already registered; give one of the two another `name`, or a prefix"
        );
    }
    assert_eq!(
        refused(["a", ""]),
        "invalid tool name ``: it is empty; expected 1 to 64 of a-z, A-Z, 0-9, `_` and `-`"
    );
}

fn names(registry: &ToolRegistry) -> Vec<&str> {
    let definitions = registry.tool_definitions().into_iter();
    definitions.map(|definition| &*definition.name).collect()
}

#[tokio::test]
async fn merged_tools_keep_their_names_states_and_layers() {
    let log = Log::default();
    let mut registry = ToolRegistry::new()
        .with_state("the outer registry".to_owned())
        .with_tools(tool_set![wait])
        .unwrap();
    let mut merged = files();
    merged.unregister("wait");
    registry.merge(watched(merged, "files", &log)).unwrap();
    assert_eq!(names(&registry), ["wait", "search", "fall", "count"]);
    run_in(&registry, "search", r#"{ "word": "tea" }"#)
        .await
        .assert_text("tea 1 in files");
    assert_eq!(
        log.lock().unwrap()[0],
        r#"files: search search Some("search") {"word":"tea"}"#
    );
    // The layers of the nested registry do not apply to other tools.
    log.lock().unwrap().clear();
    assert_eq!(
        registry.execute_tool("1", "wait", "{}").await.text(),
        Some("the tool `wait` timed out and was stopped; ask for less, or try again later")
    );
    assert!(log.lock().unwrap().is_empty());
    // Nested as a whole.
    let mut outer = ToolRegistry::new();
    outer.nest("shop", registry).unwrap();
    let result = outer.execute_tool("1", "shop__fall", "{}").await;
    assert_eq!(
        result.text(),
        Some("the tool `shop__fall` failed with an internal error; other calls are not affected")
    );
}

#[tokio::test]
async fn merging_a_duplicate_name_changes_nothing() {
    let mut registry = files();
    let mut other = ToolRegistry::new().with_state(String::new());
    other.register::<look_at>().unwrap().register::<search>().unwrap();
    let error = registry.merge(other).unwrap_err();
    assert!(matches!(error, RegistryError::Duplicate { tool } if tool == "search"));
    assert_eq!(names(&registry), ["search", "fall", "wait", "count"]);
}

/// Look around.
#[tool]
async fn look_at() -> &'static str {
    "seen"
}

/// Builds a layer that records its calls.
fn noting(
    who: &'static str,
    log: &Log,
) -> MapRequestLayer<impl Fn(ToolCall) -> ToolCall + Clone + Send + Sync + use<>> {
    let log = Arc::clone(log);
    MapRequestLayer::new(move |call: ToolCall| {
        log.lock()
            .unwrap()
            .push(format!("{who} {}", call.qualified_name()));
        call
    })
}

#[tokio::test]
async fn layer_of_one_tool_is_inside_of_the_layers_of_the_registry() {
    let log = Log::default();
    let mut registry = files().layer(noting("all", &log));
    registry
        .layer_tool("search", noting("first", &log))
        .unwrap()
        .layer_tool("search", noting("second", &log))
        .unwrap();
    assert_eq!(names(&registry), ["search", "fall", "wait", "count"]);
    let seen = || std::mem::take(&mut *log.lock().unwrap());
    run_in(&registry, "search", r#"{ "word": "tea" }"#)
        .await
        .assert_text("tea 1 in files");
    assert_eq!(seen(), ["all search", "second search", "first search"]);
    registry.execute_tool("1", "fall", "{}").await;
    assert_eq!(seen(), ["all fall"]);
    // A tool of a nested registry.
    let mut outer = ToolRegistry::new();
    outer.nest("files", registry).unwrap();
    outer.layer_tool("files__fall", noting("outer", &log)).unwrap();
    outer.execute_tool("1", "files__fall", "{}").await;
    assert_eq!(seen(), ["outer files__fall", "all files__fall"]);
    outer
        .execute_tool("1", "files__search", r#"{ "word": "tea" }"#)
        .await;
    assert_eq!(
        seen(),
        ["all files__search", "second files__search", "first files__search"]
    );
    let error = outer.layer_tool("search", noting("none", &log)).unwrap_err();
    assert!(matches!(error, RegistryError::NotRegistered { tool } if tool == "search"));
}

#[tokio::test]
async fn tool_with_a_layer_shares_sessions_and_settings() {
    let log = Log::default();
    let mut registry = files().with_policy(Policy::Strict);
    registry.register_all(tool_set![look_at]).unwrap();
    registry
        .layer_tool("count", noting("count", &log))
        .unwrap()
        .layer_tool("search", noting("search", &log))
        .unwrap();
    let call = |name: &str, input: &str| {
        ToolCall::new("1", name, input).with_context(Context::new().with_session("s"))
    };
    for expected in ["1", "2"] {
        assert_eq!(
            registry.call(call("count", "{}")).await.result.text(),
            Some(expected)
        );
    }
    let search = || call("search", r#"{ "word": "tea", "limit": "2" }"#);
    assert_eq!(
        registry.call(search()).await.failure,
        Some(Failure::InvalidArguments)
    );
    registry.set_policy("search", Policy::Lenient).unwrap();
    assert_eq!(
        registry.call(search()).await.result.text(),
        Some("tea 2 in files")
    );
    let values = registry.remove_session(Some("s")).unwrap();
    assert_eq!(*values.get::<u32>().unwrap().lock(), 2);
    assert!(registry.remove_session(Some("s")).is_none());
    assert_eq!(names(&registry.subset(["count"])), ["count"]);
    assert!(registry.unregister("count").is_some());
    let outcome = registry.call(call("count", "{}")).await;
    assert_eq!(outcome.failure, Some(Failure::NotFound));
}

/// Returns the name by which the model calls this tool.
#[tool]
async fn own_name(context: Context) -> String {
    context.tool_name().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_context_of_a_call_has_the_name_that_the_model_knows() {
    assert_eq!(Context::new().tool_name(), None);
    let mut inner = ToolRegistry::new();
    inner.register::<own_name>().unwrap();
    inner
        .register_source(listed(["a.b"]), async |_, _, context: Context| {
            context.tool_name().unwrap_or_default().to_owned()
        })
        .unwrap();
    let (mut middle, mut outer) = (ToolRegistry::new(), ToolRegistry::new());
    middle.nest("middle", inner.clone()).unwrap();
    outer.nest("outer", middle.clone()).unwrap();
    for registry in [inner, middle, outer] {
        for name in names(&registry) {
            run_in(&registry, name, "{}").await.assert_text(name);
        }
    }
}
