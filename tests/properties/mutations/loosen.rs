//! Valid arguments in the loose spellings of models, each change with its expected warning.

use serde_json::{Map, Value};
use tests::random::Random;
use tool_runtime::issue::Code;

use super::kinds::{Field, Kind, Need};
use super::python;

/// Writes values in loose spellings.
pub struct Loosener<'a> {
    random: &'a mut Random,
    /// Average number of values for each loosely spelled one.
    rate: usize,
    /// Maximum number of loosely spelled values.
    pub most: usize,
    /// Expected warnings: code and path.
    pub expected: Vec<(Code, String)>,
    /// Whether a change has no warning: null for an optional value.
    pub silent: usize,
}

/// Position of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Value of a property or a map entry, where one item may replace a list.
    Entry,
    Item,
}

impl<'a> Loosener<'a> {
    pub fn new(random: &'a mut Random, rate: usize) -> Self {
        Self {
            random,
            rate,
            most: usize::MAX,
            expected: Vec::new(),
            silent: 0,
        }
    }

    /// Writes the whole arguments.
    pub fn arguments(&mut self, kind: &Kind, value: &Value) -> String {
        let text = self.composite(kind, value, "");
        let is_loose = self.is_loose();
        match self.random.below(2) {
            0 if is_loose => {
                self.expect(Code::JsonStringDecoded, "");
                quoted(&text)
            }
            1 if is_loose => match self.python(&text, "") {
                Some(python) => {
                    self.expect(Code::JsonRepaired, "");
                    python
                }
                None => text,
            },
            _ => text,
        }
    }

    /// Writes the value in Python's notation. Python's dictionaries have no duplicate keys.
    fn python(&self, text: &str, path: &str) -> Option<String> {
        let twice = |(code, at): &(Code, String)| *code == Code::DuplicateKey && at.starts_with(path);
        if self.expected.iter().any(twice) {
            return None;
        }
        python::written(text)
    }

    fn is_loose(&mut self) -> bool {
        self.expected.len() + self.silent < self.most && self.random.one_in(self.rate)
    }

    fn expect(&mut self, code: Code, path: &str) {
        self.expected.push((code, path.to_owned()));
    }

    fn value(&mut self, kind: &Kind, value: &Value, path: &str, place: Place) -> String {
        if value.is_null() {
            return self.null(kind, path);
        }
        match kind {
            Kind::List(item) => self.list(kind, item, value, path, place),
            Kind::Map(_) | Kind::Pair(_) | Kind::Object(_) => {
                let text = self.composite(kind, value, path);
                self.encoded(kind, text, path)
            }
            _ if self.is_loose() => self.scalar(kind, value, path),
            _ => value.to_string(),
        }
    }

    fn null(&mut self, kind: &Kind, path: &str) -> String {
        if kind.takes_text() || kind.lists_texts() || !self.is_loose() {
            return "null".to_owned();
        }
        self.expect(Code::EmptyStringTreatedAsNull, path);
        self.nothing()
    }

