//! The repair of the tool calls in a stream, as it passes by.

mod json;
mod escapes;
mod payload;
mod record;
mod desk;
mod call;
mod dialect;
mod chat_event;
mod chat;
mod repairer;

pub use desk::StreamLimits;
pub use dialect::Dialect;
pub use record::RepairRecord;
pub use repairer::StreamRepairer;
