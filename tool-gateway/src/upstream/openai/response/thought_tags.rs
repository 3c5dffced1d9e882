//! [`ThoughtTags`]: divides a text at the tags around the thoughts at its beginning, for servers that leave thoughts in the content.

use super::blocks::BlockKind;
use super::content::PieceText;
use super::piece_joiner::PieceJoiner;
use crate::upstream::openai::signature::ReasoningField;

/// Divides a text that arrives in pieces. The result does not depend on the pieces.
#[derive(Debug, Default)]
pub(super) struct ThoughtTags {
    part: TextPart,
    /// Text that may be, or begin with, a tag.
    held: String,
    /// Length of the white space at the beginning of the held text, which was searched.
    blank: usize,
    halves: PieceJoiner,
}

#[derive(Debug, Clone, Copy, Default)]
enum TextPart {
    /// White space before a tag.
    #[default]
    Beginning,
    Thoughts(ReasoningField),
    Text,
}

/// A piece of thoughts, or of the text after thoughts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DividedPiece<'p> {
    pub(super) kind: BlockKind,
    pub(super) text: PieceText<'p>,
}

impl ThoughtTags {
    /// Takes a piece of the text.
    pub(super) fn push<'p>(&mut self, piece: PieceText<'p>) -> Vec<DividedPiece<'p>> {
        // The usual case after the thoughts.
        if matches!(self.part, TextPart::Text) && self.halves.is_empty() {
            return vec![self.piece(piece)];
        }
        self.held.push_str(&self.halves.join(piece));
        self.divide(false)
    }

    /// Ends the text: no more of it follows.
    pub(super) fn finish(&mut self) -> Vec<DividedPiece<'static>> {
        self.held.push_str(&self.halves.finish());
        self.divide(true)
    }

    fn piece<'p>(&self, text: PieceText<'p>) -> DividedPiece<'p> {
        let kind = match self.part {
            TextPart::Thoughts(field) => BlockKind::Thinking(field),
            TextPart::Beginning | TextPart::Text => BlockKind::Text,
        };
        DividedPiece { kind, text }
    }

    fn divide<'p>(&mut self, is_end: bool) -> Vec<DividedPiece<'p>> {
        let mut pieces = Vec::new();
        loop {
            match self.part {
                TextPart::Beginning => {
                    let text = self.held.get(self.blank..).unwrap_or_default().trim_start();
                    self.blank = self.held.len() - text.len();
                    let tags = || ReasoningField::TAGS.into_iter();
                    if let Some((field, rest)) = tags().find_map(|field| {
                        let rest = text.strip_prefix(field.tags()?.opening)?;
                        Some((field, rest.to_owned()))
                    }) {
                        self.held = rest;
                        self.part = TextPart::Thoughts(field);
                        continue;
                    }
                    let may_begin = tags()
                        .filter_map(ReasoningField::tags)
                        .any(|tags| tags.opening.starts_with(text));
                    if may_begin && !is_end {
                        return pieces;
                    }
                    self.part = TextPart::Text;
                }
                TextPart::Thoughts(field) => {
                    let closing = field.tags().map_or("", |tags| tags.closing);
                    let found = self.held.find(closing);
                    let kept = if is_end { 0 } else { beginning(&self.held, closing) };
                    let end = found.unwrap_or(self.held.len() - kept);
                    self.take(end, &mut pieces);
                    if found.is_none() {
                        return pieces;
                    }
                    self.held.drain(..closing.len());
                    self.part = TextPart::Text;
                }
                TextPart::Text => {
                    self.take(self.held.len(), &mut pieces);
                    return pieces;
                }
            }
        }
    }

    /// Moves the beginning of the held text to the pieces.
    fn take(&mut self, end: usize, pieces: &mut Vec<DividedPiece<'_>>) {
        if end > 0 {
            let text: String = self.held.drain(..end).collect();
            pieces.push(self.piece(PieceText::Plain(text.into())));
        }
    }
}

