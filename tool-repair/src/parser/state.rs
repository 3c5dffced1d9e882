//! The rest as far as it was read, and what it became so far.

use std::borrow::Cow;

use super::evidence::{Evidence, Objection};
use super::failure::Failure;
use super::frame::{Frame, Kind};
use super::literal::{Form, Literal};
use super::slip::Slip;
use crate::fixes::{FixCode, Fixes, Reason};
use crate::limits::Limits;
use crate::scan::Deviation;
use crate::stack::Container;

/// White space of JSON.
pub(super) const SPACE: [char; 4] = [' ', '\n', '\r', '\t'];

/// Everything that is known while the rest is followed. Places in the text are counted from the start of the rest.
pub(super) struct Parser<'t> {
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
    /// The first slip, and where it is.
    pub(super) slip: Option<(Slip, usize)>,
    /// What is certain only in a text without a slip.
    pub(super) needs_no_slip: Option<Objection>,
    /// Whether a control character stood in a string as it is.
    pub(super) raw_control: bool,
    pub(super) frames: Vec<Frame>,
    pub(super) limits: Limits,
    /// The last string.
    pub(super) string: Literal,
    /// Where the value of the whole text begins; `None` if it began before the rest.
    pub(super) root: Option<usize>,
    /// Where the value of the whole text ends.
    pub(super) root_end: usize,
    /// Whether the value of the whole text has ended.
    pub(super) ended: bool,
    /// Whether a sentence before the root was removed.
    pub(super) sentence: bool,
}

impl<'t> Parser<'t> {
    pub(super) fn new(
        text: &'t str,
        sent: Option<&'t str>,
        deviation: &Deviation,
        limits: Limits,
        slip: Option<(Slip, usize)>,
    ) -> Self {
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
            slip,
            needs_no_slip: None,
            raw_control: false,
            frames: frames.collect(),
            limits,
            string: Literal::new(Form::DOUBLE, false, deviation.opening_quote),
            root: None,
            root_end: 0,
            ended: false,
            sentence: false,
        }
    }

    /// Notes a slip at `at`.
    ///
    /// # Errors
    ///
    /// The text has a slip of another kind.
    pub(super) fn note_slip(&mut self, kind: Slip, at: usize) -> Result<(), Failure> {
        let (first, place) = *self.slip.get_or_insert((kind, at));
        if first == kind && (kind != Slip::KeyQuote || place == at) {
            return Ok(());
        }
        let message = format!(
            "{kind}, in a text with another slip at byte {}: {first}",
            self.base + place
        );
        Err(self.refuse(at, message))
    }

    /// The kind of slip that the text has.
    pub(super) fn slipped(&self) -> Option<Slip> {
        self.slip.map(|(kind, _)| kind)
    }

    /// What contradicts the reading, once the whole text was read.
    pub(super) fn objection(&self) -> Option<Objection> {
        let slipped = self.slip.is_some();
        let misread = |(kind, _): &(Slip, usize)| {
            self.raw_control && matches!(kind, Slip::Commas | Slip::Bracket | Slip::InnerQuotes)
        };
        let message =
            "a slip in a text with a raw control character in a string, which may have lost a quote";
        self.evidence
            .objection()
            .or(self.needs_no_slip.filter(|_| slipped))
            .or(self.slip.filter(misread).map(|(_, at)| (at, message)))
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

    /// The contents of the last string up to `end`, as they were written; `None` if they were not kept.
    pub(super) fn contents(&self, end: usize) -> Option<Cow<'t, str>> {
        let began = self.string.began + 1;
        if let Some(from) = began.checked_sub(self.base) {
            return self.text.get(from..end).map(Cow::Borrowed);
        }
        let sent = self.sent?.get(began..)?;
        Some(Cow::Owned([sent, self.text.get(..end)?].concat()))
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
    pub(super) fn refuse(&self, at: usize, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Refused(Reason::new(self.base + at, message))
    }

    /// That the text ends before the value does.
    pub(super) fn ends(&self) -> Failure {
        self.ends_with("the text ends before the value does")
    }

    pub(super) fn ends_with(&self, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Truncated(Reason::new(self.base + self.text.len(), message))
    }

    /// That the text ends inside the string that began at `began`, from the start of the whole.
    pub(super) fn ends_in_string(&self, began: usize) -> Failure {
        self.ends_with(format!(
            "the text ends inside a string that began at byte {began}"
        ))
    }
}
