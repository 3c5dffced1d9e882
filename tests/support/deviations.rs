//! Deviations from JSON, applied one at a time to the correct text of calls and code. A deviation is unambiguous if it has one
//! plausible reading. Ambiguous deviations must be rejected.

use super::exact_json::JsonValue;
use super::random::Random;
use super::written::{Style, json, repr, repr_in_single_quotes};

/// Output format: JSON, or JSON with deviations.
#[derive(Clone, Copy)]
struct Spelling {
    /// Quotes around values.
    value_quotes: [&'static str; 2],
    /// Quotes around keys; `None` for keys without quotes.
    key_quotes: Option<[&'static str; 2]>,
    /// Characters that are not escaped in values.
    raw: &'static str,
    /// Text before a closing bracket.
    trailing: &'static str,
    separator: &'static str,
    colon: &'static str,
    literals: [&'static str; 3],
    brackets: [[&'static str; 2]; 2],
    /// Comment after a comma, at the end of the line. A line comment needs `indent`.
    comment: &'static str,
    /// Indentation of a line in a text with several lines.
    indent: Option<&'static str>,
}

const JSON: Spelling = Spelling {
    value_quotes: ["\"", "\""],
    key_quotes: Some(["\"", "\""]),
    raw: "",
    trailing: "",
    separator: ",",
    colon: ": ",
    literals: ["null", "true", "false"],
    brackets: [["[", "]"], ["{", "}"]],
    comment: "",
    indent: None,
};

const LINES: Spelling = Spelling {
    indent: Some("  "),
    ..JSON
};

fn spell(tree: &JsonValue, spelling: Spelling) -> String {
    let mut text = String::new();
    write(tree, spelling, 0, &mut text);
    text
}

fn write(tree: &JsonValue, spelling: Spelling, depth: usize, text: &mut String) {
    match tree {
        JsonValue::Null => text.push_str(spelling.literals[0]),
        JsonValue::Bool(true) => text.push_str(spelling.literals[1]),
        JsonValue::Bool(false) => text.push_str(spelling.literals[2]),
        JsonValue::Number(number) => text.push_str(number),
        JsonValue::String(units) => string(units, spelling.value_quotes, spelling.raw, text),
        JsonValue::Array(items) => {
            let members = items.iter().map(|item| (None, item));
            container(members.collect(), spelling.brackets[0], spelling, depth, text);
        }
        JsonValue::Object(entries) => {
            let members = entries.iter().map(|(key, item)| (Some(&**key), item));
            container(members.collect(), spelling.brackets[1], spelling, depth, text);
        }
    }
}

fn container(
    members: Vec<(Option<&[u16]>, &JsonValue)>,
    brackets: [&str; 2],
    spelling: Spelling,
    depth: usize,
    text: &mut String,
) {
    text.push_str(brackets[0]);
    let line = |depth: usize, text: &mut String| {
        if let Some(indent) = spelling.indent {
            text.push('\n');
            text.push_str(&indent.repeat(depth));
        }
    };
    let count = members.len();
    for (place, (key, item)) in members.into_iter().enumerate() {
        line(depth + 1, text);
        if let Some(key) = key {
            match spelling.key_quotes {
                Some(quotes) => string(key, quotes, "", text),
                None => text.push_str(&String::from_utf16_lossy(key)),
            }
            text.push_str(spelling.colon);
        }
        write(item, spelling, depth + 1, text);
        if place + 1 < count {
            text.push_str(spelling.separator);
            text.push_str(spelling.comment);
            if spelling.indent.is_none() {
                text.push(' ');
            }
        } else {
            text.push_str(spelling.trailing);
        }
    }
    if count > 0 {
        line(depth, text);
    }
    text.push_str(brackets[1]);
}

fn string(units: &[u16], [opening, closing]: [&str; 2], raw: &str, text: &mut String) {
    text.push_str(opening);
    for character in String::from_utf16_lossy(units).chars() {
        match character {
            _ if raw.contains(character) => text.push(character),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            _ if closing.starts_with(character) => text.extend(['\\', character]),
            _ => text.push(character),
        }
    }
    text.push_str(closing);
}

/// A deviation with its name, and the function that applies it to a value. The function returns `None` if the deviation does not apply, or
/// if another value would be as plausible.
pub type Deviation = (&'static str, fn(&JsonValue, &str) -> Option<String>);

fn any(tree: &JsonValue, test: &dyn Fn(&str) -> bool) -> bool {
    match tree {
        JsonValue::String(units) => test(&String::from_utf16_lossy(units)),
        JsonValue::Array(items) => items.iter().any(|item| any(item, test)),
        JsonValue::Object(entries) => entries.iter().any(|(_, item)| any(item, test)),
        _ => false,
    }
}

fn with(spelling: Spelling, tree: &JsonValue) -> Option<String> {
    Some(spell(tree, spelling))
}

/// Returns the first position of the separator before a key.
fn between_members(text: &str, separator: &str) -> Option<usize> {
    let mut places = text.match_indices(separator).map(|(at, _)| at);
    places.find(|at| text[*at + separator.len()..].starts_with('"'))
}

/// Deviations with one plausible reading.
pub const UNAMBIGUOUS: [Deviation; 53] = [
    ("repr of Python", |tree, _| Some(repr(tree, false))),
    ("repr of Python in single quotes", |tree, _| {
        Some(repr_in_single_quotes(tree))
    }),
    ("repr of Python with tuples", |tree, _| Some(repr(tree, true))),
    ("single quotes", |tree, _| {
        with(
            Spelling {
                value_quotes: ["'", "'"],
                key_quotes: Some(["'", "'"]),
                ..JSON
            },
            tree,
        )
    }),
    ("keys in single quotes", |tree, _| {
        with(
            Spelling {
                key_quotes: Some(["'", "'"]),
                ..JSON
            },
            tree,
        )
    }),
    ("values in single quotes", |tree, _| {
        with(
            Spelling {
                value_quotes: ["'", "'"],
                ..JSON
            },
            tree,
        )
    }),
    ("keys without quotes", |tree, _| {
        with(
            Spelling {
                key_quotes: None,
                ..JSON
            },
            tree,
        )
    }),
    ("keys without quotes on several lines", |tree, _| {
        with(
            Spelling {
                key_quotes: None,
                ..LINES
            },
            tree,
        )
    }),
    ("JSON5", |tree, _| {
        let quotes = ["'", "'"];
        with(
            Spelling {
                key_quotes: None,
                value_quotes: quotes,
                trailing: ",",
                comment: " // note",
                ..LINES
            },
            tree,
        )
    }),
    ("trailing commas", |tree, _| {
        with(
            Spelling {
                trailing: ",",
                ..JSON
            },
            tree,
        )
    }),
    ("trailing commas on several lines", |tree, _| {
        with(
            Spelling {
                trailing: ",",
                ..LINES
            },
            tree,
        )
    }),
    ("raw line breaks", |tree, _| {
        let raw = any(tree, &|text| text.contains('\n'));
        raw.then(|| spell(tree, Spelling { raw: "\n", ..JSON }))
    }),
    ("raw line breaks and tabs", |tree, _| {
        let raw = any(tree, &|text| text.contains(['\n', '\t']));
        raw.then(|| spell(tree, Spelling { raw: "\n\t", ..LINES }))
    }),
    ("comments `//`", |tree, _| {
        with(
            Spelling {
                comment: " // as agreed",
                ..LINES
            },
            tree,
        )
    }),
    ("comments `/* */`", |tree, _| {
        with(
            Spelling {
                comment: " /* as agreed */",
                ..LINES
            },
            tree,
        )
    }),
    ("comments `/* */` on one line", |tree, _| {
        with(
            Spelling {
                comment: " /* \"as\" agreed */",
                ..JSON
            },
            tree,
        )
    }),
    ("comments `#`", |tree, _| {
        with(
            Spelling {
                comment: "  # as agreed",
                ..LINES
            },
            tree,
        )
    }),
    ("comments with quotes", |tree, _| {
        with(
            Spelling {
                comment: "  // the \"id\" isn't 'new'",
                ..LINES
            },
            tree,
        )
    }),
    ("a comment before the first key", |tree, _| {
        Some(spell(tree, LINES).replacen("{\n", "{\n  // the arguments\n", 1))
    }),
    ("escaped apostrophes", |tree, json| {
        (any(tree, &|text| text.contains('\''))).then(|| json.replace('\'', "\\'"))
    }),
    ("a fence with a language", |_, json| {
        Some(format!("```json\n{json}\n```"))
    }),
    ("a fence", |_, json| Some(format!("```\n{json}\n```"))),
    ("a fence on one line", |_, json| {
        Some(format!("```json {json} ```"))
    }),
    ("a fence without its end", |_, json| {
        Some(format!("```json\n{json}\n"))
    }),
    ("a fence after a sentence", |_, json| {
        Some(format!("Here is the call:\n\n```json\n{json}\n```\n"))
    }),
    ("a sentence before the value", |_, json| {
        Some(format!("I will call the tool now:\n\n{json}"))
    }),
    ("a sentence before the value on one line", |_, json| {
        Some(format!("Sure! Here you go: {json}"))
    }),
    ("a sentence after the value", |_, json| {
        Some(format!("{json}\n\nLet me know if you need more."))
    }),
    ("the label `Arguments:`", |_, json| {
        Some(format!("Arguments: {json}"))
    }),
    ("the label `Action Input:`", |_, json| {
        Some(format!("Action Input: {json}"))
    }),
    ("tags", |_, json| {
        Some(format!("<tool_call>\n{json}\n</tool_call>"))
    }),
    ("thoughts", |_, json| {
        Some(format!(
            "<think>\nThe \"path\" is {{x}}, I guess.\n</think>\n\n{json}"
        ))
    }),
    ("a special token after the value", |_, json| {
        Some(format!("{json}<|im_end|>"))
    }),
    ("a semicolon after the value", |_, json| Some(format!("{json};"))),
    ("a comma after the value", |_, json| Some(format!("{json},"))),
    ("repeated", |_, json| Some(format!("{json}{json}"))),
    ("repeated on several lines", |_, json| {
        Some(format!("{json}\n{json}"))
    }),
    ("after `{}`", |_, json| Some(format!("{{}}{json}"))),
    ("escaped as a whole", |_, json| {
        Some(json.replace('\\', "\\\\").replace('"', "\\\""))
    }),
    ("doubled braces", |tree, _| {
        let deep = spell(tree, JSON).matches('{').count() > 1;
        (!deep).then(|| {
            spell(
                tree,
                Spelling {
                    brackets: [["[", "]"], ["{{", "}}"]],
                    ..JSON
                },
            )
        })
    }),
    ("`\\n` as two characters between tokens", |tree, _| {
        let lines = spell(
            tree,
            Spelling {
                indent: Some(""),
                ..JSON
            },
        );
        (!any(tree, &|text| text.contains('\n'))).then(|| lines.replace('\n', "\\n"))
    }),
    ("a comma missing between lines", |tree, _| {
        let text = spell(tree, LINES);
        let at = between_members(&text, ",\n  ")?;
        Some([&text[..at], &text[at + 1..]].concat())
    }),
    ("a comma missing on one line", |tree, _| {
        let text = spell(tree, JSON);
        let at = text.find("\", \"")?;
        Some([&text[..=at], &text[at + 2..]].concat())
            .filter(|text| text.contains("\": "))
            .filter(|_| {
                !any(tree, &|text| text.contains('"'))
                    && spell(tree, JSON).contains("\": \"")
                    && !spell(tree, JSON).contains('[')
            })
    }),
    ("doubled commas", |tree, _| {
        with(
            Spelling {
                separator: ",,",
                ..JSON
            },
            tree,
        )
        .filter(|text| !text.contains('['))
    }),
    ("a key without its opening quote", |tree, _| {
        let text = spell(tree, JSON);
        let JsonValue::Object(entries) = tree else {
            return None;
        };
        let key = format!("\"{}\": ", String::from_utf16_lossy(&entries.last()?.0));
        let at = text.find(&key)?;
        Some([&text[..at], &text[at + 1..]].concat())
    }),
    ("strings in backticks", |tree, _| {
        let raw = "\n\t\"";
        (!any(tree, &|text| text.contains(['`', '\\']))).then(|| {
            spell(
                tree,
                Spelling {
                    value_quotes: ["`", "`"],
                    raw,
                    ..JSON
                },
            )
        })
    }),
    ("typographic quotes", |tree, _| {
        let quotes = ["“", "”"];
        let plain = !any(tree, &|text| text.contains(['“', '”', '"']));
        plain.then(|| {
            spell(
                tree,
                Spelling {
                    value_quotes: quotes,
                    key_quotes: Some(quotes),
                    ..JSON
                },
            )
        })
    }),
    ("values in three quotes", |tree, _| {
        let plain = !any(tree, &|text| {
            text.contains("\"\"\"") || text.contains('\\') || text.ends_with('"') || text.is_empty()
        });
        plain.then(|| {
            spell(
                tree,
                Spelling {
                    value_quotes: ["\"\"\"", "\"\"\""],
                    raw: "\n\t\"",
                    ..JSON
                },
            )
        })
    }),
    ("literals of Python", |tree, _| {
        with(
            Spelling {
                literals: ["None", "True", "False"],
                ..JSON
            },
            tree,
        )
    }),
    ("literals in capitals", |tree, _| {
        with(
            Spelling {
                literals: ["NULL", "TRUE", "FALSE"],
                ..JSON
            },
            tree,
        )
    }),
    ("non-breaking spaces", |tree, _| {
        with(
            Spelling {
                indent: Some("\u{a0}"),
                ..JSON
            },
            tree,
        )
    }),
    ("unescaped backslashes", |tree, json| {
        // Every backslash must be literal: none may begin an escape.
        let letters = |text: &str| {
            let mut parts = text.split('\\').skip(1);
            parts.all(|part| part.starts_with(|next: char| !"\"\\/bfnrtuxUNav01234567'".contains(next)))
        };
        let plain = any(tree, &|text| text.contains('\\'))
            && !any(tree, &|text| text.contains(['"', '\n', '\t']) || !letters(text));
        plain.then(|| json.replace("\\\\", "\\"))
    }),
    ("quotes that are not escaped", |tree, json| {
        let quoted = any(tree, &|text| is_a_plain_quotation(text));
        let others = any(tree, &|text| {
            text.contains(['"', '\\']) && !is_a_plain_quotation(text)
        });
        (quoted && !others).then(|| json.replace("\\\"", "\""))
    }),
];

/// Returns whether a text has words in quotes, like prose.
fn is_a_plain_quotation(text: &str) -> bool {
    let parts: Vec<&str> = text.split('"').collect();
    let spoken = |part: &str| part.chars().all(|next| next.is_alphanumeric() || next == ' ');
    parts.len() >= 3
        && parts.len() % 2 == 1
        && parts.iter().enumerate().all(|(place, part)| {
            spoken(part.trim_end_matches(['.', ':', '('])) && (place % 2 == 0 || !part.is_empty())
        })
        && parts.first().is_some_and(|first| first.ends_with([' ', '(']))
}

/// Deviations without a plausible reading.
pub const AMBIGUOUS: [Deviation; 10] = [
    ("cut off in the middle", |_, json| {
        let at = (json.len() / 2..json.len()).find(|at| json.is_char_boundary(*at))?;
        Some(json[..at].to_owned())
    }),
    ("without the last bracket", |_, json| {
        Some(json.trim_end().strip_suffix('}')?.to_owned())
    }),
    ("items left out", |tree, _| {
        let text = spell(tree, JSON);
        Some(text.strip_suffix('}')?.to_owned() + ", ...}").filter(|text| text.len() > 8)
    }),
    ("another object after the value", |_, json| {
        Some(format!("{json} {{\"other\": 1}}"))
    }),
    ("another array after the value", |_, json| {
        Some(format!("{json}\n[1]"))
    }),
    ("a value missing", |tree, _| {
        Some(spell(tree, JSON).strip_suffix('}')?.to_owned() + ", \"more\": }")
    }),
    ("the only colon missing", |_, json| {
        Some(format!("{{\"more\" {json}}}"))
    }),
    ("an expression", |tree, _| {
        Some(spell(tree, JSON).strip_suffix('}')?.to_owned() + ", \"more\": 1 + 2}")
    }),
    ("a call", |tree, _| {
        Some(spell(tree, JSON).strip_suffix('}')?.to_owned() + ", \"more\": f(x)}")
    }),
    ("a string without its end", |tree, _| {
        Some(spell(tree, JSON).strip_suffix('}')?.to_owned() + ", \"more\": \"x}")
    }),
];

/// A value, and a text that deviates from the value's JSON.
pub struct Case<'a> {
    pub deviation: &'static str,
    pub text: String,
    pub tree: &'a JsonValue,
}

/// Returns each payload with each deviation that applies.
pub fn cases<'a>(payloads: &'a [JsonValue], deviations: &'a [Deviation]) -> impl Iterator<Item = Case<'a>> {
    let mut random = Random::new(47);
    payloads.iter().flat_map(move |tree| {
        let style = *random.pick(&[Style::Spaced, Style::Compact, Style::Pretty]);
        let right = json(tree, style, &mut random);
        deviations.iter().filter_map(move |(deviation, deviate)| {
            deviate(tree, &right).map(|text| Case {
                deviation,
                text,
                tree,
            })
        })
    })
}

/// Returns typical arguments of tools, with words that every spelling can represent.
pub fn calls() -> Vec<JsonValue> {
    let mut random = Random::new(45);
    (0..110).map(|_| call(&mut random)).collect()
}

fn call(random: &mut Random) -> JsonValue {
    let text = |random: &mut Random| JsonValue::string(random.pick::<&str>(&TEXTS));
    let path = |random: &mut Random| JsonValue::string(random.pick::<&str>(&PATHS));
    let number = |random: &mut Random| {
        JsonValue::number(random.pick::<&str>(&["0", "3", "-1", "20", "0.5", "1500", "1e6"]))
    };
    let flag = |random: &mut Random| JsonValue::Bool(random.one_in(2));
    match random.below(7) {
        0 => JsonValue::object([
            ("path", path(random)),
            ("limit", number(random)),
            ("recursive", flag(random)),
        ]),
        1 => JsonValue::object([
            ("query", text(random)),
            ("unit", JsonValue::string("celsius")),
            ("days", number(random)),
        ]),
        2 => {
            let todo = |random: &mut Random, id: &str| {
                JsonValue::object([
                    ("content", text(random)),
                    ("status", JsonValue::string("pending")),
                    ("id", JsonValue::string(id)),
                ])
            };
            JsonValue::object([(
                "todos",
                JsonValue::Array(vec![todo(random, "1"), todo(random, "2")]),
            )])
        }
        3 => JsonValue::object([
            ("command", JsonValue::string(random.pick::<&str>(&COMMANDS))),
            ("timeout", number(random)),
            ("env", JsonValue::Null),
        ]),
        4 => JsonValue::object([
            ("location", text(random)),
            (
                "tags",
                JsonValue::Array(vec![JsonValue::string("new"), text(random)]),
            ),
            ("draft", flag(random)),
        ]),
        5 => JsonValue::object([
            ("name", JsonValue::string("web_search")),
            (
                "arguments",
                JsonValue::object([("query", text(random)), ("top_k", number(random))]),
            ),
        ]),
        _ => JsonValue::object([
            ("points", JsonValue::Array(vec![number(random), number(random)])),
            ("label", text(random)),
            ("path", path(random)),
        ]),
    }
}

/// Returns typical files that a tool writes.
pub fn code() -> Vec<JsonValue> {
    let mut random = Random::new(46);
    let mut payloads = Vec::new();
    while payloads.len() < 110 {
        let lines = (0..2 + random.below(4)).map(|_| *random.pick::<&str>(&LINES_OF_CODE));
        let content = lines.collect::<Vec<_>>().join("\n") + "\n";
        let path = JsonValue::string(random.pick::<&str>(&PATHS));
        payloads.push(match random.below(3) {
            0 => JsonValue::object([("path", path), ("content", JsonValue::string(&content))]),
            1 => JsonValue::object([
                ("content", JsonValue::string(&content)),
                ("path", path),
                ("overwrite", JsonValue::Bool(true)),
            ]),
            _ => JsonValue::object([
                ("path", path),
                ("old", JsonValue::string(random.pick::<&str>(&LINES_OF_CODE))),
                ("new", JsonValue::string(&content)),
            ]),
        });
    }
    payloads
}

const TEXTS: [&str; 16] = [
    "weather in Paris",
    "Oslo",
    "创建项目结构",
    "it's here",
    "say \"hello\" twice",
    "Fix the bug (see the log)",
    "a, b and c",
    "key: value",
    "100% done; 3 left",
    "The tool is called \"grep\" here",
    "naïve café",
    "don't",
    "",
    "🎉 Ship it!",
    "x",
    "\\d+\\.\\w*",
];

const PATHS: [&str; 8] = [
    "src/main.rs",
    "/tmp/a.txt",
    "README.md",
    "~/notes/plan.md",
    "C:/work/x.py",
    "./[id]/page.tsx",
    "C:\\Users\\Public\\Documents\\x.py",
    "a b.txt",
];

const COMMANDS: [&str; 8] = [
    "ls -la",
    "git diff HEAD",
    "cargo test -p x",
    "grep -rn 'fn main' src",
    "echo \"hello world\"",
    "find . -name \"*.rs\"",
    "sed -i 's/a/b/g' f.txt",
    "cat a.txt | wc -l",
];

const LINES_OF_CODE: [&str; 24] = [
    "import os",
    "def f(x):",
    "    return x + 1",
    "print(\"hello\")",
    "print('hello')",
    "x = {\"a\": 1, \"b\": [1, 2]}",
    "if (a == b) { return; }",
    "// a comment",
    "# a comment",
    "for i in range(10):",
    "\tpass",
    "let s = `x`;",
    "const re = /\\d+/g;",
    "s = \"a\\nb\"",
    "fn main() {",
    "}",
    "    println!(\"{}\", x);",
    "<div class=\"a\">b</div>",
    "SELECT * FROM t WHERE x = 'y';",
    "x = '\\t'.join(a)",
    "",
    "it's a note",
    "a = [1, 2, 3]",
    "path = r\"C:\\temp\"",
];
