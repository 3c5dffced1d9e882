//! Parses the value of the whole text: the text before and after it, a repeated value, doubled braces.

use std::mem;

use super::failure::Failure;
use super::frame::{Kind, State};
use super::literal;
use super::packaging;
use super::state::{Copies, NOT_KEPT, Parser, SPACE};
use crate::equality::Original;
use crate::fixes::FixCode;

impl Parser<'_> {
    /// Finds the start of the value of the whole text.
    pub(super) fn parse_root(&mut self) -> Result<State, Failure> {
        // A `#` here may be a heading of Markdown.
        if !self.text.trim_start().starts_with('#') {
            self.parse_gap()?;
        }
        let (at, rest) = (self.at, self.from(self.at));
        let string = literal::opening(rest).is_some_and(|form| form.closing != "`");
        let value = rest.starts_with(['{', '[', '(']) && !rest.starts_with(packaging::TOOL_CALLS);
        if !string && !value && rest.contains(['{', '[']) {
            let before = packaging::before(rest);
            let before = before.map_err(|(place, message)| self.refuse(at + place, message))?;
            self.fix(before.code, at);
            self.at += before.len;
            self.tool = before.tool;
        }
        Ok(State::Value)
    }

    /// Drops the second brace of `{{…}}`; the last brace must be at the end.
    pub(super) fn doubled_braces(&mut self) -> Result<bool, Failure> {
        let outermost = self.frames.len() == 1 && self.inside() == Some(Kind::Object);
        let doubled = matches!(self.slip, Some((FixCode::DoubledBraces, _)));
        if !outermost || self.byte() != Some(b'{') || doubled {
            return Ok(false);
        }
        self.slip(FixCode::DoubledBraces, self.at)?;
        self.at += 1;
        Ok(true)
    }

    /// Drops an empty `{}` at the start if an object with members follows: the parser continues inside that object.
    pub(super) fn empty_prefix(&mut self) -> Result<bool, Failure> {
        let after = self.from(self.at + 1);
        let object = after.trim_start_matches(SPACE);
        if self.frames.len() != 1 || self.byte() != Some(b'}') || !object.starts_with('{') {
            return Ok(false);
        }
        self.slip(FixCode::EmptyPrefix, self.at)?;
        let contents = self.frames.last().map_or(0, |frame| frame.contents);
        self.out.truncate(contents);
        self.at = self.text.len() - object.len() + 1;
        Ok(true)
    }

    /// Parses the text after the value, up to the end or to another value, which must be a copy of the value.
    pub(super) fn parse_end(&mut self) -> Result<Option<State>, Failure> {
        if let Some(copies) = &mut self.copies {
            let copy = self.out.split_off(copies.written);
            let (equal, at) = (copies.original.equals(&copy, self.limits.sent), copies.at);
            self.refuse_if(!equal, at, "another value follows")?;
        } else if matches!(self.slip, Some((FixCode::DoubledBraces, _))) {
            self.parse_gap()?;
            let closer = self.byte().ok_or_else(|| self.ends())?;
            let message = "two braces open the text, and one closes it";
            self.refuse_if(closer != b'}', self.at, message)?;
            self.at += 1;
        }
        self.parse_gap()?;
        let (at, rest) = (self.at, self.from(self.at));
        let first = rest.chars().next();
        let sent = self.sent.unwrap_or_default();
        let bracket = match &self.copies {
            Some(copies) => copies.original.first(),
            None => [sent, &self.out]
                .iter()
                .find_map(|text| text.trim_start_matches(SPACE).chars().next()),
        };
        let scalar = first.is_some() && !matches!(bracket, Some('{' | '['));
        self.refuse_if(scalar, at, "expected the end of the text")?;
        let space = self.backwards(at).take_while(|before| before.is_whitespace());
        let space: String = space.collect();
        if first.is_some() && first == bracket && (first == Some('{') || !space.is_empty()) {
            self.refuse_if(self.sent.is_none(), at, NOT_KEPT)?;
            if self.copies.is_none() {
                self.slip(FixCode::Doubled, at)?;
            }
            let written = self.out.len();
            let copies = self.copies.get_or_insert_with(|| Copies {
                original: Original::new(&[sent, &self.out].concat()),
                fixes: mem::take(&mut self.fixes),
                at,
                written,
            });
            (copies.at, copies.written) = (at, written);
            return Ok(Some(State::Value));
        }
        if let Some(copies) = self.copies.take() {
            self.fixes = copies.fixes;
        }
        if first.is_some() {
            let after = packaging::text_after(rest, &space);
            let code = after.map_err(|(place, message)| self.refuse(at + place, message))?;
            self.fix(code, at);
        }
        Ok(None)
    }
}
