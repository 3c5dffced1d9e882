//! The repair of the tool calls in a stream, as it passes by.

mod escapes;
mod json;
mod payload;
mod record;
mod desk;
mod call;
mod dialect;
mod chat_event;
mod chat;
mod anthropic;
mod responses_event;
mod responses_call;
mod responses;
mod repairer;
mod adapter;

pub use adapter::RepairedStream;
pub use desk::StreamLimits;
pub use dialect::Dialect;
pub use record::RepairRecord;
pub use repairer::StreamRepairer;
