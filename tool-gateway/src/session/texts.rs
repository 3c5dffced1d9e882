//! [`Texts`]: texts of an assistant message, compared without their division into blocks. Chat interfaces return two text blocks as one
//! string, and trim texts.

use serde::{Deserialize, Serialize};

use crate::wire::block::BlockText;

/// Returns whether `trim` of JavaScript or `strip` of Python removes a character from the ends of a text.
pub(super) fn is_space(character: char) -> bool {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => is_ascii_space(byte),
        _ => character.is_whitespace() || character == '\u{feff}',
    }
}

const fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=b' ')
}

/// Whether a text without white space has a byte of an ASCII text.
#[allow(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, where `get_mut` is not available"
)]
const IS_KEPT: [bool; 256] = {
    let mut is_kept = [true; 256];
    let mut byte = 0;
    while byte < 128 {
        is_kept[byte as usize] = !is_ascii_space(byte);
        byte += 1;
    }
    is_kept
};

/// Returns a text without its white space. An ASCII text is filtered by bytes, which takes a fifth of the instructions.
pub(super) fn without_space(text: &str) -> String {
    if !text.is_ascii() {
        return text.chars().filter(|character| !is_space(*character)).collect();
    }
    let mut kept = Vec::with_capacity(text.len() + PART);
    let (parts, rest) = text.as_bytes().as_chunks::<PART>();
    let is_kept = |byte: u8| IS_KEPT.get(usize::from(byte)).is_none_or(|is_kept| *is_kept);
    for part in parts {
        // Each byte is written, and the next byte overwrites white space: a branch for each byte takes twice the instructions.
        let (mut buffer, mut length) = ([0; PART], 0);
        for byte in part {
            if let Some(place) = buffer.get_mut(length % PART) {
                *place = *byte;
            }
            length += usize::from(is_kept(*byte));
        }
        let end = kept.len() + length;
        kept.extend_from_slice(&buffer);
        kept.truncate(end);
    }
    kept.extend(rest.iter().copied().filter(|byte| is_kept(*byte)));
    String::from_utf8(kept).unwrap_or_default()
}

/// Number of bytes that are filtered together.
const PART: usize = 16;

/// Texts of a message in order, with the positions at which text blocks begin or end.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    text: String,
    seams: Vec<usize>,
}

impl Texts {
    /// Joins the texts of blocks.
    pub(crate) fn new<'b>(blocks: impl Iterator<Item = BlockText<'b>>) -> Self {
        let mut texts = Self::default();
        for block in blocks {
            let Some(text) = block.text_value() else { continue };
            texts.seams.push(texts.text.len());
            texts.text.push_str(&text);
            texts.seams.push(texts.text.len());
        }
        texts
    }

    /// Returns whether two messages differ only in the division of their texts, and in white space at the ends of texts.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        if self.text == other.text {
            return true;
        }
        let (mut left, mut right) = (Gaps::new(self), Gaps::new(other));
        loop {
            let (left, right) = (left.next_gap(), right.next_gap());
            let is_same = left.has_seam || right.has_seam || left.space == right.space;
            if !is_same || left.before != right.before {
                return false;
            }
            if left.before.is_none() {
                return true;
            }
        }
    }
}

/// Iterator over the white space between the other characters of texts.
struct Gaps<'t> {
    text: &'t str,
    seams: &'t [usize],
    at: usize,
}

/// White space before a character or the end.
struct Gap<'t> {
    space: &'t str,
    /// Whether a text block begins or ends in the white space.
    has_seam: bool,
    /// Next character; `None` at the end.
    before: Option<char>,
}

impl<'t> Gaps<'t> {
    fn new(texts: &'t Texts) -> Self {
        Self {
            text: &texts.text,
            seams: &texts.seams,
            at: 0,
        }
    }

    fn next_gap(&mut self) -> Gap<'t> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let after = rest.trim_start_matches(is_space);
        let space = rest.get(..rest.len() - after.len()).unwrap_or_default();
        let end = self.at + space.len();
        let seams = self.seams.partition_point(|seam| *seam <= end);
        self.seams = self.seams.get(seams..).unwrap_or_default();
        let before = after.chars().next();
        self.at = end + before.map_or(0, char::len_utf8);
        Gap {
            space,
            has_seam: seams > 0,
            before,
        }
    }
}

/// Returns for each sent block the index of the visible block that contains its end. A joined text ends in the last of its visible blocks.
/// The sent and the visible blocks must differ only in the division of their texts.
pub(crate) fn ends_in_visible(sent: &[BlockText<'_>], visible: &[BlockText<'_>]) -> Vec<Option<usize>> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for (index, end) in BlockEnd::from_blocks(visible).into_iter().enumerate() {
        match end {
            BlockEnd::Text { characters } => texts.push((characters, index)),
            BlockEnd::Other { .. } => others.push(index),
        }
    }
    let find = |end| match end {
        BlockEnd::Text { characters } => {
            let after = texts.partition_point(|(other, _)| *other < characters);
            texts.get(after).map(|(_, index)| *index)
        }
        BlockEnd::Other { before } => others.get(before).copied(),
    };
    BlockEnd::from_blocks(sent).into_iter().map(find).collect()
}

