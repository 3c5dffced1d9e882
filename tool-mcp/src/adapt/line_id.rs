//! Id of a message whose line is too large to be read as a whole.

use serde_json::Value;

/// Returns the `id` of a message from the first bytes of its line.
pub(crate) fn in_head(head: &[u8]) -> Option<Value> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = head.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = string_end(head, at)?;
                if depth == 1 && head.get(at..=end) == Some(b"\"id\"") {
                    let value = member_value(head.get(end + 1..)?);
                    if value.is_some() {
                        return value;
                    }
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the `id` of a message from the last bytes of its line. Some servers write `result` before `id`.
pub(crate) fn in_tail(tail: &[u8]) -> Option<Value> {
    let mut depth = 0_usize;
    let mut at = tail.len();
    while at > 0 {
        at -= 1;
        match tail.get(at)? {
            b'}' | b']' => depth += 1,
            b'{' | b'[' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = at;
                at = string_start(tail, end)?;
                if depth == 1 && tail.get(at..=end) == Some(b"\"id\"") {
                    let value = member_value(tail.get(end + 1..)?);
                    if value.is_some() {
                        return value;
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the position of the quote that ends a string.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the position of the quote that starts a string. An odd number of backslashes escapes a quote.
fn string_start(text: &[u8], end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        at = text.get(..at)?.iter().rposition(|byte| *byte == b'"')?;
        let backslashes = text.get(..at)?.iter().rev().take_while(|byte| **byte == b'\\');
        if backslashes.count() % 2 == 0 {
            return Some(at);
        }
    }
}

/// Returns the number or string after the colon of a member, if its end is there, too.
fn member_value(rest: &[u8]) -> Option<Value> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter();
    let value: Value = values.next()?.ok()?;
    let is_complete = values.byte_offset() < rest.len();
    (is_complete && (value.is_number() || value.is_string())).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_id_in_the_head() {
        for (head, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"#, json!(7)),
            (r#" { "id" : "a\"b" , "result"#, json!("a\"b")),
            (r#"{"result":{"id":1},"id":2,"#, json!(2)),
            (r#"{"result":"\"id\":1","id":2,"#, json!(2)),
            (r#"{"kind":"id","id":2,"#, json!(2)),
        ] {
            assert_eq!(in_head(head.as_bytes()), Some(id), "{head}");
        }
        for head in [
            r#"{"jsonrpc":"2.0","id":7"#, // possibly 70
            r#"{"jsonrpc":"2.0","result":{"id":7,"#,
            r#"{"result":"{\"id\":7,"#,
            r#"[{"id":7},"#,
            r#"{"id":null,"#,
            "",
        ] {
            assert_eq!(in_head(head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn finds_the_id_in_the_tail() {
        for (tail, id) in [
            (r#"xx"}]},"jsonrpc":"2.0","id":7}"#, json!(7)),
            (r#"xx"}]},"id":"a\"b","jsonrpc":"2.0"} "#, json!("a\"b")),
            (r#"\"id\":1"}]},"id":2}"#, json!(2)),
            (r#"x\\"}]},"id":2,"_meta":{"id":3}}"#, json!(2)),
        ] {
            assert_eq!(in_tail(tail.as_bytes()), Some(id), "{tail}");
        }
        for tail in [r#"xx","id":7}]}}"#, r#"\"id\":7}"}]}}"#, r#"xx"}]}"#, "xx", ""] {
            assert_eq!(in_tail(tail.as_bytes()), None, "{tail}");
        }
    }
}
