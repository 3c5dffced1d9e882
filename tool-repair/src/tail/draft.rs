//! The rest as far as it was read, and what it became so far.

use std::borrow::Cow;

use super::super::fixes::{FixCode, Fixes, Reason};
use super::super::limits::Limits;
use super::super::scan::Deviation;
use super::super::stack::Container;
use super::evidence::Evidence;
use super::frame::{Frame, Kind};
use super::literal::{Form, Literal};
use super::mended::Unmended;

/// Everything that is known while the rest is followed. Places in the text are counted from the start of the rest.
pub(super) struct Draft<'t> {
    pub(super) text: &'t str,
    /// What came before the text, as far as it was kept.
    pub(super) sent: Option<&'t str>,
    /// Where the text begins in the whole.
    pub(super) base: usize,
    /// How far the text was read.
    pub(super) at: usize,
    pub(super) out: String,
    pub(super) fixes: Fixes,
    pub(super) evidence: Evidence,
    pub(super) frames: Vec<Frame>,
    pub(super) limits: Limits,
    /// The last string literal.
    pub(super) string: Literal,
    /// Where the value of the whole text begins; `None` if it began before the rest.
    pub(super) root: Option<usize>,
    /// Where the value of the whole text ends.
    pub(super) root_end: usize,
    /// Where the last container without contents ends in the output.
    pub(super) empty: Option<usize>,
    /// Whether text before the root was removed.
    pub(super) prose: bool,
}

impl<'t> Draft<'t> {
    pub(super) fn new(text: &'t str, sent: Option<&'t str>, deviation: &Deviation, limits: Limits) -> Self {
        let frames = deviation.stack.iter().map(|container| Frame {
            kind: match container {
                Container::Array => Kind::Array,
                Container::Object => Kind::Object,
            },
            opened: 0,
            contents: 0,
            comma: false,
            joined: false,
        });
        Self {
            text,
            sent,
            base: deviation.at,
            at: 0,
            out: String::with_capacity(text.len() + text.len() / 16),
            fixes: Fixes::default(),
            evidence: Evidence::default(),
            frames: frames.collect(),
            limits,
            string: Literal::new(Form::JSON, false, deviation.opening_quote),
            root: None,
            root_end: 0,
            empty: None,
            prose: false,
        }
    }

    /// The byte before `at`, if it was kept.
    pub(super) fn before(&self, at: usize) -> Option<u8> {
        match at.checked_sub(1) {
            Some(before) => self.byte_at(before),
            None => self.sent?.bytes().next_back(),
        }
    }

    /// What comes before `at`, backwards, as far as it was kept.
    pub(super) fn backwards(&self, at: usize) -> impl Iterator<Item = char> + use<'t> {
        let sent = self.sent.unwrap_or_default();
        let text = self.text.get(..at).unwrap_or_default();
        text.chars().rev().chain(sent.chars().rev())
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.byte_at(self.at)
    }

    pub(super) fn byte_at(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The text from `at` on; empty inside a character.
    pub(super) fn from(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Copies the next `len` bytes as they are.
    pub(super) fn copy(&mut self, len: usize) {
        let end = self.at + len;
        self.out.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// Writes `text` in the place of the next `len` bytes.
    pub(super) fn replace(&mut self, len: usize, text: &str) {
        self.out.push_str(text);
        self.at += len;
    }

    pub(super) fn fix(&mut self, code: FixCode, at: usize, message: impl Into<Cow<'static, str>>) {
        self.fixes.add(code, self.base + at, message);
    }

    /// The innermost open container.
    pub(super) fn inside(&self) -> Option<Kind> {
        self.frames.last().map(|frame| frame.kind)
    }

    /// That `at` has no reading that is no guess.
    pub(super) fn refuse(&self, at: usize, message: impl Into<Cow<'static, str>>) -> Unmended {
        Unmended::Refused(Reason::new(self.base + at, message))
    }

    /// That the text ends before the value does.
    pub(super) fn ends(&self) -> Unmended {
        self.ends_with("the text ends before the value does")
    }

    pub(super) fn ends_with(&self, message: impl Into<Cow<'static, str>>) -> Unmended {
        Unmended::Truncated(Reason::new(self.base + self.text.len(), message))
    }

    /// That the text ends inside the string that began at `began`, from the start of the whole.
    pub(super) fn ends_in_string(&self, began: usize) -> Unmended {
        self.ends_with(format!(
            "the text ends inside a string that began at byte {began}"
        ))
    }
}
