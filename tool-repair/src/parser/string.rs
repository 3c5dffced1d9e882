//! Parses strings and writes them as JSON.

use super::escape;
use super::evidence::Level;
use super::failure::Failure;
use super::literal::{Form, StringLiteral};
use super::result::{self, DRIVE_PATH};
use super::state::{NOT_KEPT, Parser};
use crate::fixes::FixCode;
use crate::scan::plain_before;

impl Parser<'_> {
    /// Parses a string.
    pub(super) fn parse_string(&mut self, form: Form, key: bool) -> Result<(), Failure> {
        self.begin_string(form, key)?;
        self.out.push('"');
        self.parse_contents(&[])
    }

    /// Continues the string that was open at the start of the rest.
    pub(super) fn resume_string(&mut self, key: bool, began: usize) -> Result<(), Failure> {
        self.string = StringLiteral::new(Form::DOUBLE, key, began);
        // `""` was not parsed as an empty string yet: its second quote was held.
        if began + 1 == self.base && self.text.starts_with("\"\"") {
            self.at = 2;
            self.string.form.closing = "\"\"\"";
            self.record_triple_quotes()?;
        }
        self.parse_contents(&[])
    }

    /// Parses a string, and appends its contents to the last string.
    pub(super) fn join_string(&mut self, form: Form) -> Result<(), Failure> {
        let (at, closed) = (self.at, self.string.closed);
        // `'x = '⏎'.join(y)'` is a text with a line break between quotes; formatted code is indented.
        let indented = matches!(self.backwards(at).next(), Some(' ' | '\t'));
        let level = if indented {
            Level::NotJson
        } else {
            Level::TripleQuotes
        };
        let message = "two adjacent strings, in a text that has nothing else of Python";
        self.evidence.require(level, at, message);
        self.needs_no_slip
            .get_or_insert((at, "adjacent strings, in a text with a slip"));
        self.fix(FixCode::ConcatenatedStrings, at);
        self.out.truncate(closed);
        self.begin_string(form, false)?;
        self.parse_contents(&[])
    }

    /// Continues after the closing quote of the last string, which is text, like the other quotes in `inner`.
    pub(super) fn reread_string(&mut self, inner: &[usize]) -> Result<(), Failure> {
        self.at = self.string.end;
        self.out.truncate(self.string.closed);
        self.parse_contents(inner)
    }

    /// Parses a prefix and the opening quotes without writing.
    fn begin_string(&mut self, form: Form, key: bool) -> Result<(), Failure> {
        let at = self.at;
        self.string = StringLiteral::new(form, key, self.base + at + form.prefix);
        if form.prefix > 0 {
            self.evidence.record(Level::Python);
            self.fix(FixCode::StringPrefix, at);
        }
        self.at += form.len();
        match form.quote() {
            _ if form.is_triple() => self.record_triple_quotes()?,
            b'\'' => self.record_single_quotes(at + form.prefix),
            0xE2 => self.slip(FixCode::SmartQuotes, at)?,
            b'`' => self.slip(FixCode::Backticks, at)?,
            _ => {}
        }
        Ok(())
    }

    /// Records that the quotes at `at` became double quotes.
    #[inline]
    pub(super) fn record_single_quotes(&mut self, at: usize) {
        self.evidence.record(Level::NotJson);
        self.fix(FixCode::SingleQuotes, at);
    }

    /// Records that the quotes of this string became one. The first quote may already be emitted.
    fn record_triple_quotes(&mut self) -> Result<(), Failure> {
        let StringLiteral { began, form, .. } = self.string;
        self.evidence.record(Level::TripleQuotes);
        // After a colon, one quote of `"""` may be redundant, and the key after it would look like contents.
        let after = self.from(self.at).trim_start_matches([',', ':', ' ']);
        let key = after.starts_with(char::from(form.quote())) && !after.starts_with(form.closing);
        let message = "three quotes, and which belong together is ambiguous";
        self.refuse_if(key, self.at, message)?;
        let objection = (
            began.saturating_sub(self.base),
            "three quotes, in a text with a slip",
        );
        self.needs_no_slip.get_or_insert(objection);
        self.fixes.add(FixCode::TripleQuotes, began);
        Ok(())
    }

    /// Parses and writes up to and including the closing quote. The quotes at the positions `inner` are text.
    fn parse_contents(&mut self, mut inner: &[usize]) -> Result<(), Failure> {
        let form = self.string.form;
        let quote = form.quote();
        loop {
            self.copy(plain_before(self.rest(), quote));
            match self.byte() {
                None => return Err(self.ends_in_string(self.string.began)),
                Some(byte) if byte == quote && form.closes(self.rest()) => {
                    match inner.split_first() {
                        Some((first, after)) if *first == self.at => inner = after,
                        _ => return self.close_string(),
                    }
                    self.fix(FixCode::InnerQuote, self.at);
                    self.replace(1, if byte == b'"' { "\\\"" } else { "'" });
                }
                Some(0xE2) => self.copy(3), // a character that begins like the closing quote
                Some(b'\'') => self.copy(1),
                Some(b'"') => self.replace(1, "\\\""),
                Some(b'\\') if form.raw => self.raw_backslash(),
                Some(b'\\') if quote == b'`' => {
                    let message = "a backslash in backticks, which may be one or begin an escape";
                    return Err(self.refuse(self.at, message));
                }
                Some(b'\\') => self.parse_escape()?,
                Some(byte) => self.control_character(byte)?,
            }
        }
    }

    fn close_string(&mut self) -> Result<(), Failure> {
        let at = self.at;
        if self.string.has_escapes {
            self.check_escapes()?;
        } else if self.string.form.closing == "`" {
            let template = self.contents(at).is_none_or(|contents| contents.contains("${"));
            let message = "a template of JavaScript, whose value is not in the text";
            self.refuse_if(template, at, message)?;
        }
        self.string.end = at;
        self.string.closed = self.out.len();
        self.replace(self.string.form.closing.len(), "\"");
        Ok(())
    }

    /// Rejects escapes in the last string that may be backslashes, if the complete string supports this reading.
    fn check_escapes(&mut self) -> Result<(), Failure> {
        let (at, form, unknown_escape) = (self.at, self.string.form, self.string.unknown_escape);
        let Some(contents) = self.contents(at) else {
            return Err(self.refuse(at, NOT_KEPT));
        };
        let escapes = || escape::escapes(&contents).map(|(escape, _)| escape);
        let has = |wanted: &str| escapes().any(|escape| wanted.contains(escape));
        let (python, drive) = (form.is_python(), result::has_drive(&contents));
        let raw_line_break = self.string.has_line_break;
        self.refuse_if(python && result::is_drive_path(&contents), at, DRIVE_PATH)?;
        let continued = raw_line_break && !form.is_triple() && has("\n\r");
        let message = "a backslash at the end of a line, in a string with line breaks that are not escaped";
        self.refuse_if(continued, at, message)?;
        let message = "a backslash that is not escaped, beside an escape that may be one, too";
        self.refuse_if(unknown_escape && has_ambiguous_escape(&contents), at, message)?;
        let is_hexadecimal = |after: &str| after.starts_with(|next: char| next.is_ascii_hexdigit());
        let is_odd =
            |(escape, after): (char, &str)| !escape.is_ascii() || escape == 'u' && !is_hexadecimal(after);
        if !drive && escape::escapes(&contents).any(is_odd) {
            let message = "a backslash before a letter beyond ASCII, or `\\u` without its digits";
            self.refuse_if(!python, at, message)?;
            self.evidence.require(Level::Python, at, message);
        }
        if !python && has("av") {
            let message =
                "an escape that Python alone has, where nothing shows that backslashes are not escaped";
            let backslash = |escape: char| !"\"\\/bfnrtu'avxUN01234567\n\r".contains(escape);
            let others = has("a") && has("v") || escapes().any(backslash);
            self.refuse_if(!drive && !others, at, message)?;
            self.evidence.forbid(at, message);
        }
        if raw_line_break && form.is_triple() && has("nrt") {
            let message =
                "three quotes with line breaks and with `\\n` or the like, which may be two characters";
            self.evidence.require(Level::Python, at, message);
        }
        let apostrophes = escapes().filter(|escape| *escape == '\'').count();
        if !python && (1..contents.matches('\'').count()).contains(&apostrophes) {
            let message =
                "`\\'` and a `'` without a backslash in one string: perhaps nothing in it is escaped";
            self.evidence.require(Level::TripleQuotes, at, message);
        }
        Ok(())
    }

    /// Parses a backslash in a raw string: the backslash represents itself, and so does a quote or a backslash after
    /// it.
    fn raw_backslash(&mut self) {
        self.replace(1, "\\\\");
        if let Some(byte @ (b'"' | b'\'' | b'\\')) = self.byte() {
            escape::push(&mut self.out, char::from(byte));
            self.at += 1;
        }
    }

    fn control_character(&mut self, byte: u8) -> Result<(), Failure> {
        let (at, StringLiteral { form, key, .. }) = (self.at, self.string);
        let message = "a line break or another control character in a key";
        self.refuse_if(key && !form.is_triple(), at, message)?;
        let message = "a carriage return, which Python would drop or change here";
        self.refuse_if(byte == b'\r' && (form.is_triple() || form.raw), at, message)?;
        if !form.is_triple() {
            self.fix(FixCode::ControlCharacter, at);
        }
        self.string.has_line_break |= matches!(byte, b'\n' | b'\r');
        escape::push(&mut self.out, char::from(byte));
        self.at += 1;
        Ok(())
    }
}

