//! Texts with every production of the JSON5 grammar (<https://spec.json5.org>) are repaired to the value of the reference implementation,
//! or stay unchanged.
//!
//! Excluded are `NaN` and `Infinity`, which JSON cannot represent, and escapes such as `\d`, whose backslash JSON5 removes. 2,000 texts are
//! tested, 100,000 with `REPAIR_LONG=1`. Without Node and its package `json5`, the tests are ignored with a message, or fail if
//! `REPAIR_TESTS=required` is set.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tests::long::long;
use tests::random::Random;

use crate::oracle::{Judged, answer_of_the_repair, ignored};

#[test]
fn json5_is_repaired_as_by_its_reference_or_unchanged() {
    let Some(packages) = packages() else {
        return;
    };
    let mut node = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/repair/json5.mjs"))
        .arg(packages)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = node.stdin.take().unwrap();
    let mut random = Random::new(17);
    for _ in 0..if long() { 100_000 } else { 2_000 } {
        let text = text(&mut random);
        let (status, result) = answer_of_the_repair(&text);
        let line = serde_json::to_string(&(&text, status, result)).unwrap();
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "json5.mjs failed");
    let judged: Judged = serde_json::from_slice(&output.stdout).unwrap();
    judged.report("json5");
    judged.nothing_is_wrong();
    judged.are_read(JSON5_READ);
}

/// Minimum share of repaired texts, slightly below the current share, so that a repair that rejects every text fails.
const JSON5_READ: f64 = 0.95;

/// Returns a folder whose `node_modules` has `json5`. Returns `None`, with a message, if there is none.
fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os("SDK_NODE").map(PathBuf::from);
    let installed = folder.filter(|folder| folder.join("node_modules/json5").is_dir());
    let version = Command::new("node").arg("--version").output();
    let has_node = version.is_ok_and(|output| output.status.success());
    if installed.is_none() || !has_node {
        ignored(
            "what only JSON5 can judge, for want of Node and a folder with tests/sdks/package.json installed, named by \
             SDK_NODE; `.ci/run programs` installs them",
        );
        return None;
    }
    installed
}

/// Writes a JSON5 text, usually an object or an array, like arguments.
fn text(random: &mut Random) -> String {
    let mut writer = Writer {
        text: String::new(),
        random,
    };
    writer.space();
    match writer.random.below(20) {
        0 => writer.value(0),
        1..=5 => writer.array(2),
        _ => writer.object(2),
    }
    writer.space();
    writer.text
}

struct Writer<'a> {
    text: String,
    random: &'a mut Random,
}

