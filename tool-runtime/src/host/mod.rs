//! Values that the host supplies to a call.

pub(crate) mod session_state;
pub mod session_values;
pub(crate) mod session_store;
pub mod state;
pub(crate) mod progress;
pub mod context;
pub(crate) mod extension;
#[cfg(feature = "calls")]
pub(crate) mod from_text;

use std::any::type_name;
use std::cell::OnceCell;
use std::fmt;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::context::{CancellationToken, Context};
use crate::host::extension::Extension;
use crate::host::progress::Progress;
use crate::host::session_state::SessionState;
use crate::host::session_values::SessionValueError;
use crate::host::state::{State, States};
use crate::wire::definition::ToolName;

/// The supplier of host parameters for one call.
#[derive(Debug)]
pub struct Host<'a> {
    /// Name by which the model calls the tool.
    tool: &'a ToolName,
    states: &'a States,
    context: &'a Context,
    /// Deadline of this call: the earlier of the context's and the tool's.
    deadline: Option<Instant>,
    /// The call's own token, created on demand.
    token: OnceCell<CancellationToken>,
    /// First parameter without a value, and why.
    error: OnceCell<Box<(&'static str, HostError)>>,
}

impl<'a> Host<'a> {
    pub(crate) fn new(
        tool: &'a ToolName,
        states: &'a States,
        context: &'a Context,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            tool,
            states,
            context,
            deadline,
            token: OnceCell::new(),
            error: OnceCell::new(),
        }
    }

    /// Returns the name by which the model calls the tool.
    pub(crate) fn tool(&self) -> &str {
        self.tool.as_str()
    }

    /// Returns the state of a type.
    pub(crate) fn state<T: Send + Sync + 'static>(&self) -> Result<State<T>, HostError> {
        // Registration checks that the state exists.
        self.states.get().ok_or(HostError::MissingState(type_name::<T>()))
    }

    /// Returns the value of the session, from the context or else from the registry's store.
    pub(crate) fn session_state<T>(&self) -> Result<SessionState<T>, HostError>
    where
        T: Default + Serialize + DeserializeOwned + Send + 'static,
    {
        let value = match self.context.session_values() {
            Some(values) => values.get(),
            None => self.states.sessions.values(self.context.session()).get(),
        };
        value.map_err(HostError::SessionState)
    }

    /// Returns the extension of a type, from the context.
    pub(crate) fn extension<T: Clone + Send + Sync + 'static>(&self) -> Result<Extension<T>, HostError> {
        let value = self.context.extension::<T>().cloned();
        value
            .map(Extension)
            .ok_or(HostError::MissingExtension(type_name::<T>()))
    }

    /// Returns the progress channel of the function.
    pub(crate) fn progress(&self) -> Progress {
        self.context.progress().for_call()
    }

    /// Records that a parameter has no value.
    #[cold]
    pub(crate) fn fail(&self, parameter: &'static str, error: HostError) {
        let _ = self.error.set(Box::new((parameter, error)));
    }

    /// Returns the first parameter without a value, and why.
    pub(crate) fn take_error(&mut self) -> Option<Box<(&'static str, HostError)>> {
        self.error.take()
    }

    /// Returns the call's own token, which is cancelled with the context's token, and when the call ends.
    pub(crate) fn token(&self) -> CancellationToken {
        let make = || {
            self.context
                .external_token()
                .map_or_else(CancellationToken::new, CancellationToken::child)
        };
        self.token.get_or_init(make).clone()
    }

    /// Returns the context, with the name of the tool and the call's own token, deadline and progress.
    pub(crate) fn context(&self) -> Context {
        let context = self.context.clone().with_cancellation(self.token());
        let context = context.with_progress_of_call().with_tool_name(self.tool.clone());
        match self.deadline {
            Some(deadline) => context.with_deadline(deadline),
            None => context,
        }
    }

    /// Returns the token, if a parameter uses it.
    pub(crate) fn take_token(&mut self) -> Option<CancellationToken> {
        self.token.take()
    }
}

/// The reason why the host does not supply a value.
#[derive(Debug)]
pub enum HostError {
    /// The registry has no state of this type.
    MissingState(&'static str),
    /// The value of the session cannot be read.
    SessionState(SessionValueError),
    /// The context has no extension of this type.
    MissingExtension(&'static str),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingState(type_name) => write!(f, "the registry has no `State<{type_name}>`"),
            Self::SessionState(error) => error.fmt(f),
            Self::MissingExtension(type_name) => write!(
                f,
                "the call's context has no `{type_name}`; add it with `Context::with_extension`"
            ),
        }
    }
}
