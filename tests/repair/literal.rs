//! A strict parser of the Python literals that `ast.literal_eval` accepts and JSON can represent. Distinguishes texts with another meaning
//! in Python from damaged texts. Written from the language reference, not from the repair, and recursive, since the texts are small.

use crate::exact_json::{JsonValue, is_number};

/// Returns the value of the text in Python; `None` if the text is not a literal, or JSON cannot represent the value.
pub fn read_python(text: &str) -> Option<JsonValue> {
    let mut reader = Reader {
        rest: text.trim_start_matches([' ', '\t', '\n', '\r', '\x0C']),
    };
    let tree = reader.expression()?;
    reader.space();
    reader.rest.is_empty().then_some(tree)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Skips white space, comments and backslashes at line ends.
    fn space(&mut self) {
        loop {
            let before = self.rest;
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0C']);
            if self.rest.starts_with('#') {
                self.rest = self.rest.find(['\n', '\r']).map_or("", |end| &self.rest[end..]);
            }
            for joined in ["\\\r\n", "\\\n"] {
                self.rest = self.rest.strip_prefix(joined).unwrap_or(self.rest);
            }
            if self.rest == before {
                return;
            }
        }
    }

    fn takes(&mut self, token: char) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expression(&mut self) -> Option<JsonValue> {
        self.space();
        match self.rest.chars().next()? {
            '[' => {
                self.takes('[');
                self.items(']').map(|(items, _)| JsonValue::Array(items))
            }
            '(' => {
                self.takes('(');
                let (mut items, comma) = self.items(')')?;
                match items.len() {
                    1 if !comma => items.pop(),
                    _ => Some(JsonValue::Array(items)),
                }
            }
            '{' => self.dict(),
            '+' | '-' | '.' | '0'..='9' => self.number(),
            _ => self.name_or_string(),
        }
    }

    /// Parses the items up to the closing bracket. Returns whether there was a comma, too.
    fn items(&mut self, close: char) -> Option<(Vec<JsonValue>, bool)> {
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            if self.takes(close) {
                return Some((items, comma));
            }
            items.push(self.expression()?);
            if !self.takes(',') {
                return self.takes(close).then_some((items, comma));
            }
            comma = true;
        }
    }

    fn dict(&mut self) -> Option<JsonValue> {
        let mut entries = Vec::new();
        self.takes('{');
        loop {
            if self.takes('}') {
                return Some(JsonValue::Object(entries));
            }
            let key = match self.expression()? {
                JsonValue::String(text) => text,
                JsonValue::Number(text) if text == "-0" => "0".encode_utf16().collect(),
                JsonValue::Number(text) if !text.contains(['.', 'e', 'E']) => text.encode_utf16().collect(),
                _ => return None,
            };
            if !self.takes(':') {
                return None;
            }
            entries.push((key, self.expression()?));
            if !self.takes(',') {
                return self.takes('}').then_some(JsonValue::Object(entries));
            }
        }
    }

    fn name_or_string(&mut self) -> Option<JsonValue> {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if !rest.starts_with(['"', '\'']) {
            self.rest = rest;
            return match name {
                "True" => Some(JsonValue::Bool(true)),
                "False" => Some(JsonValue::Bool(false)),
                "None" => Some(JsonValue::Null),
                _ => None,
            };
        }
        let mut units = Vec::new();
        loop {
            self.space();
            let (prefix, rest) = self.rest.split_at(self.rest.find(['"', '\''])?);
            let raw = match prefix {
                "" | "u" | "U" => false,
                "r" | "R" => true,
                _ if prefix.chars().all(char::is_alphabetic) && !units.is_empty() => return None,
                _ => return None,
            };
            self.rest = rest;
            self.string(raw, &mut units)?;
            self.space();
            let behind = self.rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            if !behind.starts_with(['"', '\'']) {
                return Some(JsonValue::String(units));
            }
        }
    }

    fn string(&mut self, raw: bool, units: &mut Vec<u16>) -> Option<()> {
        let quote = self.rest.chars().next()?;
        let triple: String = [quote; 3].iter().collect();
        let long = self.rest.starts_with(&triple);
        self.rest = &self.rest[if long { 3 } else { 1 }..];
        loop {
            let character = self.rest.chars().next()?;
            if character == quote && (!long || self.rest.starts_with(&triple)) {
                self.rest = &self.rest[if long { 3 } else { 1 }..];
                return Some(());
            }
            self.rest = &self.rest[character.len_utf8()..];
            match character {
                '\0' => return None,
                '\r' | '\n' if !long => return None,
                '\r' => {
                    self.rest = self.rest.strip_prefix('\n').unwrap_or(self.rest);
                    units.push(u16::from(b'\n'));
                }
                '\\' if raw => {
                    units.push(u16::from(b'\\'));
                    let escaped = self.rest.chars().next()?;
                    self.rest = &self.rest[escaped.len_utf8()..];
                    let escaped = if escaped == '\r' {
                        self.rest = self.rest.strip_prefix('\n').unwrap_or(self.rest);
                        '\n'
                    } else {
                        escaped
                    };
                    units.extend_from_slice(escaped.encode_utf16(&mut [0; 2]));
                }
                '\\' => self.escape(units)?,
                _ => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
            }
        }
    }

    /// Parses the escape after a backslash.
    fn escape(&mut self, units: &mut Vec<u16>) -> Option<()> {
        let escaped = self.rest.chars().next()?;
        let behind = &self.rest[escaped.len_utf8()..];
        let unit = match escaped {
            '\n' => {
                self.rest = behind;
                return Some(());
            }
            '\r' => {
                self.rest = behind.strip_prefix('\n').unwrap_or(behind);
                return Some(());
            }
            '\\' | '\'' | '"' => escaped as u16,
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'v' => 0x0B,
            'N' => return None,
            '0'..='7' => {
                let most = self.rest.len().min(3);
                let digits = self.rest.as_bytes()[..most]
                    .iter()
                    .take_while(|byte| (b'0'..=b'7').contains(byte))
                    .count();
                let unit = u16::from_str_radix(&self.rest[..digits], 8).ok()?;
                self.rest = &self.rest[digits..];
                units.push(unit);
                return Some(());
            }
            'x' | 'u' | 'U' => {
                let digits = match escaped {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let hex = behind.get(..digits)?;
                hex.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
                let point = u32::from_str_radix(hex, 16).ok()?;
                self.rest = &behind[digits..];
                match char::from_u32(point) {
                    Some(character) => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
                    None => {
                        let unit = u16::try_from(point).ok()?;
                        // JSON would read the pair as one character, unlike Python.
                        let is_low = (0xDC00..=0xDFFF).contains(&unit);
                        let is_pair =
                            is_low && units.last().is_some_and(|unit| (0xD800..=0xDBFF).contains(unit));
                        (!is_pair).then(|| units.push(unit))?;
                    }
                }
                return Some(());
            }
            // Python keeps the backslash, too.
            _ => {
                units.push(u16::from(b'\\'));
                return Some(());
            }
        };
        self.rest = behind;
        units.push(unit);
        Some(())
    }

    /// Parses a number with an optional sign. Returns the JSON notation.
    fn number(&mut self) -> Option<JsonValue> {
        let sign = if self.takes('-') { "-" } else { "" };
        if sign.is_empty() {
            self.takes('+');
        }
        self.space();
        let mut end = 0;
        for (at, byte) in self.rest.bytes().enumerate() {
            let exponent_sign = matches!(byte, b'+' | b'-')
                && self.rest[..at].ends_with(['e', 'E'])
                && !self.rest.starts_with("0x")
                && !self.rest.starts_with("0X");
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || exponent_sign) {
                break;
            }
            end = at + 1;
        }
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some(())?;
        decimal(token).map(|text| JsonValue::Number(format!("{sign}{text}")))
    }
}

