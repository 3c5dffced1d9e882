//! Values in the notation of a careless writer between JSON and Python, with all repairable deviations in one text.

use std::fmt::Write as _;

use tests::random::Random;
use tool_runtime::repair::{Status, repair};

use crate::exact_json::{JsonValue, parse_json};
use crate::random::arguments;

/// Writes the value sloppily. No JSON parser accepts the text, which has one reading.
pub fn sloppy(tree: &JsonValue, parentheses: bool, random: &mut Random) -> String {
    let mut writer = Writer {
        text: String::new(),
        parentheses,
        escapes: may_be_fewer(tree),
        random,
    };
    writer.value(tree);
    let Writer { text, random, .. } = writer;
    match random.below(6) {
        0 if text.starts_with('{') => format!("```json\n{text}\n```"),
        1 if text.starts_with('{') => format!("Here is what you asked for:\n\n{text}\n"),
        2 => format!(" {text}\r\n"),
        _ => text,
    }
}

struct Writer<'a> {
    text: String,
    parentheses: bool,
    /// Whether every control character is escaped.
    escapes: bool,
    random: &'a mut Random,
}

/// Returns whether two strings of a list may be one string with an unescaped `", "`: `x = ", ".join(y)`.
fn may_be_fewer(tree: &JsonValue) -> bool {
    let text = |tree: &JsonValue| match tree {
        JsonValue::String(units) => Some(String::from_utf16_lossy(units)),
        _ => None,
    };
    let opens = |before: &str| {
        let word = before
            .rsplit(|last: char| !last.is_ascii_alphanumeric() && last != '_')
            .next();
        let prefix = ["b", "f", "r", "u", "br", "rb", "fr", "rf"];
        let prefix = prefix.contains(&&*word.unwrap_or_default().to_lowercase());
        prefix || !before.ends_with(|last: char| last.is_ascii_alphanumeric() || ")]}.".contains(last))
    };
    let closes =
        |behind: &str| !behind.starts_with(|next: char| next.is_ascii_alphanumeric() || "([{".contains(next));
    match tree {
        JsonValue::Array(items) => {
            let mut pairs = items
                .windows(2)
                .filter_map(|pair| text(&pair[0]).zip(text(&pair[1])));
            pairs.any(|(one, other)| opens(&one) && closes(&other)) || items.iter().any(may_be_fewer)
        }
        JsonValue::Object(entries) => entries.iter().any(|(_, item)| may_be_fewer(item)),
        _ => false,
    }
}

