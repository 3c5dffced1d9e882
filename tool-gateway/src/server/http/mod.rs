//! Routes and their handlers. The entries are [`gateway::Gateway`] and, for a turn, [`messages`].

pub(crate) mod answer;
pub(crate) mod spawn_on_drop;
pub(crate) mod identity;
mod request_turns;
mod known_request;
mod lost_turn;
pub(crate) mod messages;
mod path_ids;
mod account;
#[cfg(feature = "mcp")]
pub(crate) mod mcp_endpoint;
pub(crate) mod routes;
pub(crate) mod running_turns;
pub(crate) mod gateway;
