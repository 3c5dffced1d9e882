//! Values of a session as parameters: their sessions, and their storage.

use std::collections::HashMap;
use std::sync::Barrier;

use tool_runtime::serde::{Deserialize, Serialize, Serializer};
use tool_runtime::serde_json::{Map, Value, json};
use tool_runtime::session_values::SessionValueError;
use tool_runtime::{
    Context, SessionState, SessionStateStore, SessionValues, ToolCall, ToolDefinition, ToolRegistry, tool,
    tool_set,
};

/// Number of counts.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Count {
    times: u32,
}

/// Key of the stored count.
const COUNT: &str = concat!(module_path!(), "::Count");

/// Increment the counter.
#[tool]
async fn count(
    /// Step of the count.
    #[arg(default = 1)]
    by: u32,
    count: SessionState<Count>,
) -> u32 {
    let mut count = count.lock();
    count.times += by;
    count.times
}

/// Count a call and panic.
#[tool]
async fn break_down(count: SessionState<Count>) {
    let mut count = count.lock();
    count.times += 1;
    panic!("with the lock held");
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register_all(tool_set![count, break_down]).unwrap();
    registry
}

fn in_session(session: &str) -> Context {
    Context::new().with_session(session)
}

async fn call(registry: &ToolRegistry, name: &str, context: Context) -> String {
    let call = ToolCall::new("toolu_01", name, "{}").with_context(context);
    let outcome = registry.call(call).await;
    outcome.result.text().unwrap_or_default().to_owned()
}

fn times(values: &SessionValues) -> u32 {
    values.get::<Count>().unwrap().lock().times
}

#[tokio::test]
async fn each_session_has_its_own_value() {
    let registry = registry();
    assert_eq!(call(&registry, "count", in_session("a")).await, "1");
    assert_eq!(call(&registry, "count", in_session("b")).await, "1");
    assert_eq!(call(&registry, "count", in_session("a")).await, "2");
    assert_eq!(times(&registry.session_values(Some("a"))), 2);
    assert_eq!(times(&registry.session_values(Some("b"))), 1);
}

#[tokio::test]
async fn calls_without_a_session_share_one_value() {
    let registry = registry();
    registry.execute_tool("toolu_01", "count", "{}").await;
    assert_eq!(call(&registry, "count", Context::new()).await, "2");
    assert_eq!(times(&registry.session_values(None)), 2);
    // An empty name is a name.
    assert_eq!(times(&registry.session_values(Some(""))), 0);
}

#[tokio::test]
async fn clones_and_subsets_share_sessions() {
    let registry = registry();
    let (same, subset) = (registry.clone(), registry.subset(["count"]));
    assert_eq!(call(&registry, "count", in_session("a")).await, "1");
    assert_eq!(call(&same, "count", in_session("a")).await, "2");
    assert_eq!(call(&subset, "count", in_session("a")).await, "3");
    assert_eq!(
        call(&self::registry(), "count", in_session("a")).await,
        "1",
        "another registry"
    );
}

#[tokio::test]
async fn removed_sessions_start_again() {
    let registry = registry();
    call(&registry, "count", in_session("a")).await;
    let removed = registry.remove_session(Some("a")).unwrap();
    assert_eq!(times(&removed), 1);
    assert!(registry.remove_session(Some("a")).is_none());
    assert_eq!(call(&registry, "count", in_session("a")).await, "1");
    call(&registry, "count", Context::new()).await;
    assert_eq!(times(&registry.remove_session(None).unwrap()), 1);
    assert_eq!(times(&registry.session_values(None)), 0);
}

#[tokio::test]
async fn values_of_the_context_override_values_of_the_registry() {
    let registry = registry();
    let stored = Map::from_iter([(COUNT.to_owned(), json!({ "times": 41 }))]);
    let values = SessionValues::from_json(stored);
    let context = in_session("a").with_session_values(values.clone());
    assert_eq!(call(&registry, "count", context).await, "42");
    assert_eq!(values.to_json().unwrap()[COUNT], json!({ "times": 42 }));
    assert!(registry.remove_session(Some("a")).is_none());
}

/// All sessions have one name.
struct ByTenant(SessionValues);

impl SessionStateStore for ByTenant {
    fn values(&self, session: Option<&str>) -> SessionValues {
        assert!(session.unwrap().starts_with("tenant-1/"));
        self.0.clone()
    }

    fn remove(&self, _: Option<&str>) -> Option<SessionValues> {
        None
    }
}