    fn nothing(&mut self) -> String {
        (*self
            .random
            .pick(&[r#""""#, r#""null""#, r#"" None ""#, r#""NULL""#]))
        .to_owned()
    }

    fn scalar(&mut self, kind: &Kind, value: &Value, path: &str) -> String {
        let sent = value.to_string();
        let (code, text) = match (kind, value) {
            (Kind::Integer | Kind::Small, _) => match self.random.below(7) {
                0 => (Code::NumberCoercedToInteger, format!("{sent}.0")),
                1 => (Code::NumberCoercedToInteger, format!("{sent}e0")),
                2 => (Code::StringLiteralConvertedToInteger, format!("\"{sent}.0\"")),
                3 => (Code::StringLiteralConvertedToInteger, format!("\" {sent}\\n\"")),
                4 if !sent.starts_with('-') => {
                    (Code::StringLiteralConvertedToInteger, format!("\"+{sent}\""))
                }
                5 => (Code::StringLiteralConvertedToInteger, format!("\"{sent}0E-1\"")),
                _ => (Code::StringLiteralConvertedToInteger, format!("\"{sent}\"")),
            },
            (Kind::Number, _) => match self.random.below(3) {
                0 => (Code::StringLiteralConvertedToNumber, format!("\"  {sent} \"")),
                1 if !sent.starts_with('-') => {
                    (Code::StringLiteralConvertedToNumber, format!("\"+{sent}0\""))
                }
                _ => (Code::StringLiteralConvertedToNumber, format!("\"{sent}\"")),
            },
            (Kind::Boolean, Value::Bool(is)) => match self.random.below(4) {
                0 => (Code::NumberCoercedToBoolean, u8::from(*is).to_string()),
                1 => (Code::StringLiteralConvertedToBoolean, format!("\"{sent}\"")),
                2 => (
                    Code::StringLiteralConvertedToBoolean,
                    format!("\" {} \"", sent.to_uppercase()),
                ),
                _ => (
                    Code::StringLiteralConvertedToBoolean,
                    format!("\"{}\"", python::boolean(*is)),
                ),
            },
            (Kind::Choice, Value::String(text)) => (Code::EnumCaseNormalized, self.choice(text)),
            (Kind::Text, Value::String(text)) if matches!(&**text, "true" | "false") => {
                (Code::BooleanCoercedToString, text.clone())
            }
            (Kind::Text, Value::String(text)) if matches!(&**text, "42" | "-1.5" | "2.25") => {
                (Code::NumberCoercedToString, text.clone())
            }
            _ => return sent,
        };
        self.expect(code, path);
        text
    }

    fn choice(&mut self, text: &str) -> String {
        // Any separator may be between words.
        let respelled = text.replace(['-', ' '], "_");
        quoted(&match self.random.below(4) {
            0 => text.to_uppercase(),
            3 if respelled != text => respelled,
            1 => format!("\t{text} "),
            _ => format!(" {}", text.to_uppercase()),
        })
    }

    fn list(&mut self, kind: &Kind, item: &Kind, value: &Value, path: &str, place: Place) -> String {
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        if let [only] = items
            && place == Place::Entry
            && !matches!(item, Kind::List(_) | Kind::Pair(_))
            && self.is_loose()
        {
            self.expect(Code::ScalarCoercedToList, path);
            return self.value(item, only, &format!("{path}/0"), Place::Item);
        }
        if kind.lists_texts() {
            // An encoded value must be valid without coercion.
            let before = self.expected.len();
            let text = self.composite(kind, value, path);
            return if self.expected.len() == before {
                self.encoded(kind, text, path)
            } else {
                text
            };
        }
        let text = self.composite(kind, value, path);
        self.encoded(kind, text, path)
    }

    /// Writes a list or an object, directly or as text.
    fn encoded(&mut self, kind: &Kind, text: String, path: &str) -> String {
        if !self.is_loose() || matches!(kind, Kind::Pair(_)) && kind.lists_texts() {
            return text;
        }
        self.expect(Code::JsonStringDecoded, path);
        let python = self.python(&text, path);
        match python.filter(|_| self.random.one_in(2)) {
            Some(python) => {
                self.expect(Code::JsonRepaired, path);
                quoted(&python)
            }
            None => quoted(&format!(" {text}")),
        }
    }

    fn composite(&mut self, kind: &Kind, value: &Value, path: &str) -> String {
        match (kind, value) {
            (Kind::List(item), Value::Array(items)) => {
                let items = items.iter().enumerate();
                let items: Vec<String> = items
                    .map(|(place, it)| self.value(item, it, &format!("{path}/{place}"), Place::Item))
                    .collect();
                format!("[{}]", items.join(","))
            }
            (Kind::Pair(pair), Value::Array(items)) => {
                let [one, other] = [(&pair.0, 0), (&pair.1, 1)].map(|(kind, place)| {
                    self.value(kind, &items[place], &format!("{path}/{place}"), Place::Item)
                });
                format!("[{one}, {other}]")
            }
            (Kind::Map(entry), Value::Object(members)) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, it)| {
                        let text = self.value(entry, it, &format!("{path}/{key}"), Place::Entry);
                        format!("{}:{text}", quoted(key))
                    })
                    .collect();
                format!("{{{}}}", members.join(","))
            }
            (Kind::Object(fields), Value::Object(members)) => self.object(fields, members, path),
            _ => value.to_string(),
        }
    }

    fn object(&mut self, fields: &[Field], members: &Map<String, Value>, path: &str) -> String {
        let mut written = Vec::new();
        for Field { name, kind, need } in fields {
            let path = format!("{path}/{name}");
            let Some(value) = members.get(*name) else {
                written.extend(self.absent(name, kind, &path));
                continue;
            };
            let key = self.key(name, &path);
            if self.is_loose() && self.random.one_in(4) {
                self.expect(Code::DuplicateKey, &path);
                let other = self.random.pick(&["5", "[]", "\"other\"", "{\"x\":[]}"]);
                written.push(format!("\"{key}\":{other}"));
            }
            let text = self.value(kind, value, &path, Place::Entry);
            written.push(format!("\"{key}\": {text}"));
            debug_assert!(*need != Need::Required || !value.is_null());
        }
        if self.random.one_in(3) {
            let turn = self.random.below(written.len() + 1);
            // Duplicate keys stay in their order.
            if !self.expected.iter().any(|(code, _)| *code == Code::DuplicateKey) {
                written.rotate_left(turn);
            }
        }
        format!("{{{}}}", written.join(","))
    }

    /// Writes a loose spelling of a missing value.
    fn absent(&mut self, name: &str, kind: &Kind, path: &str) -> Option<String> {
        if !self.is_loose() {
            return None;
        }
        if kind.takes_text() || kind.lists_texts() || self.random.one_in(2) {
            self.silent += 1;
            return Some(format!("\"{name}\":null"));
        }
        self.expect(Code::EmptyStringTreatedAsNull, path);
        Some(format!("\"{name}\":{}", self.nothing()))
    }

    fn key(&mut self, name: &str, path: &str) -> String {
        if !self.is_loose() {
            return name.to_owned();
        }
        let key = match self.random.below(4) {
            0 => camel(name),
            1 => name.replace('_', "-"),
            2 => pascal(name),
            _ => name.to_uppercase(),
        };
        if key != name {
            self.expect(Code::ParameterNameNormalized, path);
        }
        key
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let mut letters = pascal.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn pascal(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(letters).collect::<String>()
        })
    });
    words.collect()
}