/// Returns the length of the end of a text that is a beginning of `tag`.
fn beginning(text: &str, tag: &str) -> usize {
    let lengths = (1..tag.len().min(text.len() + 1)).rev();
    let mut lengths = lengths.filter(|length| tag.get(..*length).is_some_and(|start| text.ends_with(start)));
    lengths.next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(pieces: &[&str]) -> [String; 2] {
        let mut tags = ThoughtTags::default();
        let mut all = Vec::new();
        for piece in pieces {
            all.extend(tags.push(PieceText::Plain((*piece).into())));
        }
        all.extend(tags.finish());
        let mut texts = [String::new(), String::new()];
        for DividedPiece { kind, text } in all {
            let PieceText::Plain(text) = text else {
                panic!("{text:?}")
            };
            assert!(kind != BlockKind::Text || text.is_empty() || !pieces.is_empty());
            texts[usize::from(kind == BlockKind::Text)].push_str(&text);
        }
        texts
    }

    #[test]
    fn thoughts_at_the_beginning_are_thinking_at_every_split() {
        for (text, thoughts, rest) in [
            ("<think>\nHm.\n</think>\n\nYes.", "\nHm.\n", "\n\nYes."),
            (" \n<thinking>a</thinking>b", "a", "b"),
            ("<reasoning>a</reasoning>", "a", ""),
            // Another tag closes nothing, and thoughts may not end.
            ("<think>a</thinking></thin k>b", "a</thinking></thin k>b", ""),
            ("<think>a</think></think>b", "a", "</think>b"),
            // Only at the beginning.
            ("Yes. <think>a</think>", "", "Yes. <think>a</think>"),
            ("a</think>b", "", "a</think>b"),
            ("<thin>a", "", "<thin>a"),
            (" \n ", "", " \n "),
            ("<think", "", "<think"),
            ("", "", ""),
        ] {
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let (first, second) = text.split_at(at);
                assert_eq!(
                    divided(&[first, second]),
                    [thoughts, rest],
                    "{first:?} {second:?}"
                );
            }
            let characters: Vec<String> = text.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            assert_eq!(divided(&characters), [thoughts, rest], "{text:?}");
        }
    }

    #[test]
    fn thoughts_leave_as_they_arrive() {
        let mut tags = ThoughtTags::default();
        for (piece, expected) in [
            ("<thi", ""),
            ("nk>Let", "Let"),
            (" me </th", " me "),
            ("at", "</that"),
        ] {
            let pieces = tags.push(PieceText::Plain(piece.into()));
            let text: String = pieces
                .into_iter()
                .map(|piece| match piece.text {
                    PieceText::Plain(text) | PieceText::Broken(text) => text.into_owned(),
                })
                .collect();
            assert_eq!(text, expected);
        }
    }

    /// Returns the thoughts and the text of JSON strings that may have half a surrogate pair.
    fn divided_json(pieces: &[String]) -> [String; 2] {
        let mut tags = ThoughtTags::default();
        let mut halves = PieceJoiner::default();
        let mut all = Vec::new();
        for piece in pieces {
            let piece = match serde_json::from_str::<String>(piece) {
                Ok(text) => PieceText::Plain(text.into()),
                Err(_) => PieceText::Broken(piece.into()),
            };
            all.extend(tags.push(piece));
        }
        all.extend(tags.finish());
        let mut texts = [String::new(), String::new()];
        for DividedPiece { kind, text } in all {
            let is_text = usize::from(kind == BlockKind::Text);
            texts[is_text].push_str(&halves.join(text));
        }
        texts[1].push_str(&halves.finish());
        texts
    }

    #[test]
    fn tags_are_found_at_every_split_of_surrogate_pairs() {
        for (text, thoughts, rest) in [
            (r"<think>hm.</think>Yes \ud83d\ude00 done", "hm.", "Yes 😀 done"),
            (r"<think>a \ud83d\ude00</think>ok", "a 😀", "ok"),
            (r"\ud83d\ude00<think>a", "", "😀<think>a"),
            (r" <think>\ud83d\ude00", "😀", ""),
            (r"<thi\ud83d\ude00", "", "<thi😀"),
            (r"<think>\ud83d</think>\ude00", "\u{fffd}", "\u{fffd}"),
        ] {
            // Escapes stay whole.
            let is_boundary = |at: usize| {
                (1..6).all(|back| {
                    let escape = at.checked_sub(back).and_then(|start| text.get(start..));
                    !escape.is_some_and(|escape| escape.starts_with('\\'))
                })
            };
            for first in (0..=text.len()).filter(|at| is_boundary(*at)) {
                for second in (first..=text.len()).filter(|at| is_boundary(*at)) {
                    let pieces = [&text[..first], &text[first..second], &text[second..]];
                    let pieces = pieces.map(|piece| format!("\"{piece}\""));
                    assert_eq!(divided_json(&pieces), [thoughts, rest], "{pieces:?}");
                }
            }
        }
    }

    /// If each piece were searched together with all white space before, the test would take minutes.
    #[test]
    fn white_space_at_the_beginning_is_searched_once() {
        let mut pieces = vec!["\n"; 200_000];
        pieces.extend(["<think>a", "</think>b"]);
        assert_eq!(divided(&pieces), ["a", "b"]);
    }
}
