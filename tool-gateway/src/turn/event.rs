//! [`Event`]: what the turn machine takes.

use crate::wire::block::Block;
use crate::wire::event::StreamEvent;
use crate::wire::message::WholeMessage;

/// What happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// An event of the upstream's stream.
    Stream(StreamEvent),
    /// A whole block of a message that is not streamed.
    Block(Block),
    /// A whole message without calls.
    Message(WholeMessage),
    /// A call of the gateway has its `tool_result` block.
    Result { call: usize, result: Block },
    /// A call of the gateway was not permitted; the client is to run it.
    Interrupted { call: usize },
    /// A call of the gateway was not begun, and no more will come of it; or it was stopped, and may be repeated.
    Stopped { call: usize },
    /// The turn may not begin another round.
    OutOfTime,
}
