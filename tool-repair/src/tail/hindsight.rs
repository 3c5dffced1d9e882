//! Doubts about a fix that only the whole result can settle.

use std::collections::HashSet;

/// What stands in a text of JSON and makes a fix doubtful.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a doubt of its own about another fix"
)]
pub(super) struct Doubts {
    /// An object goes on behind an object in it: had that one been closed too early, by one bracket too many, the
    /// text would have one too many at its end.
    pub(super) object_goes_on: bool,
    /// A key with `{` in it: a quote may have been lost before the bracket, and its closing one be one too many.
    pub(super) brace_in_key: bool,
    /// Two empty strings in a row: they may be one string, `", "`, whose quotes were not escaped.
    pub(super) two_empty_strings: bool,
    /// An object has a key twice: the end of one object and the beginning of the next may be missing between them.
    pub(super) key_twice: bool,
    /// Two strings of an array, of which one has a control character, that end and begin as one would that has
    /// `", "` in it: `x = ", ".join(y)`.
    pub(super) separator_in_list: bool,
}

/// Looks through a text of JSON that comes in two parts, once.
pub(super) fn doubts(parts: [&str; 2]) -> Doubts {
    let mut reader = Reader::default();
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        if reader.in_string && byte != b'"' || reader.escaped {
            reader.within(byte);
        } else if !byte.is_ascii_whitespace() {
            reader.outside(byte);
        }
    }
    reader.doubts
}

#[derive(Default)]
struct Reader {
    doubts: Doubts,
    levels: Vec<Level>,
    string: Contents,
    in_string: bool,
    escaped: bool,
    /// Whether the string before this one ended as if one began there; what this begins with is still to come.
    beside: bool,
    /// The last bytes outside of strings that are no white space.
    last: [u8; 5],
}

/// A container that is open.
#[derive(Default)]
struct Level {
    object: bool,
    control: bool,
    separator: bool,
    /// The keys so far. Two that only seem to be one cost no more than a refusal.
    keys: HashSet<u64>,
}

/// What was seen of a string.
#[derive(Default)]
struct Contents {
    /// The last bytes, the last of them lowest.
    end: u64,
    brace: bool,
    control: bool,
    /// FNV-1a, but for where it begins.
    hash: u64,
}

