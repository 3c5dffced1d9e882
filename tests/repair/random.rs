//! Deterministic random arguments of realistic tools.

use tests::judge::{Tree, read_json};
use tests::random::Random;
use tests::written::{Style, json, repr};

use crate::literal::read_python;

/// Generates the arguments of a call: an object, or rarely an array, since a string may contain either.
pub fn arguments(random: &mut Random) -> Tree {
    match random.below(9) {
        0 | 1 => todos(random),
        2 => edit(random),
        3 => command(random),
        4 => search(random),
        5 => options(random, 3),
        6 => rows(random),
        7 => Tree::List((0..random.below(4)).map(|_| value(random, 2)).collect()),
        _ => Tree::Map(entries(random, 4, 2)),
    }
}

/// Generates arguments whose strings are prose with many quotes.
pub fn nasty_prose(random: &mut Random) -> Tree {
    with_strings(random, &NASTY)
}

/// Generates arguments whose strings are code.
pub fn code(random: &mut Random) -> Tree {
    with_strings(random, &CODE)
}

fn with_strings(random: &mut Random, texts: &[&str]) -> Tree {
    let content = Tree::text(pick(random, texts));
    let other = Tree::text(pick(random, texts));
    let id = Tree::text(pick(random, &WORDS));
    match random.below(6) {
        0 => Tree::map([("content", content), ("id", id)]),
        1 => Tree::map([("id", id), ("content", content), ("count", number(random))]),
        2 => Tree::map([("items", Tree::List(vec![content, other]))]),
        3 => Tree::map([("items", Tree::List(vec![content])), ("note", other)]),
        4 => Tree::map([(
            "todos",
            Tree::List(vec![Tree::map([("content", content), ("id", id)])]),
        )]),
        _ => Tree::map([("content", content)]),
    }
}

fn todos(random: &mut Random) -> Tree {
    let count = 1 + random.below(3);
    let todo = |random: &mut Random, place: usize| {
        let mut entries = vec![
            ("content", any_text(random)),
            ("id", Tree::text(&(place + 1).to_string())),
            (
                "status",
                Tree::text(pick(random, &["pending", "in_progress", "completed"])),
            ),
        ];
        if random.one_in(3) {
            entries.push(("activeForm", any_text(random)));
        }
        if random.one_in(4) {
            entries.push(("done", Tree::Bool(random.one_in(2))));
        }
        Tree::Map(
            entries
                .into_iter()
                .map(|(key, value)| (units(key), value))
                .collect(),
        )
    };
    let todos = (0..count).map(|place| todo(random, place)).collect();
    Tree::map([("todos", Tree::List(todos))])
}

fn edit(random: &mut Random) -> Tree {
    Tree::map([
        ("file_path", Tree::text(pick(random, &PATHS))),
        ("old_string", Tree::text(pick(random, &CODE))),
        ("new_string", Tree::text(pick(random, &CODE))),
        ("replace_all", Tree::Bool(random.one_in(2))),
    ])
}

fn command(random: &mut Random) -> Tree {
    Tree::map([
        ("command", Tree::text(pick(random, &SHELL))),
        ("timeout", number(random)),
        (
            "env",
            if random.one_in(2) {
                Tree::Null
            } else {
                options(random, 1)
            },
        ),
    ])
}

fn search(random: &mut Random) -> Tree {
    let paths = (0..random.below(4))
        .map(|_| Tree::text(pick(random, &PATHS)))
        .collect();
    Tree::map([
        ("pattern", Tree::text(pick(random, &PATTERNS))),
        ("paths", Tree::List(paths)),
        ("-n", Tree::Bool(true)),
        ("head_limit", number(random)),
    ])
}

/// Generates rows of numbers, as in a sheet or a matrix.
fn rows(random: &mut Random) -> Tree {
    let row = |random: &mut Random| {
        let cells = (0..random.below(4)).map(|_| {
            if random.one_in(4) {
                any_text(random)
            } else {
                number(random)
            }
        });
        Tree::List(cells.collect())
    };
    let rows = (0..1 + random.below(3)).map(|_| row(random)).collect();
    Tree::map([("rows", Tree::List(rows)), ("sheet", any_text(random))])
}

fn options(random: &mut Random, depth: usize) -> Tree {
    let count = random.below(4);
    Tree::Map(entries(random, count, depth))
}

fn entries(random: &mut Random, count: usize, depth: usize) -> Vec<(Vec<u16>, Tree)> {
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
pub fn value(random: &mut Random, depth: usize) -> Tree {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 | 1 => any_text(random),
        2 => number(random),
        3 => Tree::Bool(random.one_in(2)),
        4 if random.one_in(2) => Tree::Null,
        4 => Tree::text(pick(random, &WORDS)),
        5 => Tree::List((0..random.below(4)).map(|_| value(random, depth - 1)).collect()),
        _ => options(random, depth - 1),
    }
}

/// Generates a number that JSON and `repr` write equally.
pub fn number(random: &mut Random) -> Tree {
    let numbers = [
        "0", "1", "-1", "7", "10", "42", "1000", "-273", "3.14", "0.5", "-0.25", "1e+16", "1.5e-07", "2.0",
    ];
    match random.below(6) {
        0 => Tree::Number(random.between(-9999, 9999).to_string()),
        1 => Tree::number("123456789012345678901234567890"),
        _ => Tree::number(pick(random, &numbers)),
    }
}

fn any_text(random: &mut Random) -> Tree {
    Tree::Text(any_units(random))
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
fn what_is_written_is_read_again() {
    let mut random = Random::new(1);
    for _ in 0..400 {
        let tree = arguments(&mut random);
        for style in Style::ALL {
            let text = json(&tree, style, &mut random);
            assert_eq!(read_json(&text).as_ref(), Some(&tree), "{text}");
        }
        for tuples in [false, true] {
            let text = repr(&tree, tuples);
            assert_eq!(read_python(&text).as_ref(), Some(&tree), "{text}");
        }
    }
}
