//! Deterministic random arguments of realistic tools.

use tests::exact_json::{JsonValue, parse_json};
use tests::random::Random;
use tests::written::{Style, json, repr};

use crate::literal::read_python;

/// Generates the arguments of a call: an object, or rarely an array, since a string may contain either.
pub fn arguments(random: &mut Random) -> JsonValue {
    match random.below(9) {
        0 | 1 => todos(random),
        2 => edit(random),
        3 => command(random),
        4 => search(random),
        5 => options(random, 3),
        6 => rows(random),
        7 => JsonValue::Array((0..random.below(4)).map(|_| value(random, 2)).collect()),
        _ => JsonValue::Object(entries(random, 4, 2)),
    }
}

/// Generates arguments whose strings are prose with many quotes.
pub fn nasty_prose(random: &mut Random) -> JsonValue {
    with_strings(random, &NASTY)
}

/// Generates arguments whose strings are code.
pub fn code(random: &mut Random) -> JsonValue {
    with_strings(random, &CODE)
}

fn with_strings(random: &mut Random, texts: &[&str]) -> JsonValue {
    let content = JsonValue::string(pick(random, texts));
    let other = JsonValue::string(pick(random, texts));
    let id = JsonValue::string(pick(random, &WORDS));
    match random.below(6) {
        0 => JsonValue::object([("content", content), ("id", id)]),
        1 => JsonValue::object([("id", id), ("content", content), ("count", number(random))]),
        2 => JsonValue::object([("items", JsonValue::Array(vec![content, other]))]),
        3 => JsonValue::object([("items", JsonValue::Array(vec![content])), ("note", other)]),
        4 => JsonValue::object([(
            "todos",
            JsonValue::Array(vec![JsonValue::object([("content", content), ("id", id)])]),
        )]),
        _ => JsonValue::object([("content", content)]),
    }
}

fn todos(random: &mut Random) -> JsonValue {
    let count = 1 + random.below(3);
    let todo = |random: &mut Random, place: usize| {
        let mut entries = vec![
            ("content", any_text(random)),
            ("id", JsonValue::string(&(place + 1).to_string())),
            (
                "status",
                JsonValue::string(pick(random, &["pending", "in_progress", "completed"])),
            ),
        ];
        if random.one_in(3) {
            entries.push(("activeForm", any_text(random)));
        }
        if random.one_in(4) {
            entries.push(("done", JsonValue::Bool(random.one_in(2))));
        }
        JsonValue::Object(
            entries
                .into_iter()
                .map(|(key, value)| (units(key), value))
                .collect(),
        )
    };
    let todos = (0..count).map(|place| todo(random, place)).collect();
    JsonValue::object([("todos", JsonValue::Array(todos))])
}

fn edit(random: &mut Random) -> JsonValue {
    JsonValue::object([
        ("file_path", JsonValue::string(pick(random, &PATHS))),
        ("old_string", JsonValue::string(pick(random, &CODE))),
        ("new_string", JsonValue::string(pick(random, &CODE))),
        ("replace_all", JsonValue::Bool(random.one_in(2))),
    ])
}

fn command(random: &mut Random) -> JsonValue {
    JsonValue::object([
        ("command", JsonValue::string(pick(random, &SHELL))),
        ("timeout", number(random)),
        (
            "env",
            if random.one_in(2) {
                JsonValue::Null
            } else {
                options(random, 1)
            },
        ),
    ])
}

fn search(random: &mut Random) -> JsonValue {
    let paths = (0..random.below(4))
        .map(|_| JsonValue::string(pick(random, &PATHS)))
        .collect();
    JsonValue::object([
        ("pattern", JsonValue::string(pick(random, &PATTERNS))),
        ("paths", JsonValue::Array(paths)),
        ("-n", JsonValue::Bool(true)),
        ("head_limit", number(random)),
    ])
}

/// Generates rows of numbers, as in a sheet or a matrix.
fn rows(random: &mut Random) -> JsonValue {
    let row = |random: &mut Random| {
        let cells = (0..random.below(4)).map(|_| {
            if random.one_in(4) {
                any_text(random)
            } else {
                number(random)
            }
        });
        JsonValue::Array(cells.collect())
    };
    let rows = (0..1 + random.below(3)).map(|_| row(random)).collect();
    JsonValue::object([("rows", JsonValue::Array(rows)), ("sheet", any_text(random))])
}

fn options(random: &mut Random, depth: usize) -> JsonValue {
    let count = random.below(4);
    JsonValue::Object(entries(random, count, depth))
}

