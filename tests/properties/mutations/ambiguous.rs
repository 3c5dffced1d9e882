//! Variants of loose spellings with several readings or none. Ambiguous values are rejected at their path, without a guess.

use serde_json::{Map, Value};
use tests::dynamic_tool::prepare;
use tests::random::Random;
use tool_runtime::Policy;
use tool_runtime::issue::Code;

use super::kinds::{self, Field, Kind, Need};
use super::{VALUES, found, registered, schemas};

#[test]
fn rejects_ambiguous_values_at_their_path() {
    let mut random = Random::new(22);
    let mut codes = std::collections::BTreeMap::new();
    for _ in 0..schemas() {
        let kind = kinds::tool(&mut random);
        let registry = registered(&kind);
        for _ in 0..VALUES {
            let value = kind.value(&mut random);
            let chosen = random.below(places(&value) + 1);
            let mut spoiler = Spoiler {
                random: &mut random,
                left: chosen,
                refused: None,
            };
            let text = spoiler.object_or_else(&kind, &value, "");
            let Some((code, path)) = spoiler.refused else {
                continue;
            };
            *codes.entry(code).or_insert(0) += 1;
            for policy in [Policy::Lenient, Policy::Lossless] {
                let request = prepare(&registry, text.as_str(), policy);
                let case = || format!("{policy:?}: {text}\nof {}", kind.schema());
                assert_eq!(found(&request.errors), [(code, path.clone())], "{}", case());
            }
            let strict = prepare(&registry, text.as_str(), Policy::Strict);
            assert!(!strict.errors.is_empty(), "{text}\nof {}", kind.schema());
        }
    }
    for code in [
        Code::UnsupportedIntegerLiteral,
        Code::IntegerOutOfRange,
        Code::UnsupportedNumberLiteral,
        Code::UnsupportedBooleanLiteral,
        Code::UnsupportedStringLiteral,
        Code::EnumOutOfRange,
        Code::UnsupportedArrayLiteral,
        Code::AmbiguousList,
        Code::UnsupportedObjectLiteral,
        Code::NullNotAllowed,
        Code::MissingRequired,
    ] {
        assert!(
            codes.get(&code).is_some_and(|count| *count >= 10),
            "{code}: {codes:?}"
        );
    }
}

#[test]
fn only_lenient_truncates_fractions() {
    let kind = Kind::Object(vec![Field {
        name: "x",
        kind: Kind::Integer,
        need: Need::Required,
    }]);
    let registry = registered(&kind);
    for (sent, kept) in [("3.14", 3), ("-3.99", -3), ("1e-9", 0)] {
        let text = format!("{{\"x\":{sent}}}");
        let lenient = prepare(&registry, text.as_str(), Policy::Lenient);
        let cut = [(Code::FractionalNumberTruncatedToInteger, "/x".to_owned())];
        assert_eq!(found(&lenient.warnings), cut, "{sent}");
        assert_eq!(lenient.arguments["x"], kept, "{sent}");
        for policy in [Policy::Lossless, Policy::Strict] {
            let refused = [(Code::UnsupportedIntegerLiteral, "/x".to_owned())];
            assert_eq!(
                found(&prepare(&registry, text.as_str(), policy).errors),
                refused,
                "{sent}"
            );
        }
    }
}

/// Returns the number of values in a value.
fn places(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 1 + places(item)).sum(),
        Value::Object(members) => members.values().map(|member| 1 + places(member)).sum(),
        _ => 0,
    }
}

/// Writes a value with a change at one position.
struct Spoiler<'a> {
    random: &'a mut Random,
    /// Number of values before that position.
    left: usize,
    /// Expected result of the change.
    refused: Option<(Code, String)>,
}

impl Spoiler<'_> {
    fn value(&mut self, kind: &Kind, value: &Value, path: &str, need: Option<Need>) -> String {
        if self.left > 0 {
            self.left -= 1;
            return self.object_or_else(kind, value, path);
        }
        if self.refused.is_none() {
            let wrong = wrong(kind, need);
            if !wrong.is_empty() {
                let (sent, code) = *self.random.pick(&wrong);
                self.refused = Some((code, path.to_owned()));
                return sent.to_owned();
            }
        }
        value.to_string()
    }

    fn object_or_else(&mut self, kind: &Kind, value: &Value, path: &str) -> String {
        match (kind, value) {
            (Kind::Object(fields), Value::Object(members)) => self.object(fields, members, path),
            (Kind::Map(entry), Value::Object(members)) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, it)| {
                        let text = self.value(entry, it, &format!("{path}/{key}"), Some(Need::Required));
                        format!("{}:{text}", Value::String(key.clone()))
                    })
                    .collect();
                format!("{{{}}}", members.join(","))
            }
            (Kind::List(item), Value::Array(items)) => {
                let kinds = std::iter::repeat(&**item);
                self.items(kinds.zip(items), path)
            }
            (Kind::Pair(pair), Value::Array(items)) => {
                self.items([&pair.0, &pair.1].into_iter().zip(items), path)
            }
            _ => value.to_string(),
        }
    }

    fn items<'k>(&mut self, items: impl Iterator<Item = (&'k Kind, &'k Value)>, path: &str) -> String {
        let items: Vec<String> = items
            .enumerate()
            .map(|(place, (kind, it))| self.value(kind, it, &format!("{path}/{place}"), None))
            .collect();
        format!("[{}]", items.join(","))
    }

    fn object(&mut self, fields: &[Field], members: &Map<String, Value>, path: &str) -> String {
        let mut written = Vec::new();
        for Field { name, kind, need } in fields {
            let Some(value) = members.get(*name) else { continue };
            let path = format!("{path}/{name}");
            if self.left == 0 && self.refused.is_none() && *need != Need::Optional && self.random.one_in(4) {
                self.refused = Some((Code::MissingRequired, path));
                written.extend(self.twins(name, value));
                continue;
            }
            let text = self.value(kind, value, &path, Some(*need));
            written.push(format!("\"{name}\":{text}"));
        }
        format!("{{{}}}", written.join(","))
    }

    /// Adds two keys in spellings that are similar to the declared key. Does nothing if a name has only one other spelling.
    fn twins(&mut self, name: &str, value: &Value) -> Vec<String> {
        let [kebab, bare] = [name.replace('_', "-"), name.replace('_', "")];
        if kebab == name || self.random.one_in(3) {
            return Vec::new();
        }
        vec![format!("\"{kebab}\":{value}"), format!("\"{bare}\":{value}")]
    }
}