impl Reader {
    #[inline]
    fn within(&mut self, byte: u8) {
        if self.beside {
            self.beside = false;
            self.separates(may_close(byte));
        }
        self.string.control |= self.escaped && matches!(byte, b'b' | b'f' | b'n' | b'r' | b't' | b'u');
        self.string.brace |= byte == b'{';
        self.string.end = self.string.end << 8 | u64::from(byte);
        self.string.hash = (self.string.hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        self.escaped = !self.escaped && byte == b'\\';
        if self.last[4] == b'"' {
            self.last[4] = b'.';
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' if self.in_string => self.closes(),
            b'"' => {
                self.beside = self.last[3..] == *b"\"," && may_open(self.string.end);
                self.string = Contents::default();
                self.in_string = true;
            }
            b':' => {
                self.doubts.brace_in_key |= self.string.brace;
                let (key, level) = (self.string.hash, self.levels.last_mut());
                self.doubts.key_twice |= level.is_some_and(|level| !level.keys.insert(key));
            }
            b'{' | b'[' => self.levels.push(Level {
                object: byte == b'{',
                ..Level::default()
            }),
            b'}' | b']' => {
                self.levels.pop();
            }
            b',' => {
                let in_object = self.levels.last().is_some_and(|level| level.object);
                self.doubts.object_goes_on |= self.last[4] == b'}' && in_object;
            }
            _ => {}
        }
        self.last.rotate_left(1);
        self.last[4] = byte;
        self.doubts.two_empty_strings |= self.last == *b"\"\",\"\"";
    }

    fn closes(&mut self) {
        self.in_string = false;
        let beside = std::mem::take(&mut self.beside);
        if let Some(level) = self.levels.last_mut() {
            level.control |= self.string.control;
        }
        self.separates(beside);
    }

    /// Notes whether the two last strings may be one with a separator in it.
    fn separates(&mut self, separator: bool) {
        if let Some(level) = self.levels.last_mut()
            && !level.object
        {
            level.separator |= separator;
            self.doubts.separator_in_list |= level.separator && level.control;
        }
    }
}

/// The keys of one object are told apart by this alone, which costs less than to keep them.
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Whether a quote behind a string that ends so, in JSON, may open one: not behind a bracket that closes, a full stop,
/// or a letter or a digit, unless it is an escape's or a prefix of Python.
fn may_open(end: u64) -> bool {
    let [_, _, backslash, u, _, third, second, last] = end.to_be_bytes();
    let escape = second == b'\\' || (backslash, u) == (b'\\', b'u');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_prefix = |byte: u8| matches!(byte | 0x20, b'b' | b'f' | b'r' | b'u');
    let prefix = is_prefix(last) && (!is_name(second) || is_prefix(second) && !is_name(third));
    let word = last.is_ascii_alphanumeric() || matches!(last, b')' | b']' | b'}' | b'.');
    escape || prefix || !word
}

/// Whether a quote may close a string before this.
fn may_close(next: u8) -> bool {
    !next.is_ascii_alphanumeric() && !matches!(next, b'(' | b'[' | b'{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_fixes_doubtful_is_seen_and_nothing_else() {
        for (text, object_goes_on, two_empty_strings, brace_in_key) in [
            (r#"{"a": {"b": 1}}"#, false, false, false),
            (r#"{"a": {"b": 1}, "c": 2}"#, true, false, false),
            (r#"{"a": [{"b": 1} , {"c": 2}]}"#, false, false, false),
            (r#"{"a": {} , "": ""}"#, true, false, false),
            (r#"{"a": "}, \"\", \"\""}"#, false, false, false),
            (r#"{"a {b": "c"}"#, false, false, true),
            (r#"{"a}": "{b"}"#, false, false, false),
            (r#"{"a": "{", "b": 1}"#, false, false, false),
            (r#"["", ""]"#, false, true, false),
            (r#"["" ,"", 1]"#, false, true, false),
            (r#"["", "a"]"#, false, false, false),
            (r#"["a", ""]"#, false, false, false),
            (r#"["\"", "\""]"#, false, false, false),
            (r#"["\\", "\\"]"#, false, false, false),
            (r#"["", "a", ""]"#, false, false, false),
            (r#"["a\"\"", "\"\""]"#, false, false, false),
        ] {
            let expected = Doubts {
                object_goes_on,
                brace_in_key,
                two_empty_strings,
                ..Doubts::default()
            };
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert_eq!(doubts([&text[..at], &text[at..]]), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_key_that_comes_twice_in_one_object_is_seen() {
        for (text, key_twice) in [
            (r#"{"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}]}"#, false),
            (r#"{"a": "a", "b": "a"}"#, false),
            (r#"{"": 1, "a": 2, "": 3}"#, true),
            (r#"{"a": {"b": 1, "c": 2, "b": 3}}"#, true),
            (r#"[{"a\"": 1}, {"a\"": 1, "a": 2, "a\"": 3}]"#, true),
            (r#"{"a": {"a": {}}, "a": 1}"#, true),
        ] {
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert_eq!(doubts([&text[..at], &text[at..]]).key_twice, key_twice, "{text}");
            }
        }
    }

    #[test]
    fn two_strings_that_may_be_one_with_a_separator_in_it_are_seen() {
        for (text, separator_in_list) in [
            (r#"["a\n x = ", ".join(y)", "b"]"#, true),
            (r#"["x = ", ".join(y)", "b\n"]"#, true),
            (r#"["x = ", ".join(y)", "b"]"#, false),
            (r#"["a\u0001(" , " ) "]"#, true),
            (r#"["", ".\t"]"#, true),
            (r#"["x\n = ", ""]"#, true),
            (r#"["x\n = ", "y"]"#, false),
            (r#"["x\n", "\n"]"#, true),
            (r#"["a\n x", ".join(y)"]"#, false),
            (r#"["a\n f", ".join(y)"]"#, true),
            (r#"["a\n rb", ".join(y)"]"#, true),
            (r#"["a\n verb", ".join(y)"]"#, false),
            (r#"["a\u0041", ".b"]"#, true),
            (r#"["f(x)\n f(x)", ".join(y)"]"#, false),
            (r#"["One.\nTwo.", "- Three."]"#, false),
            (r#"["a\n x = ", "(y)"]"#, false),
            (r#"["a\n. b: ", 1, ".c"]"#, false),
            (r#"["a\n. b: ", ["."]]"#, false),
            (r#"[["a\n"], ["b: ", "."]]"#, false),
            (r#"[{"a": "b\n: "}, "."]"#, false),
            (r#"{"a": "b\n: ", ".": 1}"#, false),
            ("[\"a\\n\u{4e2d}\", \"\u{6587}\"]", true),
        ] {
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let doubts = doubts([&text[..at], &text[at..]]);
                assert_eq!(doubts.separator_in_list, separator_in_list, "{text}");
            }
        }
    }
}
