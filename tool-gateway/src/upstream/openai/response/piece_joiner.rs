//! [`PieceJoiner`]: the text of pieces that may have half a surrogate pair.

use super::content::PieceText;
use crate::wire::delta::{Delta, TextField};
use crate::wire::event::StreamEvent;
use crate::wire::fields::ObjectText;
use crate::wire::half_pairs::{HalfPairs, JoinedEvent};

/// Joins the halves of surrogate pairs in the pieces of a text.
#[derive(Debug, Default)]
pub(super) struct PieceJoiner {
    halves: HalfPairs,
}

impl PieceJoiner {
    /// Returns the text of a piece, after the half at the end of the piece before. A half at the end stays for the next piece.
    pub(super) fn join(&mut self, piece: PieceText<'_>) -> String {
        let delta = match piece {
            PieceText::Plain(text) if self.is_empty() => return text.into_owned(),
            PieceText::Plain(text) => Some(Delta::Text(TextField::Text, text.into_owned())),
            PieceText::Broken(json) => {
                ObjectText::new(&format!(r#"{{"type":"text_delta","text":{json}}}"#)).map(Delta::Other)
            }
        };
        let Some(delta) = delta else {
            return String::new();
        };
        let event = StreamEvent::BlockDelta { index: 0, delta };
        let JoinedEvent { before, event } = self.halves.join(event);
        let mut joined = text(before);
        joined.push_str(&text(Some(event)));
        joined
    }

    /// Ends the text. Returns U+FFFD for a half whose other half is missing.
    pub(super) fn finish(&mut self) -> String {
        text(self.halves.take(0))
    }

    /// Returns whether no half waits for the next piece.
    pub(super) fn is_empty(&self) -> bool {
        self.halves.is_empty()
    }
}

/// Returns the text of an event.
fn text(event: Option<StreamEvent>) -> String {
    match event {
        Some(StreamEvent::BlockDelta {
            delta: Delta::Text(_, text),
            ..
        }) => text,
        _ => String::new(),
    }
}