/// Position of a block's end in a message, independent of the division of texts.
#[derive(Debug, Clone, Copy)]
enum BlockEnd {
    /// Number of characters of texts up to the end of the block, without white space.
    Text { characters: usize },
    /// Number of other blocks before the block.
    Other { before: usize },
}

impl BlockEnd {
    fn from_blocks(blocks: &[BlockText<'_>]) -> Vec<Self> {
        let (mut characters, mut others) = (0, 0);
        let end = |block: &BlockText<'_>| {
            if let Some(text) = block.text_value() {
                characters += text.chars().filter(|character| !is_space(*character)).count();
                return Self::Text { characters };
            }
            others += 1;
            Self::Other { before: others - 1 }
        };
        blocks.iter().map(end).collect()
    }
}

/// End of the blocks with which a client began an assistant message, independent of the division of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BegunEnd {
    /// Number of characters of texts, without white space.
    characters: usize,
    /// Number of other visible blocks.
    others: usize,
}

/// The blocks of an assistant message that a client began.
pub(crate) struct Divided<'b> {
    /// Blocks of the client.
    pub(crate) begun: Vec<BlockText<'b>>,
    /// Blocks of the model.
    pub(crate) rest: Vec<BlockText<'b>>,
}

impl BegunEnd {
    /// Returns the end of these blocks.
    pub(crate) fn new<'b>(blocks: impl Iterator<Item = BlockText<'b>>) -> Self {
        let mut end = Self {
            characters: 0,
            others: 0,
        };
        for block in blocks.filter(BlockText::is_counted) {
            match block.text_value() {
                Some(text) => end.characters += counted_ends(&text).count(),
                None => end.others += 1,
            }
        }
        end
    }

    /// Divides the blocks of a message at this end. A text that a client joined over the end is divided.
    pub(crate) fn divide<'b>(self, blocks: impl Iterator<Item = BlockText<'b>>) -> Divided<'b> {
        let Self {
            mut characters,
            mut others,
        } = self;
        let mut divided = Divided {
            begun: Vec::new(),
            rest: Vec::new(),
        };
        for block in blocks {
            if characters == 0 && others == 0 {
                divided.rest.push(block);
                continue;
            }
            if !block.is_counted() {
                divided.begun.push(block);
                continue;
            }
            let Some(text) = block.text_value() else {
                others = others.saturating_sub(1);
                divided.begun.push(block);
                continue;
            };
            let (mut counted, mut end) = (0, 0);
            for at in counted_ends(&text).take(characters) {
                (counted, end) = (counted + 1, at);
            }
            characters -= counted;
            let (begun, rest) = text.split_at(end);
            let is_joined = characters == 0 && others == 0 && counted_ends(rest).next().is_some();
            if is_joined {
                divided.begun.push(BlockText::from_text(begun));
                divided.rest.push(block.with_text(rest));
            } else {
                divided.begun.push(block);
            }
        }
        divided
    }
}