impl Writer<'_> {
    fn pick(&mut self, choices: &[&str]) {
        self.text.push_str(self.random.pick::<&str>(choices));
    }

    fn value(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 12 } else { 17 }) {
            0..6 => self.string(false),
            6..10 => self.number(),
            10 => self.pick(&["true", "false"]),
            11 => self.text.push_str("null"),
            12..15 => self.object(depth - 1),
            _ => self.array(depth - 1),
        }
    }

    fn object(&mut self, depth: usize) {
        self.text.push('{');
        self.members('}', |writer| {
            writer.key();
            writer.space();
            writer.text.push(':');
            writer.space();
            writer.value(depth);
        });
    }

    fn array(&mut self, depth: usize) {
        self.text.push('[');
        self.members(']', |writer| writer.value(depth));
    }

    fn members(&mut self, closing: char, mut member: impl FnMut(&mut Self)) {
        let count = *self.random.pick(&[0, 1, 1, 2, 2, 3, 4]);
        self.space();
        for place in 0..count {
            member(self);
            self.space();
            if place + 1 < count || self.random.one_in(3) {
                self.text.push(',');
                self.space();
            }
        }
        self.text.push(closing);
    }

    fn key(&mut self) {
        if self.random.one_in(3) {
            self.string(true);
            return;
        }
        let rare = self.random.one_in(30);
        self.pick(if rare {
            // The name of a literal, an escape, a combined letter, a joiner, another underscore.
            &[
                "null",
                "NaN",
                "Infinity",
                "if",
                "\\u0061b",
                "a\\u0062",
                "e\u{301}",
                "a\u{200d}b",
                "a\u{203f}b",
                "ªº",
                "Ⅷ",
            ]
        } else {
            &[
                "a",
                "path",
                "file_path",
                "_",
                "$",
                "$ref",
                "_x1",
                "été",
                "名前",
                "Ключ",
                "a1",
                "isNew",
                "In",
                "𝒳",
            ]
        });
    }

    fn string(&mut self, key: bool) {
        let quote = if self.random.one_in(2) { '"' } else { '\'' };
        self.text.push(quote);
        for _ in 0..*self.random.pick(&[0, 1, 1, 2, 3, 5]) {
            match self.random.below(12) {
                0..7 => self.pick(&PLAIN),
                7 => self.pick(&[if quote == '"' { "'" } else { "\"" }]),
                8 if quote == '"' => self.pick(&["\\/", "\\n"]), // in other quotes, `\/` is two characters in Python
                8..10 => self.pick(&ESCAPES),
                10 if quote == '\'' => self.pick(&["\\x41", "\\xe9", "\\0 ", "\\n"]),
                10 => self.pick(&ESCAPES),
                // Excluded are `\` before U+2028, which Python keeps and JSON5 removes, and a raw control character in a key, which may be
                // a lost quote.
                _ if key => self.pick(&["\\\n", "\\\r\n", "\u{2028}", "\u{2029}"]),
                _ => self.pick(&["\\\n", "\\\r\n", "\u{2028}", "\u{2029}", "\t", "\u{1}"]),
            }
        }
        // These escapes have another meaning in Python, or none.
        if self.random.one_in(50) {
            self.pick(&[
                "\\v",
                "\\0",
                "\\x7e",
                "\\r\\xE9",
                "\\ud83d\\ude00",
                "\\udC00",
                "\\/",
            ]);
            self.text.push(' '); // a digit must not follow `\0`
        }
        self.text.push(quote);
    }

    fn number(&mut self) {
        self.pick(&["", "", "", "-", "-", "+"]);
        self.pick(&[
            "0",
            "1",
            "42",
            "9007199254740993",
            "0.5",
            "3.14",
            "2.50",
            ".5",
            ".125",
            "5.",
            "0.",
            "1e5",
            "1E+5",
            "2.5e-3",
            ".5e1",
            "5.e3",
            "0e0",
            "0x1F",
            "0XfF",
            "0x10",
            "0xDEADBEEFCAFE",
        ]);
    }

    /// Writes optional white space and comments.
    fn space(&mut self) {
        if self.random.one_in(2) {
            return;
        }
        match self.random.below(30) {
            0..18 => self.pick(&[" ", "\n", "\n  "]),
            18..24 => self.pick(&[
                "\t", "\u{b}", "\u{c}", "\u{a0}", "\u{feff}", "\r", "\r\n", "\u{2028}", "\u{2029}",
                "\u{2003}", "\u{3000}", "\u{1680}", "\u{202f}",
            ]),
            24..27 => {
                self.text.push_str("//");
                self.comment();
                self.pick(&["\n", "\n", "\n  ", "\r\n", "\r", "\u{2028}", "\u{2029}"]);
            }
            _ => {
                self.text.push_str("/*");
                self.comment();
                self.pick(&["", "*", "\n", "\n * "]);
                self.comment();
                self.text.push_str("*/");
            }
        }
    }

    fn comment(&mut self) {
        self.pick(&[
            "",
            " ",
            " as agreed ",
            " \"a\": 1, ",
            " it's ",
            " {'a': [",
            "]}",
            " // twice ",
            " /* ",
            "#",
            " 注释 ",
            "\\",
        ]);
    }
}

/// Contents of strings without escapes, for both kinds of quotes.
const PLAIN: [&str; 24] = [
    "a",
    "text",
    " ",
    "src/main.rs",
    "中文",
    "é",
    "😀",
    ",",
    ": ",
    "{",
    "}",
    "[",
    "]",
    "//",
    "/*",
    "#",
    "1",
    "it is",
    "(x)",
    "`",
    "%",
    "\u{a0}",
    "True",
    "-",
];

const ESCAPES: [&str; 11] = [
    "\\'", "\\\"", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u00e9", "\\u4E2d", "\\n",
];