fn entries(random: &mut Random, count: usize, depth: usize) -> Vec<(Vec<u16>, JsonValue)> {
    let entry = |random: &mut Random| {
        let key = if random.one_in(12) {
            any_units(random)
        } else {
            units(pick(random, &WORDS))
        };
        (key, value(random, depth))
    };
    (0..count).map(|_| entry(random)).collect()
}

/// Generates any value up to this depth.
pub fn value(random: &mut Random, depth: usize) -> JsonValue {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 | 1 => any_text(random),
        2 => number(random),
        3 => JsonValue::Bool(random.one_in(2)),
        4 if random.one_in(2) => JsonValue::Null,
        4 => JsonValue::string(pick(random, &WORDS)),
        5 => JsonValue::Array((0..random.below(4)).map(|_| value(random, depth - 1)).collect()),
        _ => options(random, depth - 1),
    }
}

/// Generates a number that JSON and `repr` write equally.
pub fn number(random: &mut Random) -> JsonValue {
    let numbers = [
        "0", "1", "-1", "7", "10", "42", "1000", "-273", "3.14", "0.5", "-0.25", "1e+16", "1.5e-07", "2.0",
    ];
    match random.below(6) {
        0 => JsonValue::Number(random.between(-9999, 9999).to_string()),
        1 => JsonValue::number("123456789012345678901234567890"),
        _ => JsonValue::number(pick(random, &numbers)),
    }
}

fn any_text(random: &mut Random) -> JsonValue {
    JsonValue::String(any_units(random))
}

fn any_units(random: &mut Random) -> Vec<u16> {
    match random.below(12) {
        0..=2 => units(pick(random, &PLAIN)),
        3 | 4 => units(pick(random, &NASTY)),
        5 => units(pick(random, &CODE)),
        6 => units(pick(random, &SHELL)),
        7 => units(pick(random, &PATHS)),
        8 => units(pick(random, &PATTERNS)),
        9 => units(pick(random, &WORDS)),
        10 => [units(pick(random, &PLAIN)), units(pick(random, &NASTY))].concat(),
        _ => soup(random),
    }
}

/// Generates characters with a syntactic meaning, in random order.
fn soup(random: &mut Random) -> Vec<u16> {
    let mut text = String::new();
    for _ in 0..random.below(12) {
        text.push_str(pick(random, &SOUP));
    }
    units(&text)
}

fn pick<'a>(random: &mut Random, texts: &[&'a str]) -> &'a str {
    texts[random.below(texts.len())]
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

const SOUP: [&str; 44] = [
    "\"", "'", "\\", "{", "}", "[", "]", "(", ")", ":", ",", ", ", ": ", " ", "\n", "\t", "\r", "#", "/",
    "//", "a", "b", "n", "u", "x", "0", "1", "-", ".", "é", "中", "😀", "“", "”", "‘", "’", "\u{a0}",
    "\u{200b}", "\u{7f}", "\u{1}", "```", "True", "None", "null",
];

const WORDS: [&str; 16] = [
    "id",
    "name",
    "content",
    "path",
    "a",
    "b-c",
    "max_tokens",
    "标题",
    "x y",
    "true",
    "None",
    "0",
    "$ref",
    "user.name",
    "",
    "it's",
];

const PLAIN: [&str; 14] = [
    "创建项目结构和主程序文件",
    "实现用户登录功能，包括：验证、会话、退出",
    "Write the tests",
    "Fix the bug in the parser (see #42)",
    "🎉 Ship it! 🚀",
    "naïve café, crème brûlée",
    "a, b, c",
    "key: value",
    "1. First\n2. Second\n",
    "",
    " ",
    "日本語のテキスト。改行\nあり",
    "100% done; 3 left",
    "https://example.org/a?b=c&d=[e]#f",
];

const NASTY: [&str; 40] = [
    "it's",
    "don't, won't, can't",
    "the users' files",
    "rock 'n' roll",
    "'quoted'",
    "\"quoted\"",
    "say \"hi\" now",
    "He said \"no\", then \"yes\".",
    "\"a\", \"b\" and \"c\"",
    "a \"b\": c",
    "\"key\": \"value\"",
    "'key': 'value'",
    "{\"a\": 1, \"b\": [\"c\"]}",
    "{'a': 'b', 'c': \"d\"}",
    "[\"x\", \"y\"]",
    "5\" pipe and 6' beam",
    "19\" monitor",
    "90° 5' 12\" N",
    "she said: \"it's 'fine'\"",
    "“smart” and ‘single’",
    "a \"b",
    "b\" c",
    "\"",
    "'",
    "\"\"",
    "''",
    "\", \"",
    "', '",
    "\": \"",
    "\"}, {\"",
    "end\"}",
    "end'}",
    "end\"]",
    "用户说“你好”，然后说\"再见\"。",
    "点击\"确定\"按钮",
    "l'été d'Anne",
    "'90s music, '80s hair",
    "The \"quick\" \"brown\" fox",
    "(\"like this\")",
    "options: \"a\", \"b\"",
];

