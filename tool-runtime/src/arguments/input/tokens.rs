//! A strict JSON tokenizer (RFC 8259), for the tree, the fast path and the deserializer.

use std::borrow::Cow;

use tool_repair::plain;

use crate::schema::compiled::name::KeyPrefix;

/// A text, and the position of the next byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'t> {
    text: &'t str,
    pub(crate) at: usize,
}

/// Reason why a text is not JSON, or cannot be read. The tokenizer stays at the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Invalid JSON; the string is the expected syntax.
    Syntax(&'static str),
    /// Half of a surrogate pair is escaped: valid JSON, but not valid text.
    LoneSurrogate,
    TooDeep,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes the next byte if it is `byte`.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes `true`, `false` or `null`.
    #[inline]
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes a key in its usual spelling.
    #[inline]
    pub(crate) fn take_key_text(&mut self, written: &KeyPrefix) -> bool {
        let found = written.is_prefix_of(self.rest());
        if found {
            self.at += written.len();
        }
        found
    }

    /// Takes a string.
    pub(crate) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        match self.plain_string() {
            Some(inside) => Ok(Cow::Borrowed(inside)),
            None => self.escaped_string().map(Cow::Owned),
        }
    }

    /// Takes a string without escapes; returns the text between the quotes.
    #[inline]
    pub(crate) fn plain_string(&mut self) -> Option<&'t str> {
        let (b'"', rest) = self.rest().split_first()? else {
            return None;
        };
        let length = plain(rest);
        if rest.get(length) != Some(&b'"') {
            return None;
        }
        let inside = self.text.get(self.at + 1..self.at + 1 + length)?;
        self.at += length + 2;
        Some(inside)
    }

    /// Takes a string with escapes.
    #[cold]
    fn escaped_string(&mut self) -> Result<String, Fault> {
        if !self.take(b'"') {
            return Err(Fault::Syntax("expected a string in double quotes"));
        }
        let start = self.at;
        loop {
            self.at += plain(self.rest());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => {
                    return Err(Fault::Syntax(
                        "expected no line break or other control character in a string",
                    ));
                }
                None => return Err(Fault::Syntax("expected a closing `\"`")),
            }
        }
        let decoded = decode(self.since(start)).map_err(|offset| {
            self.at = start + offset;
            Fault::LoneSurrogate
        })?;
        self.at += 1;
        Ok(decoded)
    }

    /// Reads the character after a backslash.
    fn escape(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                let digits = self.rest().first_chunk::<4>();
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(Fault::Syntax("expected four hexadecimal digits"));
                }
                self.at += 4;
            }
            _ => return Err(Fault::Syntax("expected one of `\"\\/bfnrtu` after a backslash")),
        }
        Ok(())
    }

    /// Takes a number, and returns its text.
    pub(crate) fn number(&mut self) -> Result<&'t str, Fault> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.since(start))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start {
            Ok(())
        } else {
            Err(Fault::Syntax("expected a digit"))
        }
    }

    /// Takes an integer without a sign that is certainly less than 2^64.
    #[inline]
    pub(crate) fn natural(&mut self) -> Option<u64> {
        let rest = self.rest();
        let mut value = 0_u64;
        let mut count = 0;
        while let Some(digit @ b'0'..=b'9') = rest.get(count) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            count += 1;
        }
        let has_zero_ahead = count > 1 && rest.first() == Some(&b'0');
        let goes_on = matches!(rest.get(count), Some(b'.' | b'e' | b'E'));
        if !(1..20).contains(&count) || has_zero_ahead || goes_on {
            return None;
        }
        self.at += count;
        Some(value)
    }

    /// Returns the text since a position.
    #[inline]
    pub(crate) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}

/// Unescapes the contents of a string; an error is the position of half of a surrogate pair.
fn decode(inside: &str) -> Result<String, usize> {
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((before, escape)) = rest.split_once('\\') {
        text.push_str(before);
        let (letter, after) = unescape(escape).ok_or(inside.len() - escape.len() - 1)?;
        text.push(letter);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns the character of an escape, and the text after the escape; `None` for half of a surrogate pair.
fn unescape(escape: &str) -> Option<(char, &str)> {
    let mut letters = escape.chars();
    let letter = match letters.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(letters.as_str()),
        itself => itself,
    };
    Some((letter, letters.as_str()))
}

fn unicode(digits: &str) -> Option<(char, &str)> {
    let code = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let (first, rest) = digits.split_at_checked(4)?;
    let first = code(first)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first)?, rest));
    }
    let (second, rest) = rest.strip_prefix("\\u")?.split_at_checked(4)?;
    let second = code(second).filter(|code| (0xDC00..0xE000).contains(code))?;
    let letter = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?;
    Some((letter, rest))
}
