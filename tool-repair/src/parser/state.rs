//! State of the parser: its position in the rest, and its output.

use std::borrow::Cow;

use super::evidence::{Evidence, Objection};
use super::failure::Failure;
use super::frame::{Kind, OpenContainer};
use super::literal::StringLiteral;
use super::number::{self, Number};
use crate::equality::Original;
use crate::fixes::{FixCode, Fixes, Reason};
use crate::limits::Limits;
use crate::scan::Deviation;
use crate::stack::Container;

/// White space of JSON.
pub(super) const SPACE: [char; 4] = [' ', '\n', '\r', '\t'];

/// Message for a text whose repair depends on dropped text.
pub(super) const NOT_KEPT: &str = "the text before is too long and was not kept";

/// State of the parser. Positions in the text are counted from the start of the rest.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    /// Text before the rest, if it was kept.
    pub(super) sent: Option<&'t str>,
    /// Offset of the rest in the whole text.
    pub(super) base: usize,
    /// Position of the next byte.
    pub(super) at: usize,
    pub(super) out: String,
    pub(super) fixes: Fixes,
    pub(super) evidence: Evidence,
    /// Code and position of the first slip. Only one kind of slip is repaired in a text, since two kinds explain almost
    /// every text in more than one way.
    pub(super) slip: Option<(FixCode, usize)>,
    /// Position and message of the first token whose reading is certain only in a text without a slip.
    pub(super) needs_no_slip: Option<Objection>,
    pub(super) frames: Vec<OpenContainer>,
    pub(super) limits: Limits,
    /// The current string, or the last string.
    pub(super) string: StringLiteral,
    /// State of the comparison with copies, while copies of the text's value follow.
    pub(super) copies: Option<Copies>,
    /// Name of the tool in the packaging.
    pub(super) tool: Option<&'t str>,
}

/// The value of the text, to which the copies in the rest are compared.
pub(super) struct Copies {
    pub(super) original: Original,
    /// Fixes of the value.
    pub(super) fixes: Fixes,
    /// Start of the current copy, in the text and in the output.
    pub(super) at: usize,
    pub(super) written: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(
        text: &'t str,
        sent: Option<&'t str>,
        deviation: &Deviation,
        limits: Limits,
        slip: Option<(FixCode, usize)>,
    ) -> Self {
        let frames = deviation.stack.iter().map(|container| OpenContainer {
            kind: match container {
                Container::Array => Kind::Array,
                Container::Object => Kind::Object,
            },
            opened: 0,
            contents: 0,
            comma: false,
            lacks_colon: None,
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
            frames: frames.collect(),
            limits,
            string: StringLiteral::default(),
            copies: None,
            tool: None,
        }
    }

    /// Records a slip at `at`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text has a slip of another kind.
    pub(super) fn record_slip(&mut self, kind: FixCode, at: usize) -> Result<(), Failure> {
        let (first, place) = *self.slip.get_or_insert((kind, at));
        if first == kind && (kind != FixCode::UnquotedKey || place == at) {
            return Ok(());
        }
        let place = self.base + place;
        let message = format!("{kind}, in a text with another slip at byte {place}: {first}");
        Err(self.refuse(at, message))
    }

    /// Records a slip and its repair at `at`.
    pub(super) fn slip(&mut self, kind: FixCode, at: usize) -> Result<(), Failure> {
        self.fix(kind, at);
        self.record_slip(kind, at)
    }

    /// Iterates backwards over the kept text before `at`.
    pub(super) fn backwards(&self, at: usize) -> impl Iterator<Item = char> + use<'t> {
        let sent = self.sent.unwrap_or_default();
        let text = self.text.get(..at).unwrap_or_default();
        text.chars().rev().chain(sent.chars().rev())
    }

    /// Returns the original contents of the last string up to `end`; `None` if they were not kept.
    pub(super) fn contents(&self, end: usize) -> Option<Cow<'t, str>> {
        let began = self.string.began + self.string.form.closing.len();
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

    /// Returns the unparsed text.
    pub(super) fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Returns the text from `at` on; an empty text if `at` is inside a character.
    pub(super) fn from(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Copies the next `len` bytes.
    pub(super) fn copy(&mut self, len: usize) {
        let end = self.at + len;
        self.out.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// Replaces the next `len` bytes by `text`.
    pub(super) fn replace(&mut self, len: usize, text: &str) {
        self.out.push_str(text);
        self.at += len;
    }

    /// Records a change at `at`.
    pub(super) fn fix(&mut self, code: FixCode, at: usize) {
        self.fixes.add(code, self.base + at);
    }

    /// Records a change at `at` with its own message.
    pub(super) fn fix_with_message(&mut self, code: FixCode, at: usize, message: &'static str) {
        self.fixes.add_with_message(code, self.base + at, message);
    }

    /// Returns the innermost open container.
    pub(super) fn inside(&self) -> Option<Kind> {
        self.frames.last().map(|frame| frame.kind)
    }

    /// Returns the error for a text that has no certain reading at `at`.
    pub(super) fn refuse(&self, at: usize, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Refused(Reason::new(self.base + at, message))
    }

    /// Parses a number.
    pub(super) fn number(&self) -> Result<Number<'t>, Failure> {
        let number = number::read(self.from(self.at));
        number.map_err(|message| message.map_or_else(|| self.ends(), |message| self.refuse(self.at, message)))
    }

    /// Returns an error at `at` if `condition` holds.
    pub(super) fn refuse_if(&self, condition: bool, at: usize, message: &'static str) -> Result<(), Failure> {
        if condition {
            Err(self.refuse(at, message))
        } else {
            Ok(())
        }
    }

    /// Returns the error for a text that ends before the end of its value.
    pub(super) fn ends(&self) -> Failure {
        self.ends_with("the text ends before the value does")
    }

    pub(super) fn ends_with(&self, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Truncated(Reason::new(self.base + self.text.len(), message))
    }

    /// Returns the error for a text that ends inside the string at `began`, an offset in the whole text.
    pub(super) fn ends_in_string(&self, began: usize) -> Failure {
        self.ends_with(format!(
            "the text ends inside a string that began at byte {began}"
        ))
    }
}
