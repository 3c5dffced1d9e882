//! Lookups in a registry: tools, definitions, states and the values of sessions.

use std::sync::Arc;

use crate::host::session_values::SessionValues;
use crate::host::state::State;
use crate::registry::tool_registry::ToolRegistry;
use crate::tool::entry::RegisteredTool;
use crate::wire::definition::ToolDefinition;

/// Inspecting a registry.
impl ToolRegistry {
    /// Returns the tool with this name.
    pub fn get_tool(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.tool(name).map(Arc::as_ref)
    }

    /// Returns the state that tools take as `State<T>`.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use tool_runtime::ToolRegistry;
    ///
    /// let registry = ToolRegistry::new().with_state(Mutex::new(vec!["milk"]));
    /// let notes = registry.state::<Mutex<Vec<&str>>>().unwrap();
    /// assert_eq!(notes.lock().unwrap().len(), 1);
    /// ```
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.tools.states.get()
    }

    /// Returns the values that tools take as [`SessionState<T>`](crate::SessionState) in calls of a session, or in
    /// calls without a session. Clones and subsets of a registry share the values.
    ///
    /// ```
    /// use tool_runtime::{Context, SessionState, ToolCall, ToolRegistry, tool};
    ///
    /// /// Count.
    /// #[tool]
    /// async fn count(count: SessionState<u32>) {
    ///     *count.lock() += 1;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut registry = ToolRegistry::new();
    /// registry.register::<count>()?;
    /// let call = ToolCall::new("toolu_01", "count", "{}").with_context(Context::new().with_session("s-1"));
    /// registry.call(call).await;
    /// assert_eq!(*registry.session_values(Some("s-1")).get::<u32>()?.lock(), 1);
    /// assert_eq!(*registry.session_values(None).get::<u32>()?.lock(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn session_values(&self, session: Option<&str>) -> SessionValues {
        self.tools.states.sessions.values(session)
    }

    /// Removes the values of a session that has ended, and returns them. Only this method removes values from memory. The
    /// values of [nested](Self::nest) registries are removed, too, but not returned.
    pub fn remove_session(&self, session: Option<&str>) -> Option<SessionValues> {
        self.tools.remove_session(session)
    }

    /// Returns the definitions for the model, in the order of registration.
    pub fn tool_definitions(&self) -> Vec<&ToolDefinition> {
        self.tools.tools().map(RegisteredTool::definition).collect()
    }
}
