//! Locates values in a JSON text without parsing the complete text: values are spans, so that a string can be replaced
//! without changing any other byte.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use super::escapes;

/// Cursor in a JSON text. In a text that is not JSON, its methods return `None` or wrong values, but never panic.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Visits each member of the next object: its key, and a cursor before its value. Values that the visitor does
    /// not read are skipped; so is a value that is not an object.
    pub(crate) fn object(&mut self, mut visit: impl FnMut(&'a str, &mut Self) -> Option<()>) -> Option<()> {
        if self.peek()? != b'{' {
            return self.value().map(|_| ());
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    let key = self.string()?;
                    let key = self.text.get(key)?;
                    self.take(b':')?;
                    self.peek()?;
                    let before = self.at;
                    visit(key, self)?;
                    if self.at == before {
                        self.value()?;
                    }
                }
                b',' => self.at += 1,
                _ => break,
            }
        }
        self.take(b'}')
    }

    /// Visits each item of the next array, as [`object`](Self::object) visits members.
    pub(crate) fn array(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.peek()? != b'[' {
            return self.value().map(|_| ());
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                _ => {
                    let before = self.at;
                    visit(self)?;
                    if self.at == before {
                        self.value()?;
                    }
                }
            }
        }
        self.take(b']')
    }

    /// Skips the next value, and returns its span.
    pub(crate) fn value(&mut self) -> Option<Range<usize>> {
        let mut depth = 0_usize;
        self.peek()?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                _ => self.word(),
            }
            if depth == 0 {
                return Some(start..self.at);
            }
        }
    }

    /// Skips the next value, and returns its position and text.
    pub(crate) fn spanned(&mut self) -> Option<Spanned<'a>> {
        let span = self.value()?;
        let text = self.text.get(span.clone())?;
        Some(Spanned { span, text })
    }

    /// Skips the next value, and returns its text.
    pub(crate) fn raw(&mut self) -> Option<&'a str> {
        self.spanned().map(|value| value.text)
    }

    /// Returns the next string unless it is empty.
    pub(crate) fn text(&mut self) -> Option<Cow<'a, str>> {
        let raw = self.raw().and_then(contents)?;
        if raw.is_empty() {
            return None;
        }
        if !raw.contains('\\') {
            return Some(Cow::Borrowed(raw));
        }
        let mut read = String::with_capacity(raw.len());
        escapes::decode(raw, &mut None, &mut read).ok()?;
        Some(Cow::Owned(read))
    }

    /// Returns the next value unless it is `null`.
    pub(crate) fn index(&mut self) -> Option<&'a str> {
        self.raw().filter(|value| *value != "null")
    }

    /// Returns the first byte of the next value.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Skips the next string, and returns the span of its contents.
    fn string(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        loop {
            at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
            if bytes.get(at) == Some(&b'"') {
                self.at = at + 1;
                return Some(start..at);
            }
            at += 2;
        }
    }

    fn word(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{') || *byte <= b' ';
        // Advances at least one byte, so that no text stops the cursor.
        self.at += rest.iter().position(end).unwrap_or(rest.len()).max(1);
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }
}

/// A value, and its position in the JSON.
#[derive(Debug, Clone)]
pub(crate) struct Spanned<'a> {
    pub(crate) span: Range<usize>,
    pub(crate) text: &'a str,
}

/// Returns the contents of a JSON string; `None` for other values.
pub(crate) fn contents(literal: &str) -> Option<&str> {
    literal.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values_by_their_spans() {
        let text = r#" { "a" : [1, {"b\"": "x\\"}, [ ] ], "c":"}\"", "d" : null ,"e":-1.5e3} "#;
        let mut found = Vec::new();
        let done = Cursor::new(text).object(|key, cursor| {
            let value = cursor.value()?;
            found.push((key, &text[value]));
            Some(())
        });
        assert_eq!(done, Some(()));
        assert_eq!(
            found,
            [
                ("a", r#"[1, {"b\"": "x\\"}, [ ] ]"#),
                ("c", r#""}\"""#),
                ("d", "null"),
                ("e", "-1.5e3")
            ]
        );
    }

    #[test]
    fn skips_unread_values_and_other_types() {
        let text = r#"{"a": {"b": 1}, "list": [[1], {"x": "y"}], "n": null, "z": 3}"#;
        let mut keys = Vec::new();
        let mut items = 0;
        let done = Cursor::new(text).object(|key, cursor| {
            keys.push(key);
            match key {
                "list" => cursor.array(|_| {
                    items += 1;
                    Some(())
                }),
                "n" | "z" => cursor.object(|_, _| None),
                _ => Some(()),
            }
        });
        assert_eq!((done, items), (Some(()), 2));
        assert_eq!(keys, ["a", "list", "n", "z"]);
    }

    #[test]
    fn never_fails_or_loops() {
        for text in [
            "", "{", "[", "{\"", "{\"a", "{\"a\"", "{\"a\":", "]", "}", "[}", "{]", ",", "\"\\", "{:::",
            "[\"a\\",
        ] {
            let _ = Cursor::new(text).object(|_, cursor| cursor.value().map(|_| ()));
            let _ = Cursor::new(text).array(|cursor| cursor.value().map(|_| ()));
            let _ = Cursor::new(text).value();
        }
    }
}
