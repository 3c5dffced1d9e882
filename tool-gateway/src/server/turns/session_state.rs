//! State of a session, which is stored with each turn: the values that tools receive as `SessionState`.

use std::any::type_name;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use tool_runtime::permission::AllowRules;
use tool_runtime::session_values::SessionValueError;
use tool_runtime::{RegisteredTool, SessionValues, ToolRegistry};

use crate::wire::error::ApiError;

/// Values of a session by type path, in the form of [`SessionValues`].
pub(crate) type StateMap = Map<String, Value>;

/// Returns whether calls of this tool run in sequence, in the order of the model.
pub(crate) fn runs_in_order(registry: &ToolRegistry, name: &str) -> bool {
    registry
        .get_tool(name)
        .is_some_and(RegisteredTool::uses_session_state)
}

/// Returns the entry with the rules of permissions, if there are any.
pub(crate) fn allow_rules(values: &SessionValues) -> Option<StateMap> {
    // Without this check, the state of every session would have an empty list.
    if !values.contains::<AllowRules>() {
        return None;
    }
    let rules = values.get::<AllowRules>().ok()?;
    let rules = serde_json::to_value(&*rules.lock()).ok()?;
    Some(Map::from_iter([(type_name::<AllowRules>().to_owned(), rules)]))
}

/// Logs the error of a tool that left an unserializable state. Returns the error that ends the turn, since the next request would begin
/// without this state.
pub(crate) fn not_serializable(tool: &str, error: &SessionValueError) -> ApiError {
    tracing::error!(tool, %error, "the state of the session cannot be stored");
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!(
            "the tool `{tool}` left the session in a state that cannot be stored, so the turn was not stored"
        ),
    )
}
