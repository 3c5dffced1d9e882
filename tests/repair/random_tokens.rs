//! Random texts of every kind: similar to JSON, similar to Python, or neither.

use tests::random::Random;

use crate::json_spellings::document;

/// Generates any text.
pub fn any(random: &mut Random) -> String {
    match random.below(6) {
        0 => document(random),
        1 => {
            let source = document(random);
            mutated(&source, random)
        }
        2 => tokens(random),
        3 => {
            let source = written_loosely(random);
            mutated(&source, random)
        }
        _ => written_loosely(random),
    }
}

/// Writes a value like Python, or like a careless model.
fn written_loosely(random: &mut Random) -> String {
    let mut text = String::from(if random.one_in(20) { "Here: " } else { "" });
    loosely(random, 4, &mut text);
    text.push_str(match random.below(40) {
        0 => "\n\nDone.",
        1 => "}",
        _ => "",
    });
    text
}

fn loosely(random: &mut Random, depth: usize, text: &mut String) {
    if depth == 0 || depth < 4 && random.one_in(2) {
        let choices: &[&str] = if random.one_in(60) { &TOKENS } else { &VALUES };
        text.push_str(random.pick::<&str>(choices));
        return;
    }
    let (open, close) = *random.pick(&[("{", "}"), ("{", "}"), ("{", "}"), ("[", "]"), ("(", ")")]);
    text.push_str(open);
    for place in 0..random.below(4) {
        if place > 0 {
            text.push_str(if random.one_in(30) { " " } else { ", " });
        }
        if open == "{" {
            text.push_str(random.pick::<&str>(&KEYS));
            text.push_str(": ");
        }
        loosely(random, depth - 1, text);
    }
    text.push_str(if random.one_in(8) { "," } else { "" });
    text.push_str(close);
}

/// Removes, inserts, doubles or changes some characters of a text.
pub fn mutated(source: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = source.chars().collect();
    for _ in 0..1 + random.below(3) {
        if characters.is_empty() {
            break;
        }
        // Near the ends, many rules differ.
        let at = match random.below(4) {
            0 => random.below(characters.len().min(8)),
            1 => characters.len() - 1 - random.below(characters.len().min(8)),
            _ => random.below(characters.len()),
        };
        match random.below(5) {
            0 => drop(characters.remove(at)),
            1 => characters.insert(at, characters[at]),
            2 => characters.insert(at, *random.pick(&CHARACTERS)),
            3 => characters.truncate(at),
            _ => characters[at] = *random.pick(&CHARACTERS),
        }
    }
    characters.into_iter().collect()
}

/// Joins tokens of JSON, Python and prose, which often form nearly valid texts.
fn tokens(random: &mut Random) -> String {
    let mut text =
        String::from(*random.pick(&["", "{", "[", "{'a': ", "{\"a\": [", "(", "Here: ", "```json\n"]));
    for _ in 0..random.below(30) {
        text.push_str(random.pick::<&str>(&TOKENS));
    }
    text
}

const CHARACTERS: [char; 36] = [
    '{',
    '}',
    '[',
    ']',
    '(',
    ')',
    '"',
    '\'',
    '\\',
    ',',
    ':',
    ' ',
    '\n',
    '\t',
    '\r',
    '#',
    '/',
    '*',
    '-',
    '+',
    '.',
    '0',
    '1',
    '9',
    'e',
    '_',
    't',
    'u',
    'x',
    'n',
    'N',
    '`',
    '\0',
    '\u{a0}',
    '\u{201c}',
    '\u{1f600}',
];

const KEYS: [&str; 6] = ["'a'", "\"b\"", "c", "u'd'", "5", "'it\\'s'"];

const VALUES: [&str; 28] = [
    "'a'",
    "\"b\"",
    "''",
    "\"\"",
    "'say \"hi\"'",
    "\"it's\"",
    "'it\\'s'",
    "\"say \"hi\" now\"",
    "'it's so'",
    "'they're so'",
    "'\\033'",
    "'\\xe9\\xa1'",
    "+1234567.5",
    "'\\x41'",
    "\"C:\\dir\"",
    "r'\\d'",
    "'a' 'b'",
    "'''c'''",
    "\"two\nlines\"",
    "1",
    "-2.5e3",
    "0x1F",
    "1_000",
    ".5",
    "True",
    "None",
    "null",
    "1 # one\n",
];

const TOKENS: [&str; 62] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "{}",
    "[]",
    "()",
    ", ",
    ",",
    ": ",
    ":",
    "'a'",
    "'a': ",
    "\"a\"",
    "\"a\": ",
    "'k': 'v'",
    "\"k\": \"v\"",
    ", 'b': 2",
    ", \"b\": 2",
    "\"",
    "'",
    "'''",
    "\"\"\"",
    "\\",
    "\\n",
    "\\\"",
    "\\'",
    "\\x41",
    "\\u00e9",
    "\\d",
    "it's",
    "say \"hi\" ",
    " ",
    "\n",
    "   ",
    "1",
    "-2.5",
    "0x1F",
    "1_000",
    ".5",
    "01",
    "1e400",
    "True",
    "False",
    "None",
    "true",
    "null",
    "nul",
    "r'",
    "u'",
    "b'",
    "# x\n",
    "/* x */",
    "// x\n",
    "```",
    "\u{201c}x\u{201d}",
    "\u{a0}",
    "\u{7}",
    "text",
    "}\n",
];
