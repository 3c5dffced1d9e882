//! Requests of OpenAI's APIs: forwarded, with the arguments of their calls repaired. The entry is [`repairing`].

pub(crate) mod response_repair;
pub(crate) mod repairing;
