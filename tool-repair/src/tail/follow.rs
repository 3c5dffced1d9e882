//! Follows the rest from token to token.

use super::super::limits::Limits;
use super::super::scan::{Deviation, Place};
use super::after::{after, close, next};
use super::around;
use super::draft::Draft;
use super::frame::{Kind, Last, State};
use super::gap::{self, gap};
use super::key::key;
use super::mended::{Mended, Unmended};
use super::string;
use super::value::{behind, value};

/// Follows `rest` from what was there when it began to its end.
// By itself the loop of states is a fifth quicker than as a part of its caller.
#[inline(never)]
pub(super) fn follow(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
) -> Result<Mended, Unmended> {
    let mut draft = Draft::new(rest, sent, deviation, limits);
    let mut state = resume(&mut draft, deviation)?;
    loop {
        state = match state {
            State::Root => around::root(&mut draft)?,
            State::First => first(&mut draft)?,
            State::Next { comma } => next(&mut draft, comma)?,
            State::Colon => colon(&mut draft)?,
            State::Value => {
                gap(&mut draft, gap::Next::Content)?;
                value(&mut draft)?
            }
            State::After(last) => after(&mut draft, last)?,
            State::Done => {
                around::done(&mut draft)?;
                break;
            }
        };
    }
    match draft.evidence.objection(sent, &draft.out) {
        Some((at, message)) => Err(draft.refuse(at, message)),
        None => Ok(Mended {
            text: draft.out,
            fixes: draft.fixes,
        }),
    }
}

/// Where a reader stands when the rest begins.
fn resume(draft: &mut Draft<'_>, deviation: &Deviation) -> Result<State, Unmended> {
    Ok(match deviation.place {
        Place::Root => State::Root,
        Place::FirstKey | Place::FirstItem => State::First,
        Place::Item => State::Next { comma: None },
        Place::Colon => State::Colon,
        Place::Value => State::Value,
        Place::String { key } => {
            string::resume(draft, key, deviation.opening_quote, deviation.doubtful_escape)?;
            if key {
                State::Colon
            } else {
                behind(draft, Last::String)
            }
        }
        Place::After => State::After(last(draft)),
        Place::Done => State::Done,
    })
}

/// What kind of value was passed on last; strings never are, before something else follows.
fn last(draft: &Draft<'_>) -> Last {
    let sent = draft.sent.unwrap_or_default();
    match sent.trim_end_matches([' ', '\n', '\r', '\t']).bytes().next_back() {
        Some(b'0'..=b'9') => Last::Number,
        Some(closer @ (b'}' | b']')) => Last::Container(closer),
        _ => Last::Other,
    }
}

fn first(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    gap(draft, gap::Next::Content)?;
    let (Some(byte), Some(inside)) = (draft.byte(), draft.inside()) else {
        return Err(draft.ends());
    };
    if byte != inside.closer() {
        return if inside == Kind::Object {
            key(draft)
        } else {
            Ok(State::Value)
        };
    }
    if around::empty_prefix(draft) {
        return Ok(State::First);
    }
    if let Some(frame) = draft.frames.last_mut() {
        // Empty parentheses are a tuple.
        frame.comma = true;
    }
    let state = close(draft);
    draft.empty = Some(draft.out.len());
    Ok(state)
}

