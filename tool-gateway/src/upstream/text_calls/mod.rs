//! Recovery of tool calls that a server sends as text, from the events of a message. Off by default.
//!
//! [`MessageScan`](message_scan::MessageScan) holds what can be a call in the last text of a message, and decides at the end of the message:
//! the pieces of the text never matter.

// A module uses only modules that are declared before it.
pub(crate) mod rules;
pub(crate) mod counters;
mod request_tools;
pub(crate) mod expected_calls;
pub(crate) mod reader;
mod message_scan;
pub(crate) mod scanned_events;
#[cfg(test)]
pub(crate) mod tests;
