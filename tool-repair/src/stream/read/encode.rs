//! Encodes events that a repair adds or changes, by dialect.

use super::dialect::Dialect;
use crate::repairer::Status;
use crate::stream::call::state::StreamState;
use crate::stream::call::step::Address;
use crate::stream::{anthropic, chat, responses};

impl Address {
    /// Appends an event with the rest of a call's arguments, modelled on `last`, the event with its last piece.
    pub(crate) fn encode_rest(&self, rest: &str, last: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Chat(address) => {
                if let Some(event) = chat::encode::rest(address, rest, last) {
                    out.extend_from_slice(event.as_bytes());
                }
            }
            Self::Anthropic => anthropic::encode::rest(rest, last, out),
            // Clients read these arguments from an event that contains all of them.
            Self::Responses { in_pieces: false } => {}
            Self::Responses { in_pieces: true } => responses::encode::rest(rest, last, out),
        }
    }
}

impl Dialect {
    /// Encodes the error that ends a stream; `last` is the event with the last piece of the failed call.
    pub(crate) fn encode_error(self, message: &str, last: &[u8]) -> String {
        match self {
            Self::ChatCompletions => chat::encode::error(message, last),
            Self::Anthropic => anthropic::encode::error(message, last),
            Self::Responses => responses::encode::error(message, last),
        }
    }

    /// Appends an event that was held until the status of its call was known.
    pub(crate) fn encode_held(
        self,
        raw: &[u8],
        status: Option<Status>,
        state: &StreamState,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Responses => responses::encode::held(raw, status, state, out),
            // These streams have no copies of arguments.
            Self::ChatCompletions | Self::Anthropic => out.extend_from_slice(raw),
        }
    }
}