fn colon(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    gap(draft, gap::Next::NoComment)?;
    match draft.byte() {
        Some(b':') => {
            draft.copy(1);
            Ok(State::Value)
        }
        Some(_) => Err(draft.refuse(draft.at, "a colon belongs behind a key")),
        None => Err(draft.ends()),
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::Scanner;

    use super::*;

    /// What a text becomes; an error says whether it is truncated, where it could not be followed, and why.
    fn mended(text: &str) -> Result<String, (bool, usize, String)> {
        let limits = Limits::default();
        let Err(deviation) = Scanner::new(limits).scan(text) else {
            return Ok(text.to_owned());
        };
        let (sent, rest) = text.split_at(deviation.at);
        match follow(rest, Some(sent), &deviation, limits) {
            Ok(mended) => {
                assert!(!mended.fixes.is_empty(), "{text}");
                Ok([sent, &mended.text].concat())
            }
            Err(Unmended::Truncated(reason)) => Err((true, reason.offset, reason.message.into_owned())),
            Err(Unmended::Refused(reason)) => Err((false, reason.offset, reason.message.into_owned())),
        }
    }

    fn all_become(table: &[(&str, &str)]) {
        for (text, json) in table {
            assert_eq!(mended(text).as_deref(), Ok(*json), "{text}");
            assert!(
                serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok(),
                "{json}"
            );
        }
    }

    fn all_are_refused(texts: &[&str]) {
        for text in texts {
            let refused = mended(text);
            assert!(matches!(refused, Err((false, ..))), "{text} became {refused:?}");
        }
    }

    #[test]
    fn literals_of_python_become_json() {
        all_become(&[
            (
                "{'a': True, 'b': [None, False]}",
                r#"{"a": true, "b": [null, false]}"#,
            ),
            ("{'a' :'b','c': 'd' , 'e':1}", r#"{"a" :"b","c": "d" , "e":1}"#),
            (
                "{'a': 'b', 'c': {'d': 'e'}, 'f': 'g'}",
                r#"{"a": "b", "c": {"d": "e"}, "f": "g"}"#,
            ),
            ("{'': '', 'a': ''}", r#"{"": "", "a": ""}"#),
            (
                r#"{'a': "it's", "b": 'say "hi"'}"#,
                r#"{"a": "it's", "b": "say \"hi\""}"#,
            ),
            ("(1, 2)", "[1, 2]"),
            (
                "{'a': (), 'b': (1,), 'c': (2 , )}",
                r#"{"a": [], "b": [1], "c": [2  ]}"#,
            ),
            ("{'a': (1), 'b': ((2))}", r#"{"a":  1, "b":   2}"#),
            ("[1_000, 0x1F, .5, 5., +1, -0]", "[1000, 31, 0.5, 5.0, 1, -0]"),
            ("True", "true"),
            ("'a'", "\"a\""),
            ("[1, 2,]", "[1, 2]"),
            ("{'a': 1,\n}", "{\"a\": 1\n}"),
            ("{'a': 1, # one\n 'b': 2 # two\n}", "{\"a\": 1, \n \"b\": 2 \n}"),
            ("{'a':\u{a0}1}\u{c}", "{\"a\": 1} "),
        ]);
    }

    #[test]
    fn keys_become_strings() {
        all_become(&[
            (
                "{a: 1, b-c: 2, $d_e: 3, \u{6807}\u{9898}: 4}",
                "{\"a\": 1, \"b-c\": 2, \"$d_e\": 3, \"\u{6807}\u{9898}\": 4}",
            ),
            (
                "{1: 'a', -0: 'b', 0x1f: 'c'}",
                r#"{"1": "a", "0": "b", "31": "c"}"#,
            ),
            ("{u'a': 1, r'\\d': 2}", r#"{"a": 1, "\\d": 2}"#),
        ]);
        all_are_refused(&[
            "{True: 1}",
            "{null: 1}",
            "{1.5: 'a'}",
            "{1e5: 'a'}",
            "{(1): 'a'}",
            "{'a'}",
            "{1, 2}",
            "{a b: 1}",
            "{a}",
            "{a = 1}",
            "{'a' 'b': 1}",
            "{'''a''': 1}",
            "{'a\nb': 1}",
            "{: 1}",
            "{'a':: 1}",
            "{b'a': 1}",
        ]);
    }

    #[test]
    fn strings_of_every_form_are_read() {
        all_become(&[
            (
                r"['\0\033\x41\u00e9\U0001F600\'', '\d\'']",
                "[\"\\u0000\\u001bA\\u00e9\u{1f600}'\", \"\\\\d'\"]",
            ),
            (
                r"['\ud800', '\udc00\ud800', '\U0000d800']",
                r#"["\ud800", "\udc00\ud800", "\ud800"]"#,
            ),
            ("['a\\\nb', 'c\\\r\nd']", r#"["ab", "cd"]"#),
            (r#"[r'\d\'"\\', u"a\x41"]"#, r#"["\\d\\'\"\\\\", "aA"]"#),
            (
                "['''a\n\"b\" 'c' ''', \"\"\"\"d\"\"\"]",
                r#"["a\n\"b\" 'c' ", "\"d"]"#,
            ),
            ("[\"a\tb\", \"\u{1}\"]", "[\"a\\tb\", \"\\u0001\"]"),
            (
                "[\u{201c}a \"b\"\u{201d}, \u{2018}c\u{2019}]",
                r#"["a \"b\"", "c"]"#,
            ),
            (r#"{"a": "\d+\.\("}"#, r#"{"a": "\\d+\\.\\("}"#),
            (r#"{"a": "it\'s"}"#, r#"{"a": "it's"}"#),
            (
                r#"{"a": "\x41\U0001F600", 'b': "\'\'"}"#,
                "{\"a\": \"A\u{1f600}\", \"b\": \"''\"}",
            ),
        ]);
        all_are_refused(&[
            "[b'a']",
            "[f'a']",
            "[rb'a']",
            "[t'a']",
            "[ur'a']",
            r"['\N{DASH}']",
            r"['\x4']",
            r"['\u00e']",
            r"['\U00110000']",
            r"['\ud83d\ude00']",
            r"['\ud83d\U0000de00']",
            r#"["\ud83d\u"]"#,
            r#"["\x41"]"#,
            r#"["\a", 'b']"#,
            r#"["\0", 'b']"#,
            r#"["\x4", 'b']"#,
            r#"["\N{DASH}", 'b']"#,
            r#"["C:\data\new"]"#,
            r#"["C:\new\data"]"#,
            r#"["'\''"]"#,
            "[\"a\\\nb\"]",
            "['''a\r\nb''']",
            "{'a': ''', 'b': '''}",
            "[\u{201c}a \u{201c}b\u{201d}]",
            "[\u{2018}it\u{2019}s\u{2019}]",
            "['a,\n b']",
        ]);
    }

    #[test]
    fn commas_are_mended_where_nothing_else_can_be_meant() {
        all_become(&[
            (r#"{"a": 1 "b": 2}"#, r#"{"a": 1 ,"b": 2}"#),
            (r#"{"a": "x" "b": 2}"#, r#"{"a": "x", "b": 2}"#),
            (r#"{"a": {} b: 2}"#, r#"{"a": {} ,"b": 2}"#),
            (
                r#"[{"a": 1}{"b": 2} {"c": 3}]"#,
                r#"[{"a": 1},{"b": 2}, {"c": 3}]"#,
            ),
            ("[[1] [2], 3 4]", "[[1] ,[2], 3, 4]"),
            (r#"{"a": 1,, "b": 2,,}"#, r#"{"a": 1, "b": 2}"#),
        ]);
        all_are_refused(&[
            "[1,,2]",
            "[,]",
            "[,1]",
            "{,}",
            "(,)",
            "[1 -2]",
            "[[1][2]]",
            "[{}[1]]",
            "[\"a\" \"b\"]",
            "['a' 'b']",
            "[\"a\"\n\"b\"]",
            "(1 2)",
            "[True False]",
            "[1 True]",
            "{'a': 1. 'b': 2}",
            "{'a': 1'b': 2}",
            "{'a': 'x,' 'b': 2}",
            "{'a': 1\n,\n,'b': 2}",
            "[1: 2]",
            "{'a': 1; 'b': 2}",
            "[1, 2}",
            "{'a': [1)}",
        ]);
    }

    #[test]
    fn strings_side_by_side_are_one_only_where_no_comma_can_be_missing() {
        all_become(&[
            ("{'a': 'x'\n      'y'\r\n      \"z\"}", r#"{"a": "xyz"}"#),
            ("{'a': ('x'\n       'y')}", r#"{"a":  "xy"}"#),
            ("{'a':\n\"x\"\n\"y\"}", "{\"a\":\n\"xy\"}"),
            (
                "{\"a\": None, \"b\": \"x\"\n                 \"y\"}",
                "{\"a\": null, \"b\": \"xy\"}",
            ),
            ("{'\u{e9}': r'x'\n      r'y'}", "{\"\u{e9}\": \"xy\"}"),
        ]);
        all_are_refused(&[
            "{'a': 'x''y'}",
            "{'a': \"x\" \"y\"}",
            "{\"a\": \"x\"\n\"y\"}",
            "{'a': 'x' 'y'}",
            "{'a': 'x' \"y\"}",
            "{'a': r'x' 'y'}",
            "{'a': 'x' r'y'}",
            "{'a': ('x' 'y')}",
            "{'a': 'x = '\n'.join(y)'}",
            "{'a': 'x = '\n     'y'}",
            "{'a': 'x = '\n       'y'}",
            "{'a': ('x'\n       'y', 'z')}",
            "{'a': ('x', 'y'\n            'z')}",
            "{'a': 'x'\n      'y' z}",
            "{'a': 'x'\n      'y', 'b': 'c\nd'}",
            "{'a': 'x'\n      'y',, 'b': 1}",
            "{'a': '\\ud83d'\n      '\\ude00'}",
            "{'a': 'x' # y\n      'z'}",
            "{'a': 'x'\n      'y', 'b': 'it's'}",
            "{'a': 'it's', 'b': 'x'\n                 'y'}",
        ]);
    }

    #[test]
    fn quotes_that_were_not_escaped_are_text_where_nothing_else_can_be_meant() {
        all_become(&[
            (
                r#"{"a": "say "hi" now", "b": 1}"#,
                r#"{"a": "say \"hi\" now", "b": 1}"#,
            ),
            (
                r#"{"a": "say \"x\" and "hi" now"}"#,
                r#"{"a": "say \"x\" and \"hi\" now"}"#,
            ),
            ("{'a': 'it's \\'fine\\''}", r#"{"a": "it's 'fine'"}"#),
        ]);
        all_are_refused(&[
            r#"{"a": ""hi""}"#,
            r#"{"say "hi" now": 1}"#,
            r#"("say "hi" now",)"#,
            r#"{"a": "5" pipe"}"#,
            r#"{"a": "say "hi" now"} bye"#,
            r#"{"a": "say "hi" now"}}"#,
            r#"{"a": ["", ""], "b": "say "hi" now"}"#,
            r#"{"a": "say "hi" now", "b": '''x'''}"#,
        ]);
    }

    #[test]
    fn what_stands_around_an_object_is_removed() {
        all_become(&[
            ("Here is the JSON: {'a': 1} Hope it helps!", "{\"a\": 1} "),
            ("```json\n{\"a\": 1}\n```\n", "{\"a\": 1}\n"),
            ("\u{53c2}\u{6570}\u{ff1a}\n{\"a\": 1}", "{\"a\": 1}"),
            ("<tool_call>{\"a\": 1}</tool_call>", "{\"a\": 1}"),
            ("1. First this {\"a\": 1}", "{\"a\": 1}"),
            ("{} {\"a\": 1}", "{\"a\": 1}"),
            ("{'a': {}} {'a': {}}\n{'a': {}}", "{\"a\": {}} "),
            ("{\"a\": 1}{\"a\": 1}", "{\"a\": 1}"),
            ("{\"a\": {\"b\": 1}}} }\n", "{\"a\": {\"b\": 1}}"),
            ("({'a': 1})", " {\"a\": 1}"),
        ]);
        all_are_refused(&[
            "args: {'a': 1}",
            "TodoWrite({'a': 1})",
            "x = {'a': 1}",
            "[{'a': 1} x",
            "x: \"y\" {'a': 1}",
            "null {'a': 1}",
            "\u{53c2}\u{6570}\u{ff1a}{'a': 1}",
            "'x': {'a': 1}",
            "{'a': 1},",
            "{'a': 1};",
            "{'a': 1} | x",
            "{'a': 1} if x",
            "{'a': 1} (x)",
            "{'a': 1} [0]",
            "{'a': 1}[0]",
            "{'a': 1}.x",
            "{'a': 1} {'b': 1}",
            "{'a': 1} # x",
            "[1]]",
            "[1][1]",
            "{'a': {'b': 1}, 'c': 2}}",
            "{'a {': 1}}",
            "here {'a': 1}}",
            "'a' b",
            "1 2",
            "True x",
            "@",
            "\\\"a\"]",
            "{'a': 1} \"x\"",
        ]);
    }

    #[test]
    fn what_belongs_behind_a_value_is_said() {
        let (strings, quote) = ("two strings side by side", "a quote inside the string");
        for (text, at, words) in [
            (r#"{"a": "b"]"#, 9, "a comma or `}` belongs here"),
            (r#"["a": 1]"#, 4, "a comma or `]` belongs here"),
            (r#"("a"]"#, 4, "a comma or `)` belongs here"),
            ("{'a': 1 + 2}", 8, "a comma or `}` belongs here"),
            (r#"{"a": "b" + "c"}"#, 10, "a comma or `}` belongs here"),
            ("{\"a\": \"b\"\nc: 1}", 10, "a comma or `}` belongs here"),
            (r#"["a" "b"]"#, 5, strings),
            (r#"{"a": "b""c"}"#, 9, strings),
            (r#"{"a": "5" pipe"}"#, 8, quote),
            (r#"{"a": "x["b"]"}"#, 9, quote),
        ] {
            let Err((false, offset, message)) = mended(text) else {
                panic!("{text} is not refused");
            };
            assert_eq!(offset, at, "{text}");
            assert!(message.starts_with(words), "{text}: {message}");
        }
    }

    #[test]
    fn a_text_that_ends_too_early_is_truncated() {
        for text in [
            "{'a': [True, (1, 0x1F), u'x'], 'k':\n'y'\n'z', b: r'\\d', 'c': '\\x41\\u00e9\\\n', \"d\": \"\\x41\"}",
            "[\u{201c}a\u{201d}, '''b''', None, 'c',]",
            "{\"a\": 1 \"b\": true c: 2 'd': 'it's', \"e\": \"x \"y\" z\"}",
            "Here it is: {'a': 1.5e3, # b\n 'c': 2, \"d\": [{e: 1}{f: 1}]}",
        ] {
            for end in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
                match mended(&text[..end]) {
                    Err((true, offset, _)) => assert_eq!(offset, end, "{text}"),
                    Err((false, ..)) if text.starts_with("Here") && end < 13 => {}
                    result => assert_eq!(result.as_deref(), Ok(&text[..end])),
                }
            }
            assert!(mended(text).is_ok(), "{text}");
        }
    }
}
