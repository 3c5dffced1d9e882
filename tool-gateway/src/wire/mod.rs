//! Types of the Messages API as JSON text. Requests, content blocks and stream events keep unknown fields, and unchanged parts keep their
//! bytes.

pub(crate) mod error;
pub(crate) mod walk;
pub(crate) mod object;
pub(crate) mod fields;
pub(crate) mod received_error;
mod surrogates;
pub(crate) mod context_management;
pub(crate) mod block;
pub(crate) mod role;
pub(crate) mod usage;
pub(crate) mod message;
pub(crate) mod request;
pub(crate) mod message_list;
pub(crate) mod caps;
pub(crate) mod delta;
pub(crate) mod block_builder;
pub(crate) mod event;
pub(crate) mod half_pairs;
pub(crate) mod block_order;
pub(crate) mod assembly;