/// Returns the ends of the characters that are not white space.
fn counted_ends(text: &str) -> impl Iterator<Item = usize> {
    let characters = text.char_indices();
    let counted = characters.filter(|(_, character)| !is_space(*character));
    counted.map(|(at, character)| at + character.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::block::Block;

    fn blocks(texts: &[&str]) -> Vec<Block> {
        let block = |text: &&str| match *text {
            "|" => Block::new(r#"{"type":"tool_use","id":"a","name":"n","input":{}}"#),
            text => Block::text(text),
        };
        texts.iter().map(block).collect()
    }

    fn joined(blocks: &[Block]) -> Texts {
        Texts::new(blocks.iter().map(Block::borrowed))
    }

    /// Character of a text, or the begin or end of a trimmed text.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Token {
        Seam,
        Char(char),
    }

    fn tokens(texts: &[&str]) -> Vec<Token> {
        let of_text = |text: &&str| {
            let characters: Vec<_> = text.trim().chars().map(Token::Char).collect();
            [vec![Token::Seam], characters, vec![Token::Seam]].concat()
        };
        texts.iter().flat_map(of_text).collect()
    }

    /// Returns whether one string has both forms, if a seam matches any white space.
    fn matches(left: &[Token], right: &[Token]) -> bool {
        match (left, right) {
            ([], []) => true,
            ([Token::Seam, rest @ ..], _) if matches(rest, right) => true,
            (_, [Token::Seam, rest @ ..]) if matches(left, rest) => true,
            ([Token::Seam, ..], [Token::Char(' '), rest @ ..]) => matches(left, rest),
            ([Token::Char(' '), rest @ ..], [Token::Seam, ..]) => matches(rest, right),
            ([Token::Char(left), left_rest @ ..], [Token::Char(right), right_rest @ ..]) => {
                left == right && matches(left_rest, right_rest)
            }
            _ => false,
        }
    }

    /// Returns all divisions of short texts of two characters.
    fn divided_texts() -> Vec<Vec<String>> {
        let mut all = vec![String::new()];
        for _ in 0..5 {
            let longer = all.iter().flat_map(|text| {
                let is_divided = text.is_empty() || text.ends_with('/');
                let next = if is_divided { "a " } else { "a /" };
                next.chars().map(move |character| format!("{text}{character}"))
            });
            let longer: Vec<String> = longer.collect();
            all.extend(longer);
        }
        all.sort();
        all.dedup();
        all.iter()
            .map(|text| text.split('/').map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn equal_texts_differ_only_in_their_division() {
        let all = divided_texts();
        let mut same = 0;
        for left in &all {
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            let left_blocks = blocks(&left);
            for right in &all {
                let right: Vec<&str> = right.iter().map(String::as_str).collect();
                let right_blocks = blocks(&right);
                let is_same = joined(&left_blocks).is_same(&joined(&right_blocks));
                assert_eq!(
                    is_same,
                    matches(&tokens(&left), &tokens(&right)),
                    "{left:?} {right:?}"
                );
                same += usize::from(is_same);
            }
        }
        assert!(same > all.len(), "{same} of {}", all.len());
    }

    #[test]
    fn distinguishes_white_space_inside_of_a_text() {
        let is_same = |left: &[&str], right: &[&str]| joined(&blocks(left)).is_same(&joined(&blocks(right)));
        for same in [
            (&["a", "b"][..], &["ab"][..]),
            (&["a", "b"], &["a\n\nb"]),
            (&["a b"], &["a", "b"]),
            (&["\u{feff}a\n"], &["a"]),
            (&["a", "|", "b"], &["a\n", "|", " b"]),
            (&["é", "\u{1f600}"], &["é \u{1f600}"]),
        ] {
            assert!(is_same(same.0, same.1) && is_same(same.1, same.0), "{same:?}");
        }
        for other in [
            (&["a b"][..], &["ab"][..]),
            (&["a b"], &["a  b"]),
            (&["a", "b c"], &["a b  c"]),
            (&["if x:\n    y"], &["if x:\n  y"]),
            (&["a"], &["a", "b"]),
        ] {
            assert!(
                !is_same(other.0, other.1) && !is_same(other.1, other.0),
                "{other:?}"
            );
        }
    }

    #[test]
    fn divides_begun_messages_in_any_division_of_the_texts() {
        let divided = |begun: &[&str], sent: &[&str]| {
            let (begun, sent) = (blocks(begun), blocks(sent));
            let end = BegunEnd::new(begun.iter().map(Block::borrowed));
            let Divided { begun, rest } = end.divide(sent.iter().map(Block::borrowed));
            [begun, rest].map(|blocks| {
                let text = |block: BlockText<'_>| block.text_value().map_or("|".to_owned(), String::from);
                blocks.into_iter().map(text).collect::<Vec<_>>()
            })
        };
        for (begun, sent, expected) in [
            (&["a "][..], &["a ", "b"][..], [&["a "][..], &["b"]]),
            (&["a"], &["a\n\nb"], [&["a"], &["\n\nb"]]),
            (&["a", "b"], &["ab", "c"], [&["ab"], &["c"]]),
            (&["a b"], &["a bc", "d"], [&["a b"], &["c", "d"]]),
            (&["é"], &["éé"], [&["é"], &["é"]]),
            (&["a", "|"], &["a", "|", "b"], [&["a", "|"], &["b"]]),
            (&["|", "a"], &["|", "ab", "|"], [&["|", "a"], &["b", "|"]]),
            (&[" "], &["b"], [&[], &["b"]]),
            (&[], &["b", "|"], [&[], &["b", "|"]]),
            (&["a"], &["a"], [&["a"], &[]]),
        ] {
            assert_eq!(divided(begun, sent), expected, "{begun:?} {sent:?}");
        }
    }

    #[test]
    fn joined_text_ends_in_its_last_visible_block() {
        let ends = |sent: &[&str], visible: &[&str]| {
            let (sent, visible) = (blocks(sent), blocks(visible));
            let sent: Vec<_> = sent.iter().map(Block::borrowed).collect();
            ends_in_visible(&sent, &visible.iter().map(Block::borrowed).collect::<Vec<_>>())
        };
        assert_eq!(ends(&["a\n\nb"], &["a", "b"]), [Some(1)]);
        assert_eq!(ends(&["a", "b"], &["a", "b"]), [Some(0), Some(1)]);
        assert_eq!(
            ends(&["ab", "|", "c", "d"], &["a", "b", "|", "cd"]),
            [1, 2, 3, 3].map(Some)
        );
        assert_eq!(ends(&["a", " ", "|"], &["a", "|"]), [0, 0, 1].map(Some));
        assert_eq!(ends(&["a", "|"], &["a"]), [Some(0), None]);
    }
}
