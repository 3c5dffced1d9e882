//! JSON text that is known to conform, token by token.

use std::fmt::Display;

use serde::de::Error;

use crate::repair::plain;

/// Text from the beginning of a value on.
#[derive(Debug)]
pub(in crate::arguments) struct Conformed<'de> {
    text: &'de str,
    pub(super) at: usize,
}

/// The type does not take it, or the text was not what it was said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not taken")]
pub(in crate::arguments) struct NotTaken;

impl Error for NotTaken {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

pub(super) type Taken<T> = Result<T, NotTaken>;

impl<'de> Conformed<'de> {
    pub(in crate::arguments) fn new(text: &'de str) -> Self {
        Self { text, at: 0 }
    }

    /// Nothing is left. A type that keeps to itself what another refused may have gone on amid of that.
    pub(in crate::arguments) fn end(&self) -> Taken<()> {
        (self.at == self.text.len()).then_some(()).ok_or(NotTaken)
    }

    #[inline]
    fn peek(&self) -> Taken<u8> {
        self.text.as_bytes().get(self.at).copied().ok_or(NotTaken)
    }

    /// The first byte behind white space, not taken yet.
    #[inline]
    pub(super) fn ahead(&mut self) -> Taken<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Ok(byte),
            }
        }
    }

    #[inline]
    pub(super) fn skip(&mut self, byte: u8) -> Taken<()> {
        if self.ahead()? != byte {
            return Err(NotTaken);
        }
        self.at += 1;
        Ok(())
    }

    pub(super) fn word(&mut self, word: &str) -> Taken<()> {
        self.ahead()?;
        if !self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            return Err(NotTaken);
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    pub(super) fn since(&self, start: usize) -> Taken<&'de str> {
        self.text.get(start..self.at).ok_or(NotTaken)
    }

    /// The next string, if nothing in it is escaped; otherwise it is still ahead.
    #[inline]
    pub(super) fn plain_string(&mut self) -> Taken<Option<&'de str>> {
        self.ahead()?;
        let Some([b'"', inside @ ..]) = self.text.as_bytes().get(self.at..) else {
            return Err(NotTaken);
        };
        let len = plain(inside);
        if inside.get(len) != Some(&b'"') {
            return Ok(None);
        }
        let start = self.at + 1;
        self.at = start + len + 1;
        self.text.get(start..start + len).map(Some).ok_or(NotTaken)
    }

    /// The key behind a comma, with its colon, if there is no space between them; otherwise it is still ahead.
    #[inline]
    pub(super) fn compact_key(&mut self) -> Option<&'de str> {
        let [b',', b'"', key @ ..] = self.text.as_bytes().get(self.at..)? else {
            return None;
        };
        let len = plain(key);
        let [b'"', b':', ..] = key.get(len..)? else {
            return None;
        };
        let start = self.at + 2;
        self.at = start + len + 2;
        self.text.get(start..start + len)
    }

    #[cold]
    pub(super) fn escaped_string(&mut self) -> Taken<String> {
        let start = self.at;
        self.skip_string()?;
        serde_json::from_str(self.since(start)?).map_err(|_| NotTaken)
    }

    fn skip_string(&mut self) -> Taken<()> {
        self.skip(b'"')?;
        loop {
            self.at += plain(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.at += 2,
            }
        }
    }

    pub(super) fn number(&mut self) -> Taken<&'de str> {
        self.ahead()?;
        let start = self.at;
        while let Ok(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        self.since(start)
    }

    /// Goes over a value.
    pub(super) fn skip_value(&mut self) -> Taken<()> {
        let mut open = 0_usize;
        loop {
            match self.ahead()? {
                b'"' => self.skip_string()?,
                b'[' | b'{' => {
                    open += 1;
                    self.at += 1;
                }
                b']' | b'}' => {
                    open = open.checked_sub(1).ok_or(NotTaken)?;
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                b't' | b'n' => self.at += 4,
                b'f' => self.at += 5,
                _ => drop(self.number()?),
            }
            if open == 0 {
                return Ok(());
            }
        }
    }
}
