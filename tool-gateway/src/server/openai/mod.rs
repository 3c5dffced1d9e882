//! Requests of OpenAI's APIs, which are forwarded. The arguments of calls in their responses are repaired. The entry is [`repairing`].

pub(crate) mod response_repair;
mod completion_text;
pub(crate) mod repairing;
