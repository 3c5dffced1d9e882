//! Doubts about a fix that only the whole result can settle.

/// What stands in a text of JSON and makes a fix doubtful.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts {
    /// An object goes on behind an object in it: had that one been closed too early, by one bracket too many, the
    /// text would have one too many at its end.
    pub(super) object_goes_on: bool,
    /// A key with `{` in it: a quote may have been lost before the bracket, and its closing one be one too many.
    pub(super) brace_in_key: bool,
    /// Two empty strings in a row: they may be one string, `", "`, whose quotes were not escaped.
    pub(super) two_empty_strings: bool,
}

/// Looks through a text of JSON that comes in two parts, once.
pub(super) fn doubts(parts: [&str; 2]) -> Doubts {
    let mut doubts = Doubts::default();
    let mut objects = Vec::new();
    let (mut in_string, mut escaped, mut brace) = (false, false, false);
    // The last bytes outside of strings that are no white space.
    let mut last = [b' '; 5];
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        if in_string && byte != b'"' || escaped {
            escaped = !escaped && byte == b'\\';
            brace |= byte == b'{';
            if last[4] == b'"' {
                last[4] = b'.';
            }
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        match byte {
            b'"' => {
                brace &= in_string;
                in_string = !in_string;
            }
            b':' => doubts.brace_in_key |= brace,
            b'{' | b'[' => objects.push(byte == b'{'),
            b'}' | b']' => {
                objects.pop();
            }
            b',' => doubts.object_goes_on |= last[4] == b'}' && objects.last() == Some(&true),
            _ => {}
        }
        last.rotate_left(1);
        last[4] = byte;
        doubts.two_empty_strings |= last == *b"\"\",\"\"";
    }
    doubts
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
            };
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert_eq!(doubts([&text[..at], &text[at..]]), expected, "{text}");
            }
        }
    }
}