/// Converts an unsigned Python number to JSON notation.
fn decimal(token: &str) -> Option<String> {
    let lower = token.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            let digits = digits.strip_prefix('_').unwrap_or(digits);
            let plain = without_underscores(digits, radix)?;
            return u128::from_str_radix(&plain, radix)
                .ok()
                .map(|number| number.to_string());
        }
    }
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (&*lower, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let part = |text: &str| {
        if text.is_empty() {
            Some("0".to_owned())
        } else {
            without_underscores(text, 10)
        }
    };
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let mut text = part(whole)?;
    if fraction.is_none() && exponent.is_none() {
        // Only zero may have leading zeros.
        let zeros = text.bytes().all(|byte| byte == b'0');
        return if zeros {
            Some("0".to_owned())
        } else {
            is_number(&text).then_some(text)
        };
    }
    let shorter = text.trim_start_matches('0');
    text = if shorter.is_empty() { "0" } else { shorter }.to_owned();
    if let Some(fraction) = fraction {
        text = format!("{text}.{}", part(fraction)?);
    }
    if let Some(exponent) = exponent {
        let mark = &token[mantissa.len()..=mantissa.len()];
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let sign = &exponent[..exponent.len() - digits.len()];
        text = format!("{text}{mark}{sign}{}", without_underscores(digits, 10)?);
    }
    // A float outside of the range is infinite, which JSON cannot represent.
    let finite = text.parse::<f64>().is_ok_and(f64::is_finite);
    (finite && is_number(&text)).then_some(text)
}

/// Parses digits with single underscores between them.
fn without_underscores(digits: &str, radix: u32) -> Option<String> {
    let groups: Vec<&str> = digits.split('_').collect();
    let fine = |group: &&str| !group.is_empty() && group.chars().all(|digit| digit.is_digit(radix));
    groups.iter().all(fine).then(|| groups.concat())
}

#[test]
fn parses_python_literals() {
    let json = |text| crate::exact_json::parse_json(text);
    for (python, same) in [
        ("{'a': (1,), 'b': (2), 'c': ()}", r#"{"a": [1], "b": 2, "c": []}"#),
        (
            r"['it\'s', 'a' 'b', r'\d', u'\u00e9', '\x41\101\d']",
            r#"["it's", "ab", "\\d", "é", "AA\\d"]"#,
        ),
        ("'''a\nb''' \"\"\"c\"d\"\"\"", r#""a\nbc\"d""#),
        (
            "[0x1F, 0o17, 0b11, 1_000, .5, 5., -1, + 2, 00, 1E5]",
            "[31, 15, 3, 1000, 0.5, 5.0, -1, 2, 0, 1E5]",
        ),
        ("{1: True, 'b': None, # why\n}", r#"{"1": true, "b": null}"#),
        ("('a'\n 'b')", r#""ab""#),
        (
            r"'\U0001F600\
!'",
            r#""😀!""#,
        ),
    ] {
        assert!(json(same).is_some(), "{same}");
        assert_eq!(read_python(python), json(same), "{python}");
    }
    for none in [
        "{1, 2}",
        "b'a'",
        "f'a'",
        "01",
        "1__0",
        "1j",
        "true",
        "[,]",
        "{'a': 1,, }",
        "'a",
        "'a\nb'",
        r"'\x4'",
        "{True: 1}",
        "1 2",
        "",
        "{'a' 'b'}",
        "0x",
        "1_",
        "a",
        r"'\ud83d\ude00'",
    ] {
        assert_eq!(read_python(none), None, "{none}");
    }
}
