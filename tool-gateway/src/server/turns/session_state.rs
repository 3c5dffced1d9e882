//! The state of a session, which is stored with each turn: the values that tools take as `SessionState`.

use std::any::type_name;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use tool_runtime::permission::AllowRules;
use tool_runtime::session_values::SessionValueError;
use tool_runtime::{RegisteredTool, SessionValues, ToolRegistry};

use crate::wire::error::ApiError;

/// The values of a session by the paths of their types, as [`SessionValues`] writes them.
pub(crate) type StateMap = Map<String, Value>;

/// Whether calls of this tool run one after the other, in the order of the model.
pub(crate) fn runs_in_order(registry: &ToolRegistry, name: &str) -> bool {
    registry
        .get_tool(name)
        .is_some_and(RegisteredTool::uses_session_state)
}

/// Returns the entry of the rules of permissions, if there are any.
pub(crate) fn allow_rules(values: &SessionValues) -> Option<StateMap> {
    // Otherwise the state of every session would have an empty list.
    if !values.contains::<AllowRules>() {
        return None;
    }
    let rules = values.get::<AllowRules>().ok()?;
    let rules = serde_json::to_value(&*rules.lock()).ok()?;
    Some(Map::from_iter([(type_name::<AllowRules>().to_owned(), rules)]))
}

/// Logs the error of a tool that left an unserializable state. Returns the error of the turn, which ends: the next request would begin
/// without the state.
pub(crate) fn not_serializable(tool: &str, error: &SessionValueError) -> ApiError {
    tracing::error!(tool, %error, "the state of the session cannot be stored");
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!(
            "the tool `{tool}` left the session in a state that cannot be stored, so the turn was not stored"
        ),
    )
}
