//! A strict JSON tokenizer (RFC 8259). The tree, the fast path and the deserializer are built on it.

use std::borrow::Cow;

use tool_repair::plain;

use crate::schema::name::KeyPrefix;

/// A text and how far it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'t> {
    text: &'t str,
    pub(crate) at: usize,
}

/// What is expected where the tokens stand, as a message says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectedToken(pub(crate) &'static str);

/// A string literal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Literal<'t> {
    /// What stands between the quotes.
    pub(crate) inside: &'t str,
    /// Whether that is the string; otherwise there are escapes in it.
    pub(crate) is_plain: bool,
}

/// Half of a surrogate pair is escaped, this far after the opening quote: JSON, but no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoneSurrogate(pub(crate) usize);

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

    /// Takes the next byte if it is that one.
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

    /// Takes a name as it is usually written.
    #[inline]
    pub(crate) fn take_written(&mut self, written: &KeyPrefix) -> bool {
        let found = written.is_prefix_of(self.rest());
        if found {
            self.at += written.len();
        }
        found
    }

    #[inline]
    pub(crate) fn literal(&mut self) -> Result<Literal<'t>, ExpectedToken> {
        if let Some(inside) = self.plain_literal() {
            return Ok(Literal {
                inside,
                is_plain: true,
            });
        }
        if !self.take(b'"') {
            return Err(ExpectedToken("expected a string in double quotes"));
        }
        self.escaped(self.at)
    }

    /// Takes a string without escapes, if it is one: what stands between the quotes.
    #[inline]
    pub(crate) fn plain_literal(&mut self) -> Option<&'t str> {
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

    /// The rest of a string in which there are escapes.
    #[cold]
    fn escaped(&mut self, start: usize) -> Result<Literal<'t>, ExpectedToken> {
        loop {
            self.at += plain(self.rest());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => {
                    return Err(ExpectedToken(
                        "expected no line break or other control character in a string",
                    ));
                }
                None => return Err(ExpectedToken("expected a closing `\"`")),
            }
        }
        let inside = self.since(start);
        self.at += 1;
        Ok(Literal {
            inside,
            is_plain: false,
        })
    }

    /// What stands after a backslash.
    fn escape(&mut self) -> Result<(), ExpectedToken> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                let digits = self.rest().first_chunk::<4>();
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(ExpectedToken("expected four hexadecimal digits"));
                }
                self.at += 4;
            }
            _ => return Err(ExpectedToken("expected one of `\"\\/bfnrtu` after a backslash")),
        }
        Ok(())
    }

    /// A number, as it is written.
    pub(crate) fn number(&mut self) -> Result<&'t str, ExpectedToken> {
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

    fn digits(&mut self) -> Result<(), ExpectedToken> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start {
            Ok(())
        } else {
            Err(ExpectedToken("expected a digit"))
        }
    }

    /// Takes an integer without a sign, if it is one that is surely less than 2^64.
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

    /// What was read from there on.
    #[inline]
    pub(crate) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}

impl<'t> Literal<'t> {
    /// The string that it stands for.
    pub(crate) fn decode(self) -> Result<Cow<'t, str>, LoneSurrogate> {
        if self.is_plain {
            return Ok(Cow::Borrowed(self.inside));
        }
        let mut text = String::with_capacity(self.inside.len());
        let mut rest = self.inside;
        while let Some((before, escape)) = rest.split_once('\\') {
            text.push_str(before);
            let lone = LoneSurrogate(self.inside.len() - escape.len() - 1);
            let (letter, after) = unescape(escape).ok_or(lone)?;
            text.push(letter);
            rest = after;
        }
        text.push_str(rest);
        Ok(Cow::Owned(text))
    }
}

/// What an escape means, and the text after it; `None` for half of a surrogate pair.
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