#[tokio::test]
async fn the_host_can_supply_the_store() {
    let registry = registry().with_session_store(ByTenant(SessionValues::new()));
    call(&registry, "count", in_session("tenant-1/a")).await;
    assert_eq!(
        call(&registry.clone(), "count", in_session("tenant-1/b")).await,
        "2"
    );
}

/// Values of unknown types belong to another process.
#[test]
fn unknown_values_are_kept() {
    let stored = Map::from_iter([
        ("other::Type".to_owned(), json!([1, { "a": null }])),
        (COUNT.to_owned(), json!({ "times": 1 })),
    ]);
    let values = SessionValues::from_json(stored.clone());
    assert_eq!(values.to_json().unwrap(), stored);
    assert_eq!(times(&values), 1);
    assert_eq!(values.to_json().unwrap(), stored);
}

#[test]
fn mismatched_values_stay_unchanged() {
    let stored = Map::from_iter([(COUNT.to_owned(), json!({ "times": "many" }))]);
    let values = SessionValues::from_json(stored.clone());
    let error = values.get::<Count>().unwrap_err();
    assert!(matches!(error, SessionValueError::Invalid { type_name, .. } if type_name == COUNT));
    assert_eq!(values.to_json().unwrap(), stored);
}

/// JSON does not support such keys.
#[derive(Default, Serialize, Deserialize)]
struct Grid(HashMap<(u8, u8), u8>);

#[test]
fn values_that_are_not_json_are_errors() {
    let values = SessionValues::new();
    values.get::<Grid>().unwrap().lock().0.insert((1, 2), 3);
    assert_eq!(
        values.to_json().unwrap_err().to_string(),
        "the session state of type `calls::execution::session_state::Grid` cannot be written as JSON: key must be a string; \
         the keys of maps are strings or integers, and integers have at most 64 bits"
    );
}

/// Two versions of a crate have such types.
#[test]
fn two_types_with_one_path_are_errors() {
    let values = SessionValues::new();
    {
        #[derive(Default, Serialize, Deserialize)]
        struct Same(u8);
        values.get::<Same>().unwrap();
    }
    {
        #[derive(Default, Debug, Serialize, Deserialize)]
        struct Same(String);
        let error = values.get::<Same>().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "two types named `{}` are used as session state; give one of them another name",
                std::any::type_name::<Same>()
            )
        );
    }
}

#[tokio::test]
async fn a_panic_with_the_lock_leaves_the_value_usable() {
    let registry = registry();
    let text = call(&registry, "break_down", in_session("a")).await;
    assert!(text.contains("internal error"), "{text}");
    assert_eq!(call(&registry, "count", in_session("a")).await, "2");
    let values = registry.session_values(Some("a"));
    assert_eq!(values.to_json().unwrap()[COUNT]["times"], 2);
}

/// A value whose serialization is slow.
#[derive(Default, Deserialize)]
struct Slow;

static WRITING: Barrier = Barrier::new(2);

impl Serialize for Slow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WRITING.wait();
        WRITING.wait();
        serializer.serialize_unit()
    }
}

/// Otherwise a function that holds one value and requests another would wait for a writer that waits for the function.
#[test]
fn values_can_be_read_while_others_are_written() {
    let values = SessionValues::new();
    values.get::<Slow>().unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| values.to_json().unwrap());
        WRITING.wait();
        assert_eq!(times(&values), 0);
        WRITING.wait();
        assert_eq!(writing.join().unwrap().len(), 1);
    });
}

/// A prepared call is not a call.
#[test]
fn preparing_a_call_starts_no_session() {
    let registry = registry();
    let request = registry.prepare(ToolCall::new("toolu_01", "count", r#"{ "by": "x" }"#));
    assert_eq!(request.errors.len(), 1);
    let request = registry.prepare(ToolCall::new("toolu_01", "count", r#"{ "by": 2 }"#));
    assert!(request.errors.is_empty(), "{:?}", request.errors);
    assert!(registry.remove_session(None).is_none());
}

#[test]
fn definition_omits_session_state() {
    let mut registry = registry();
    let schema = ToolDefinition::new("free", "Free.", json!({ "type": "object" }));
    registry.register_dynamic(schema, async |_, _| "free").unwrap();
    let uses = |name| registry.get_tool(name).unwrap().uses_session_state();
    assert_eq!(
        ["count", "break_down", "free"].map(uses),
        [true, true, false],
        "tools that use session state"
    );
    let definition = registry.get_tool("count").unwrap().definition();
    let properties = definition.input_schema["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["by"]);
    assert_eq!(
        registry.get_tool("break_down").unwrap().definition().input_schema,
        json!({ "type": "object", "properties": {} }) as Value
    );
}
