//! [`Piece`]: a piece of a message's content, which is a string or a list of parts.

use std::borrow::Cow;

use crate::upstream::openai::signature::ReasoningField;
use crate::wire::object::Object;
use crate::wire::walk;

/// A piece of a message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'c> {
    Text(PieceKind, PieceText<'c>),
    /// An item of `reasoning_details`, which the server needs again.
    Detail(&'c str),
}

/// Kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Thinking(ReasoningField),
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
        if let Some(text) = PieceText::from_json(json) {
            self.push_piece(Piece::Text(kind, text));
        }
    }

    fn push_piece(&mut self, piece: Piece<'c>) {
        if self.first.is_none() {
            self.first = Some(piece);
        } else {
            self.others.push(piece);
        }
    }

    /// Adds a text of the model's reasoning.
    pub(super) fn push_thinking(&mut self, field: ReasoningField, json: Option<&'c str>) {
        if let Some(json) = json {
            self.push(PieceKind::Thinking(field), json);
        }
    }

    /// Adds `reasoning_details`, and their texts unless another field has the text.
    pub(super) fn push_details(&mut self, details: &'c str) {
        let has_text = self.first.is_some();
        for json in walk::items(details) {
            let Some(detail) = Object::from_json(json) else {
                continue;
            };
            if !has_text {
                let text = detail.get("text").or_else(|| detail.get("summary"));
                self.push_thinking(ReasoningField::ReasoningDetails, text);
            }
            self.push_piece(Piece::Detail(json));
        }
    }

    /// Adds the content: a string, a part, or a list of parts.
    pub(super) fn push_content(&mut self, content: Option<&'c str>) {
        let Some(content) = content else { return };
        match content.as_bytes().first() {
            Some(b'"') => self.push(PieceKind::Text, content),
            Some(b'{') => self.push_part(content),
            Some(b'[') => {
                let has_thinking = matches!(self.first, Some(Piece::Text(..)));
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
                return self.push_thinking(ReasoningField::Thinking, Some(thinking));
            }
            for text in walk::items(thinking).filter_map(Object::from_json) {
                self.push_thinking(ReasoningField::Content, text.get("text"));
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
