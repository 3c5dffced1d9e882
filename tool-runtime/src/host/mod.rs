//! Values that the host supplies to a call.

pub mod state;
pub mod context;

use std::cell::OnceCell;
use std::time::Instant;

use crate::host::context::{CancellationToken, Context};
use crate::host::state::States;

/// The supplier of host parameters for one call.
#[derive(Debug)]
pub struct Host<'a> {
    pub(crate) states: &'a States,
    context: &'a Context,
    /// The deadline of this call: the earlier one of the context's and the tool's.
    deadline: Option<Instant>,
    /// The call's own token, created on demand.
    token: OnceCell<CancellationToken>,
}

impl<'a> Host<'a> {
    pub(crate) fn new(states: &'a States, context: &'a Context, deadline: Option<Instant>) -> Self {
        Self {
            states,
            context,
            deadline,
            token: OnceCell::new(),
        }
    }

    /// The call's own token. It is cancelled with the context's, and when the call ends.
    pub(crate) fn token(&self) -> CancellationToken {
        let make = || {
            self.context
                .external_token()
                .map_or_else(CancellationToken::new, CancellationToken::child)
        };
        self.token.get_or_init(make).clone()
    }

    /// The context, with the call's own token and deadline.
    pub(crate) fn context(&self) -> Context {
        let context = self.context.clone().with_cancellation(self.token());
        match self.deadline {
            Some(deadline) => context.with_deadline(deadline),
            None => context,
        }
    }

    /// The token, if a parameter uses it.
    pub(crate) fn take_token(&mut self) -> Option<CancellationToken> {
        self.token.take()
    }
}