const CODE: [&str; 32] = [
    "x = ' '.join(a)",
    "x = '\\n'.join(a).split(', ')",
    "cut -d ' ' -f 2",
    "tr ' ' ':'",
    "a = ' '.split(':')",
    "x = \", \".join(y)\nz = \" \".split(\":\")",
    "print(\"hi\")",
    "print('hi')",
    "x = {\"a\": 1, 'b': \"c\"}",
    "def f(s=\"\"):\n    return s['key']\n",
    "if (a[\"b\"] == \"c\") { return; }",
    "console.log(`it's ${x[\"y\"]}`);",
    "printf(\"%d\\n\", x);",
    "let re = /\"[^\"]*\"/g;",
    "let s = \"a\\\"b\";",
    "let s = 'a\\'b';",
    "assert x == \"\"",
    "a = [\"x\", \"y\"]\nb = ['x', 'y']",
    "<a href=\"x\" class='y'>z</a>",
    "<div id=\"a\">\"b\"</div>",
    "SELECT 'it''s', \"col\" FROM t WHERE x = 'y';",
    "\"\"\"Docstring.\"\"\"\n",
    "'''raw'''",
    "x = r'\\d+' # \"digits\"",
    "fn main() { println!(\"{}\", 'a'); }",
    "echo \"$HOME/it's\"",
    "{\n  \"name\": \"x\",\n  \"v\": [1, 2]\n}",
    "import json; json.loads('{\"a\": \"b\"}')",
    "s = \"a\" + \"b\"",
    "f(\"a\", \"b\")",
    "d[\"k\"]: \"v\",",
    "return {\"ok\": true};",
];

const SHELL: [&str; 14] = [
    "ls -la | grep \"foo bar\"",
    "echo 'it'\\''s'",
    "find . -name \"*.rs\" -exec grep -l 'x' {} \\;",
    "awk '{print $1, \"x\"}' f.txt",
    "sed -i 's/\"a\"/\"b\"/g' f",
    "git commit -m \"fix: don't crash\"",
    "printf '\\x41\\n'",
    "curl -d '{\"a\": \"b\"}' http://localhost:8080",
    "cd \"C:\\Program Files\"",
    "export A=\"b\" C='d'",
    "cat <<'EOF'\nhi\nEOF\n",
    "tr '\\n' ' '",
    "echo \\\"x\\\"",
    "python3 -c \"print('a', \\\"b\\\")\"",
];

const PATHS: [&str; 14] = [
    "C:\\Users\\name\\new.txt",
    "C:\\temp\\data\\",
    "C:\\",
    "\\\\server\\share\\x",
    "D:\\b\\f\\n\\r\\t\\u",
    "src/main.rs",
    "/tmp/it's here/a.txt",
    "/home/用户/文件.txt",
    "~/a b/c",
    "./[id]/page.tsx",
    "a\\b",
    "\\",
    "/",
    "C:/x/y",
];

const PATTERNS: [&str; 16] = [
    "\\d+\\.\\d*",
    "^\\s*\"([^\"\\\\]|\\\\.)*\"$",
    "['\"]",
    "\\bfn\\b",
    "[\\w.-]+@[\\w-]+",
    "\\\\",
    "\\'",
    "\\\"",
    "$\\alpha + \\beta \\times \\frac{1}{2}$",
    "\\begin{a}\\nabla\\end{a}",
    "**bold** `code` _it's_",
    "| a | b |\n|---|---|\n| \"x\" | 'y' |",
    "# Title\n\n- \"item\"\n- it's\n\n```js\nlet a = \"b\";\n```\n",
    "{{name}}",
    "%s: %d",
    "\\u00e9\\x41",
];

#[test]
fn generated_texts_are_parsed_to_their_values() {
    let mut random = Random::new(1);
    for _ in 0..400 {
        let tree = arguments(&mut random);
        for style in Style::ALL {
            let text = json(&tree, style, &mut random);
            assert_eq!(parse_json(&text).as_ref(), Some(&tree), "{text}");
        }
        for tuples in [false, true] {
            let text = repr(&tree, tuples);
            assert_eq!(read_python(&text).as_ref(), Some(&tree), "{text}");
        }
    }
}
