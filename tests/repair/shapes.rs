//! Malicious texts, which would cost a careless repair quadratic time, a deep stack or a panic. Tests and benchmarks share them.

/// A text of any size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Description of the repeated unit.
    pub(crate) name: &'static str,
    head: &'static str,
    /// The repeated unit.
    unit: &'static str,
    /// Closing unit, repeated equally often after all units.
    close: &'static str,
    tail: &'static str,
    /// Whether the whole text is repeated once.
    twice: bool,
}

impl Shape {
    /// Builds the shape with about this many bytes.
    pub(crate) fn text(&self, bytes: usize) -> String {
        let bytes = if self.twice { bytes / 2 } else { bytes };
        let fixed = self.head.len() + self.tail.len();
        let times = bytes.saturating_sub(fixed) / (self.unit.len() + self.close.len());
        let middle = [self.unit.repeat(times), self.close.repeat(times)].concat();
        let text = [self.head, &middle, self.tail].concat();
        if self.twice { text.repeat(2) } else { text }
    }
}

/// Repeats a unit between a beginning and an end.
const fn shape(name: &'static str, head: &'static str, unit: &'static str, tail: &'static str) -> Shape {
    Shape {
        name,
        head,
        unit,
        close: "",
        tail,
        twice: false,
    }
}

/// Repeats a unit and its closing unit.
const fn nested(name: &'static str, unit: &'static str, inside: &'static str, close: &'static str) -> Shape {
    Shape {
        name,
        head: "",
        unit,
        close,
        tail: inside,
        twice: false,
    }
}

/// Returns all shapes.
pub(crate) const SHAPES: &[Shape] = &[
    shape(
        "escaped backslashes beside one that is not",
        r#"{"a": "\d"#,
        r"\\",
        r#"x"}"#,
    ),
    shape("objects that begin with a quote", "", "{'", ""),
    shape("objects as the value of a key", "", "{'a':{", ""),
    shape("opening brackets", "", "[", ""),
    shape("brackets and commas behind a quote", "'", "[,", ""),
    shape("strings of brackets behind a name", "True", "('[", ""),
    shape("opening parentheses", "", "(", ""),
    shape("double quotes and backslashes", "", "\"\\\\\\\\", ""),
    shape("a string of backslashes", "\"", "\\\\", ""),
    shape("single quotes and backslashes", "", "'\\\\\\\\", ""),
    shape("unfinished escapes of a byte", "", "{\"a\":\"\\x", ""),
    shape("apostrophes", "{'a': '", "it's ", ""),
    shape("apostrophes that are closed", "{'a': '", "it's ", "'}"),
    shape("single quotes", "", "'", ""),
    shape("double quotes", "", "\"", ""),
    shape(
        "paths of drives in quotes, in a text with a slip",
        "{\"a\": \"\\d\", \"b\": \"",
        "\\\"C:\\\\",
        "\"}",
    ),
    shape("quoted words", "{\"a\": \"", "say \"hi\" ", ""),
    shape("quoted words that are closed", "{\"a\": \"", "say \"hi\" ", "\"}"),
    shape(
        "quoted words before what may be a key",
        "{\"a\": \"",
        "say \"hi\", \"k",
        "",
    ),
    shape("lists of words in quotes", "{\"a\": \"", "x\", \"y", ""),
    shape("fences without an object", "", "```json\n", ""),
    shape("fences and objects", "", "```json\n{", ""),
    shape("comments that open again", "", "/*/*", ""),
    shape("comments that close", "", "/**/", ""),
    shape("hashes", "", "#", ""),
    shape("comments in an array", "[", "#\n", "1]"),
    shape("commas", "{\"a\": 1", ",", "}"),
    shape("colons", "{\"a\"", ":", ""),
    shape("empty objects", "", "{}", ""),
    shape("white space behind an empty object", "{}", " ", "{'a': 1}"),
    shape("arrays without commas", "", "[1 ", ""),
    shape("strings side by side", "{'k': ", "'a' ", "}"),
    shape("strings on lines of their own", "{'k':\n", "''\n", "}"),
    shape("strings below each other", "{'k': ", "'a'\n      ", "}"),
    shape("prose with braces", "", "x { y ", ""),
    shape("white space before a comma", "{'a': 'b'", " ", ", 'c': 1}"),
    shape("white space behind a comma", "[1,", " ", "]"),
    shape("white space behind a comma and a name", "[True,", " ", "]"),
    shape("digits", "[True, ", "1", "]"),
    shape("digits and underscores", "[", "1_", "1]"),
    shape("spaces that do not break", "{", "\u{a0}", "'a': 1}"),
    shape("escaped quotes", "{", "\\\"", "}"),
    shape("an escaped object", "{\\\"a\\\": [", "\\\"b\\\", ", "1]}"),
    shape("typographic quotes", "[", "“", "]"),
    shape("typographic quotes and words", "[", "“ x", "]"),
    Shape {
        name: "an object that comes twice",
        head: "{'a': [",
        unit: "'b', ",
        close: "",
        tail: "1]}",
        twice: true,
    },
    shape("empty objects behind a name", "[True", ", {}", "]"),
    shape("unfinished escapes of a character", "{\"a\": \"", "\\u", "\"}"),
    shape("exponents", "[True, ", "1e", "1]"),
    shape("zeros behind the point", "[True, 0.", "0", "]"),
    nested("parentheses", "(", "", ")"),
    nested("arrays", "[", "", "]"),
    shape("closing braces", "{\"a\":1}", "}", ""),
    shape("raw strings", "[", "r'\\", "]"),
    shape("a prefix of a string", "", "{'a': u", ""),
    shape("commas in a tuple", "(True", ",", ")"),
    shape("items of a tuple", "(", "1,", ")"),
    shape(
        "a repr",
        "{'todos': [",
        "{'content': 'it\\'s “x”', 'id': 1, 'done': False}, ",
        "]}",
    ),
    shape("quotes in a list", "[\"", "a \"b\" c\", \"", "\"]"),
    shape("triple quotes", "[", "'''a''' ", "]"),
    shape("line feeds in a string", "{\"a\": \"", "x\n", "\"}"),
    shape("control characters in a string", "[\"", "\u{1}", "\"]"),
    shape("escapes of control characters", "['", "\\x01", "']"),
    shape("unknown escapes", "{\"a\": \"", "\\d", "\"}"),
    shape(
        "escaped apostrophes below each other",
        "{'a': \"\\'\"",
        "\n      \"\\'\"",
        "}",
    ),
    shape("escaped apostrophes", "{\"a\": \"", "x\\'", "\"}"),
    shape(
        "objects whose commas and keys are alike",
        "{'a': 1",
        " 'b': 1",
        "}",
    ),
    shape("comments that leave something out", "{'a': 1, ", "# more\n", "}"),
    shape("keys without quotes", "{", "a-b: 1, ", "}"),
    shape("objects without commas", "[", "{\"a\": 1} ", "]"),
    shape("prose behind an object", "{'a': 1}\n", "and so on. ", ""),
    shape("prose before an object", "", "And so on. ", "{'a': 1}"),
    shape("words and colons", "", "args: ", "{'a': 1}"),
    shape("names", "[", "True ", "]"),
    shape("signs", "[", "-", "1]"),
    shape("a letter", "", "u", ""),
    shape("escapes of Python", "['", "\\x41\\101\\\n", "']"),
    shape("nul", "", "\0", ""),
];
