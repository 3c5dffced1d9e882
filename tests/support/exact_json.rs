//! An exact parser of JSON texts, which keeps order, duplicate keys, texts of numbers and lone surrogates. Two texts have equal values only
//! if they contain the same information. The parser is strict, and independent of the tested one.

/// A value with its exact text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonValue {
    Null,
    Bool(bool),
    /// Text of the number.
    Number(String),
    /// UTF-16, since JSON can contain unpaired surrogates.
    String(Vec<u16>),
    Array(Vec<JsonValue>),
    /// Fields in order, with duplicate keys.
    Object(Vec<(Vec<u16>, JsonValue)>),
}

impl JsonValue {
    pub fn string(text: &str) -> Self {
        Self::String(text.encode_utf16().collect())
    }

    pub fn number(text: &str) -> Self {
        Self::Number(text.to_owned())
    }

    pub fn object<const N: usize>(entries: [(&str, Self); N]) -> Self {
        let entries = entries.map(|(key, value)| (key.encode_utf16().collect(), value));
        Self::Object(entries.into())
    }
}

/// Parses a text; `None` if it is not JSON (RFC 8259).
pub fn parse_json(text: &str) -> Option<JsonValue> {
    let mut parser = Parser { rest: text };
    let value = parser.value()?;
    parser.space();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\r', '\t']);
    }

    /// Consumes the character if it is next after white space.
    fn consume(&mut self, character: char) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self) -> Option<JsonValue> {
        for (word, value) in [
            ("null", JsonValue::Null),
            ("true", JsonValue::Bool(true)),
            ("false", JsonValue::Bool(false)),
        ] {
            self.space();
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(value);
            }
        }
        if self.consume('"') {
            self.string().map(JsonValue::String)
        } else if self.consume('[') {
            self.array()
        } else if self.consume('{') {
            self.object()
        } else {
            self.number()
        }
    }

    fn array(&mut self) -> Option<JsonValue> {
        let mut items = Vec::new();
        if self.consume(']') {
            return Some(JsonValue::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.consume(']') {
                return Some(JsonValue::Array(items));
            }
            self.consume(',').then_some(())?;
        }
    }

    fn object(&mut self) -> Option<JsonValue> {
        let mut entries = Vec::new();
        if self.consume('}') {
            return Some(JsonValue::Object(entries));
        }
        loop {
            self.consume('"').then_some(())?;
            let key = self.string()?;
            self.consume(':').then_some(())?;
            entries.push((key, self.value()?));
            if self.consume('}') {
                return Some(JsonValue::Object(entries));
            }
            self.consume(',').then_some(())?;
        }
    }

    /// Parses the content of a string after its opening quote.
    fn string(&mut self) -> Option<Vec<u16>> {
        let mut units = Vec::new();
        let mut characters = self.rest.char_indices();
        loop {
            let (at, character) = characters.next()?;
            match character {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(units);
                }
                '\\' => units.push(match characters.next()?.1 {
                    same @ ('"' | '\\' | '/') => same as u16,
                    'b' => 0x08,
                    'f' => 0x0C,
                    'n' => 0x0A,
                    'r' => 0x0D,
                    't' => 0x09,
                    'u' => {
                        let mut unit = 0;
                        for _ in 0..4 {
                            unit = unit * 16 + characters.next()?.1.to_digit(16)?;
                        }
                        u16::try_from(unit).ok()?
                    }
                    _ => return None,
                }),
                '\0'..='\x1F' => return None,
                _ => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn number(&mut self) -> Option<JsonValue> {
        let end = self
            .rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        is_number(text).then(|| JsonValue::number(text))
    }
}

/// Returns whether the text is a JSON number.
pub fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

#[test]
fn accepts_the_texts_that_serde_json_accepts() {
    for text in [
        "{}",
        " [ ] ",
        r#"{"a":[1,-0.5e+3,true,false,null],"a":"\u00e9\/"}"#,
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "-0",
        "[1,]",
        "[,1]",
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        "{'a':1}",
        "\"\n\"",
        r#""\x""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        "tru",
        "truex",
        "[1 2]",
        "[]]",
        "",
        " ",
        "\u{a0}1",
    ] {
        let other = serde_json::from_str::<serde_json::Value>(text).is_ok();
        assert_eq!(parse_json(text).is_some(), other, "{text}");
    }
    assert_eq!(parse_json(r#""\ud83d\ude00""#), Some(JsonValue::string("😀")));
}