/// Returns whether escapes of a string may be literal backslashes, next to others: `\b`, `\f` and `\/`, which are
/// never needed; an escape before a letter (`\text`) if a word follows another backslash (`\sigma`); `\\` at the
/// beginning, before white space, and before a letter that makes it another escape (`\\n`); a line break or a tab
/// beside only the classes of a pattern (`\d+\n`).
fn has_ambiguous_escape(contents: &str) -> bool {
    let (mut word, mut before_letter, mut breaks, mut class, mut pattern) = (false, false, 0, false, true);
    for (escape, after) in escape::escapes(contents) {
        let letter = after.starts_with(|next: char| next.is_ascii_alphabetic());
        match escape {
            'b' | 'f' | '/' => return true,
            '\\' => {
                // The last pair in a run of backslashes decides for the whole run.
                let next = after.strip_prefix('\\').unwrap_or(after).chars().next();
                let ambiguous = next.is_none_or(|next| next.is_whitespace() || "ntr\"'".contains(next));
                if ambiguous || after.len() + 2 == contents.len() {
                    return true;
                }
                pattern = false;
            }
            'n' | 'r' | 't' => {
                before_letter |= letter;
                breaks += 1;
            }
            _ => {
                class |= "dwsDWS".contains(escape) && !letter;
                pattern &= "dwsDWS".contains(escape) || escape.is_ascii_punctuation();
                word |= !escape.is_ascii() || letter && escape.is_ascii_alphabetic() && escape != 'u';
            }
        }
    }
    // Code in several lines has blanks, and may contain a pattern.
    let is_pattern = pattern && class && (breaks == 1 || breaks > 1 && !contents.contains(' '));
    word && before_letter || is_pattern
}