/// Returns values that cannot be coerced to this kind, each with the code of the error.
fn wrong(kind: &Kind, need: Option<Need>) -> Vec<(&'static str, Code)> {
    let mut wrong: Vec<(&'static str, Code)> = match kind {
        Kind::Integer | Kind::Small => INTEGERS
            .iter()
            .map(|sent| (*sent, Code::UnsupportedIntegerLiteral))
            .collect(),
        Kind::Number => NUMBERS
            .iter()
            .map(|sent| (*sent, Code::UnsupportedNumberLiteral))
            .collect(),
        Kind::Boolean => BOOLEANS
            .iter()
            .map(|sent| (*sent, Code::UnsupportedBooleanLiteral))
            .collect(),
        Kind::Text => TEXTS
            .iter()
            .map(|sent| (*sent, Code::UnsupportedStringLiteral))
            .collect(),
        Kind::Choice => CHOICES.iter().map(|sent| (*sent, Code::EnumOutOfRange)).collect(),
        Kind::Map(_) | Kind::Object(_) => OBJECTS
            .iter()
            .map(|sent| (*sent, Code::UnsupportedObjectLiteral))
            .collect(),
        // A value that is not a list may be the only item of a list of lists.
        Kind::List(_) if need.is_none() => return Vec::new(),
        Kind::List(item) => match &**item {
            Kind::List(_) | Kind::Pair(_) => LISTS_FOR_LISTS_OF_LISTS
                .iter()
                .map(|sent| (*sent, Code::AmbiguousList))
                .collect(),
            Kind::Integer | Kind::Small | Kind::Number | Kind::Boolean => LISTS
                .iter()
                .map(|sent| (*sent, Code::UnsupportedArrayLiteral))
                .collect(),
            _ => Vec::new(),
        },
        Kind::Pair(_) if need.is_none() => return Vec::new(),
        Kind::Pair(_) => PAIRS
            .iter()
            .map(|sent| (*sent, Code::UnsupportedArrayLiteral))
            .collect(),
    };
    if matches!(kind, Kind::Integer) {
        wrong.extend(TOO_LARGE.iter().map(|sent| (*sent, Code::IntegerOutOfRange)));
    }
    if matches!(need, None | Some(Need::Required)) {
        wrong.push(("null", Code::NullNotAllowed));
    }
    wrong
}

const INTEGERS: [&str; 14] = [
    r#""1.5""#,
    r#""1,000""#,
    r#""1_000""#,
    r#""0x1F""#,
    r#""many""#,
    r#""42 apples""#,
    r#""4 2""#,
    r#""--1""#,
    r#""١""#,
    r#""1/2""#,
    "true",
    "{}",
    "[1]",
    r#""[1]""#,
];
const TOO_LARGE: [&str; 4] = [
    "18446744073709551616",
    "-9223372036854775809",
    r#""1e999999999""#,
    "1e30",
];
const NUMBERS: [&str; 9] = [
    r#""NaN""#,
    r#""Infinity""#,
    r#""-inf""#,
    "1e400",
    r#""1e400""#,
    "true",
    r#""1,5""#,
    r#""2.5kg""#,
    "[1.5]",
];
const BOOLEANS: [&str; 11] = [
    r#""yes""#,
    r#""maybe""#,
    r#""1""#,
    r#""on""#,
    r#""t""#,
    "2",
    "-1",
    "1.0",
    "-0",
    "[true]",
    r#""true, I think""#,
];
const TEXTS: [&str; 3] = ["{}", r#"["a"]"#, "[]"];
const CHOICES: [&str; 7] = [
    r#""tiny""#,
    r#""smal""#,
    r#""middlesized""#,
    r#""Largeone""#,
    "5",
    r#""small, large one""#,
    "[\"small\"]",
];
const OBJECTS: [&str; 7] = [
    "5",
    "true",
    r#""text""#,
    "[]",
    "[{}]",
    r#""{\"a\":1""#,
    r#""{\"a\":1} and so on""#,
];
const LISTS: [&str; 6] = [
    r#"{"zz":{}}"#,
    r#""[1, 2""#,
    r#""1,2""#,
    r#""[1] or [2]""#,
    r#""none at all""#,
    r#""1 2""#,
];
const LISTS_FOR_LISTS_OF_LISTS: [&str; 3] = ["[1, true]", r#"["a"]"#, "[{\"zz\":1}]"];
const PAIRS: [&str; 3] = ["5", r#"{"zz":1}"#, "true"];