impl Writer<'_> {
    fn value(&mut self, tree: &JsonValue) {
        match tree {
            JsonValue::Null => self
                .text
                .push_str(if self.random.one_in(2) { "null" } else { "None" }),
            JsonValue::Bool(true) => self
                .text
                .push_str(if self.random.one_in(2) { "true" } else { "True" }),
            JsonValue::Bool(false) => {
                self.text
                    .push_str(if self.random.one_in(2) { "false" } else { "False" })
            }
            JsonValue::Number(number) => match self.random.below(8) {
                0 if number == "1000" => self.text.push_str("1_000"),
                1 if number == "42" => self.text.push_str("0x2A"),
                // Longer numbers may be telephone numbers.
                2 if !number.starts_with('-') && number.len() <= 6 => {
                    self.text.push('+');
                    self.text.push_str(number);
                }
                _ => self.text.push_str(number),
            },
            JsonValue::String(units) if self.parentheses && self.random.one_in(10) => {
                self.text.push('(');
                self.string(units);
                self.text.push(')');
            }
            JsonValue::String(units) => self.string(units),
            JsonValue::Array(items) => {
                let tuple = self.parentheses && self.random.one_in(3);
                self.text.push(if tuple { '(' } else { '[' });
                for (place, item) in items.iter().enumerate() {
                    self.gap();
                    self.value(item);
                    if place + 1 < items.len() || tuple && items.len() == 1 || self.random.one_in(3) {
                        self.comma();
                    }
                }
                self.gap();
                self.text.push(if tuple { ')' } else { ']' });
            }
            JsonValue::Object(entries) => {
                self.text.push('{');
                for (place, (name, item)) in entries.iter().enumerate() {
                    self.gap();
                    self.key(name);
                    self.text
                        .push_str(if self.random.one_in(4) { "\n : " } else { ":" });
                    self.gap();
                    self.value(item);
                    if place + 1 < entries.len() || self.random.one_in(3) {
                        self.comma();
                    }
                }
                self.gap();
                self.text.push('}');
            }
        }
    }

    fn comma(&mut self) {
        self.gap();
        self.text.push(',');
        if self.random.one_in(6) {
            self.text.push_str("  # as agreed\n");
        }
    }

    fn gap(&mut self) {
        let gaps: [&str; 9] = ["", "", "", " ", " ", "\n  ", "\r\n", "\t", "\u{a0}"];
        self.text.push_str(gaps[self.random.below(gaps.len())]);
    }

    fn key(&mut self, units: &[u16]) {
        let name = String::from_utf16_lossy(units);
        let plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name
                .chars()
                .all(|part| part.is_ascii_alphanumeric() || "_-".contains(part))
            && !["true", "false", "null", "True", "False", "None"].contains(&&*name);
        if plain && self.random.one_in(3) {
            self.text.push_str(&name);
        } else {
            self.quoted(units, false);
        }
    }

    fn string(&mut self, units: &[u16]) {
        self.quoted(units, true);
    }

    /// Writes a string in either kind of quotes, with escapes of both languages. A value may contain control characters.
    fn quoted(&mut self, units: &[u16], value: bool) {
        let quote = if self.random.one_in(2) { '"' } else { '\'' };
        if quote == '\'' && self.random.one_in(8) {
            self.text.push('u');
        }
        // After a comma, a line break may be the rest of two quotes.
        let line_end = [u16::from(b','), u16::from(b'\n')];
        // Next to an unescaped line break, an escape may be literal text.
        let escaped = |unit: &u16| matches!(unit, 0..0x09 | 0x0b..0x20 | 0x5c | 0xd800..0xe000);
        let doubtful = units.contains(&u16::from(b'\n')) && units.iter().any(escaped);
        let raw = value
            && !self.escapes
            && !doubtful
            && !units.windows(2).any(|pair| pair == line_end)
            && self.random.one_in(3);
        self.text.push(quote);
        for character in char::decode_utf16(units.iter().copied()) {
            match character {
                Ok(same) if same == quote => {
                    self.text.push('\\');
                    self.text.push(quote);
                }
                Ok('\\') => self.text.push_str("\\\\"),
                Ok(control @ ('\n' | '\t')) if raw => self.text.push(control),
                Ok('\n') => self.text.push_str("\\n"),
                Ok('\t') => self.text.push_str("\\t"),
                Ok('\r') => self.text.push_str("\\r"),
                Ok(control) if control < ' ' => {
                    let _ = write!(self.text, "\\u{:04x}", u32::from(control));
                }
                Ok(plain) => self.text.push(plain),
                Err(half) => {
                    let _ = write!(self.text, "\\u{:04x}", half.unpaired_surrogate());
                }
            }
        }
        self.text.push(quote);
    }
}

#[test]
fn repairs_unambiguous_sloppy_texts_to_the_intended_value() {
    let mut random = Random::new(3);
    for _ in 0..3000 {
        let meant = arguments(&mut random);
        let text = sloppy(&meant, true, &mut random);
        let repaired = repair(&text);
        assert!(
            matches!(repaired.status, Status::Valid | Status::Repaired),
            "{text}\n{:?}",
            repaired.reason
        );
        assert_eq!(
            parse_json(&repaired.text),
            Some(meant),
            "{text}\n{}",
            repaired.text
        );
    }
}
