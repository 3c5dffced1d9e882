//! [`Event`]: input of the turn machine.

use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// An event of the upstream, of a call, or of the clock.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// An event of the upstream's stream.
    Stream(StreamEvent),
    /// A whole block of a message that is not streamed.
    Block(Block),
    /// A call that was recovered from the text of the message.
    RecoveredCall(Block),
    /// A whole message without calls.
    Message(WholeMessage),
    /// An internal call ended with this `tool_result` block.
    Result { call: usize, result: Block },
    /// An internal call was not permitted, so that the client runs it.
    Interrupted { call: usize },
    /// An internal call was not begun and has no result, or was stopped and may be repeated.
    Stopped { call: usize },
    /// The turn must not begin another round.
    OutOfTime,
}
