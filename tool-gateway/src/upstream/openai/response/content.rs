//! [`Piece`]: a piece of a message's content, which is a string or a list of parts.

use std::borrow::Cow;

use crate::wire::object::Object;
use crate::wire::walk;

/// A piece of a message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'c> {
    pub(super) kind: PieceKind,
    pub(super) text: PieceText<'c>,
}

/// Kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Thinking,
    Text,
    /// A text in which the model refuses.
    Refusal,
}

/// Text of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PieceText<'c> {
    Plain(Cow<'c, str>),
    /// A JSON string with half a surrogate pair, whose other half may be in the next piece.
    Broken(Cow<'c, str>),
}

impl<'c> PieceText<'c> {
    /// Reads a JSON string; `None` for an empty one and for other values.
    fn from_json(json: &'c str) -> Option<Self> {
        if !json.starts_with('"') || json == "\"\"" {
            return None;
        }
        Some(walk::string(json).map_or(Self::Broken(Cow::Borrowed(json)), Self::Plain))
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(text) | Self::Broken(text) => text.len(),
        }
    }

    /// Returns a copy that borrows nothing.
    pub(super) fn into_owned(self) -> PieceText<'static> {
        match self {
            Self::Plain(text) => PieceText::Plain(Cow::Owned(text.into_owned())),
            Self::Broken(text) => PieceText::Broken(Cow::Owned(text.into_owned())),
        }
    }
}

/// Pieces of a message: nearly always one.
#[derive(Debug, Default)]
pub(super) struct ContentPieces<'c> {
    first: Option<Piece<'c>>,
    others: Vec<Piece<'c>>,
}

impl<'c> ContentPieces<'c> {
    fn push(&mut self, kind: PieceKind, json: &'c str) {
        let Some(text) = PieceText::from_json(json) else {
            return;
        };
        let piece = Piece { kind, text };
        if self.first.is_none() {
            self.first = Some(piece);
        } else {
            self.others.push(piece);
        }
    }

    /// Adds a text of the model's reasoning.
    pub(super) fn push_thinking(&mut self, json: Option<&'c str>) {
        if let Some(json) = json {
            self.push(PieceKind::Thinking, json);
        }
    }

    /// Adds the texts of `reasoning_details`.
    pub(super) fn push_details(&mut self, details: Option<&'c str>) {
        for detail in walk::items(details.unwrap_or_default()).filter_map(Object::from_json) {
            let text = detail.get("text").or_else(|| detail.get("summary"));
            self.push_thinking(text);
        }
    }

    /// Adds the content: a string, a part, or a list of parts.
    pub(super) fn push_content(&mut self, content: Option<&'c str>) {
        let Some(content) = content else { return };
        match content.as_bytes().first() {
            Some(b'"') => self.push(PieceKind::Text, content),
            Some(b'{') => self.push_part(content),
            Some(b'[') => {
                let has_thinking = self.first.is_some();
                for part in walk::items(content) {
                    if part.starts_with('"') {
                        self.push(PieceKind::Text, part);
                    } else if !(has_thinking && is_thinking(part)) {
                        self.push_part(part);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a refusal.
    pub(super) fn push_refusal(&mut self, refusal: Option<&'c str>) {
        if let Some(refusal) = refusal {
            self.push(PieceKind::Refusal, refusal);
        }
    }

    fn push_part(&mut self, part: &'c str) {
        let Some(part) = Object::from_json(part) else {
            return;
        };
        if let Some(thinking) = part.get("thinking") {
            // Mistral's parts of thinking are lists of texts.
            if thinking.starts_with('"') {
                return self.push(PieceKind::Thinking, thinking);
            }
            for text in walk::items(thinking).filter_map(Object::from_json) {
                self.push_thinking(text.get("text"));
            }
        } else if let Some(refusal) = part.get("refusal") {
            self.push(PieceKind::Refusal, refusal);
        } else if let Some(text) = part.get("text") {
            self.push(PieceKind::Text, text);
        }
    }

    /// Returns the pieces in their order.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = Piece<'c>> {
        self.first.into_iter().chain(self.others)
    }
}

/// Returns whether a part is one of the model's reasoning.
fn is_thinking(part: &str) -> bool {
    Object::from_json(part).is_some_and(|part| part.get("thinking").is_some())
}
