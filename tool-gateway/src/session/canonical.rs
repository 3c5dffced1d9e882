//! Canonical form of messages, system prompts and tools, without the changes that clients make when they echo messages.
//!
//! The canonical form is written in the JSON Canonicalization Scheme (RFC 8785), without `cache_control`, nulls, `is_error: false`, empty
//! text blocks and thinking. Content that is a string becomes one text block. The arguments of a call keep their nulls.
//!
//! The writers copy from the JSON text, field by field, so that a value with many small parts needs no memory for the parts.

use std::borrow::Cow;

use memchr::memchr;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::canonical_text::CanonicalText;
use super::texts::without_space;
use crate::wire::object::Object;
use crate::wire::walk::{self, Field};

/// Writes the canonical form of blocks, with commas between them and without the brackets of a list. The blocks may belong to several
/// messages.
pub(crate) fn write_content(out: &mut CanonicalText, blocks: impl Iterator<Item: AsRef<str>>) {
    for block in blocks {
        write_block(out, block.as_ref());
    }
}

/// Returns the canonical form of blocks, as [`write_content`] writes it.
pub(super) fn items(blocks: &(impl Iterator<Item: AsRef<str>> + Clone)) -> String {
    let bytes = CanonicalText::kept(|out| write_content(out, blocks.clone()));
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes the canonical content of messages as a list of blocks.
pub(super) fn write_list(out: &mut CanonicalText, blocks: impl Iterator<Item: AsRef<str>>) {
    out.push(b"[");
    write_content(out, blocks);
    out.push(b"]");
}

/// Writes the items of canonical content with trimmed texts. If `has_input` is false, the arguments of calls are omitted.
pub(super) fn write_outline(out: &mut CanonicalText, items: &str, has_input: bool) {
    for item in walk::items_of(items) {
        out.separate();
        let texts = |text: &str| text.trim().to_owned();
        write_with_text(out, item, has_input, texts);
    }
}

/// Writes the items of canonical content for the look-up key of an assistant message: adjacent texts are joined, and their white space is
/// removed. If `has_input` is false, the arguments of calls are omitted.
pub(super) fn write_joined(out: &mut CanonicalText, items: &str, has_input: bool) {
    let mut is_open = false;
    for item in walk::items_of(items) {
        if let Some(text) = plain_text(item) {
            let text = without_space(&text);
            if !text.is_empty() {
                if !is_open {
                    out.separate();
                    out.push(b"{\"text\":\"");
                }
                is_open = true;
                out.push_escaped(&text);
            }
            continue;
        }
        if std::mem::take(&mut is_open) {
            out.push(b"\",\"type\":\"text\"}");
        }
        out.separate();
        let is_text = Object::from_json(item).is_some_and(|block| block.is("type", "text"));
        if is_text {
            write_with_text(out, item, true, without_space);
        } else if has_input {
            out.push(item.as_bytes());
        } else {
            write_with_text(out, item, false, str::to_owned);
        }
    }
    if is_open {
        out.push(b"\",\"type\":\"text\"}");
    }
}

/// Returns the text of a canonical text block, or `None` if the block has other fields, such as citations, which would be lost when texts
/// are joined.
fn plain_text(block: &str) -> Option<Cow<'_, str>> {
    // The fields of a canonical block are sorted, so `text` precedes `type`.
    let mut fields = Object::from_json(block)?.fields();
    let text = fields.next().filter(|field| field.is("text"))?;
    let kind = fields.next().filter(|field| field.is("type"))?;
    if kind.value != "\"text\"" || fields.next().is_some() {
        return None;
    }
    walk::string(text.value)
}

/// Writes a canonical block with the text that `change` returns. Without `has_input`, the arguments of a call are omitted.
fn write_with_text(out: &mut CanonicalText, block: &str, has_input: bool, change: impl Fn(&str) -> String) {
    let Some(object) = Object::from_json(block) else {
        return out.push(block.as_bytes());
    };
    out.push(b"{");
    for field in object.fields().filter(|field| has_input || !field.is("input")) {
        write_name(out, field);
        match walk::string(field.value).filter(|_| field.is("text")) {
            Some(text) => out.push_string(&change(&text)),
            None => out.push(field.value.as_bytes()),
        }
    }
    out.push(b"}");
}

/// Writes the canonical form of a system prompt as a list. The prompt is a string or a list of text blocks.
pub(super) fn write_system(out: &mut CanonicalText, text: Option<&str>) {
    out.push(b"[");
    match text {
        None | Some("null") => {}
        Some(text) if !is_readable(text) => {
            let block = format!(r#"{{"type":"text","text":{}}}"#, to_json_string(text));
            write_content(out, [block].iter());
        }
        Some(text) if text.starts_with('"') => {
            let block = format!(r#"{{"type":"text","text":{text}}}"#);
            write_content(out, [block].iter());
        }
        Some(text) if text.starts_with('[') => {
            for block in walk::items(text).filter(|block| is_canonical(block)) {
                out.separate();
                write_block_fields(out, block);
            }
        }
        Some(text) => write_value(out, text),
    }
    out.push(b"]");
}

/// Writes the canonical form of the declared tools as a list.
pub(super) fn write_tools<'t>(out: &mut CanonicalText, tools: impl Iterator<Item = &'t str>) {
    out.push(b"[");
    for tool in tools {
        out.separate();
        if is_readable(tool) {
            write_without_nulls(out, tool);
        } else {
            write_as_string(out, tool);
        }
    }
    out.push(b"]");
}

/// Writes an object with these fields, which must be sorted.
pub(super) fn write_settings<'f>(out: &mut CanonicalText, fields: impl Iterator<Item = Field<'f>>) {
    out.push(b"{");
    for field in fields {
        write_name(out, field);
        if is_readable(field.value) {
            write_value(out, field.value);
        } else {
            write_as_string(out, field.value);
        }
    }
    out.push(b"}");
}

/// Writes a block, if it is part of the canonical content.
fn write_block(out: &mut CanonicalText, text: &str) {
    if let Some(string) = text_without_escapes(text) {
        if string != "\"\"" {
            out.separate();
            out.push(b"{\"text\":");
            out.push(string.as_bytes());
            out.push(b",\"type\":\"text\"}");
        }
    } else if !is_readable(text) {
        out.separate();
        write_as_string(out, text);
    } else if is_canonical(text) {
        out.separate();
        write_block_fields(out, text);
    }
}

/// Returns the text of a text block without other fields and without escapes, as a JSON string. Nearly all blocks are such blocks, which
/// need neither a sort nor a check.
fn text_without_escapes(block: &str) -> Option<&str> {
    let mut fields = Object::from_json(block)?.fields();
    let (first, second) = (fields.next()?, fields.next()?);
    let (kind, text) = if first.is("type") {
        (first, second)
    } else {
        (second, first)
    };
    let is_text =
        kind.is("type") && kind.value == "\"text\"" && text.is("text") && text.value.starts_with('"');
    let has_escapes = || memchr(b'\\', text.value.as_bytes()).is_some();
    (is_text && fields.next().is_none() && !has_escapes()).then_some(text.value)
}

/// Returns whether a block is part of the canonical content: any block except thinking and empty texts.
fn is_canonical(block: &str) -> bool {
    let Some(block) = Object::from_json(block) else {
        return true;
    };
    let [kind, text] = block.get_all(["type", "text"]);
    match kind.and_then(walk::string).as_deref() {
        Some("thinking" | "redacted_thinking") => false,
        Some("text") => text.is_some_and(|text| text != "\"\""),
        _ => true,
    }
}

/// Writes the fields of a block that are part of the canonical content.
fn write_block_fields(out: &mut CanonicalText, block: &str) {
    let Some(object) = Object::from_json(block) else {
        return write_value(out, block);
    };
    out.push(b"{");
    for field in object.sorted_fields() {
        if field.value == "null"
            || field.is("cache_control")
            || (field.is("is_error") && field.value == "false")
        {
            continue;
        }
        if field.is("input") {
            write_name(out, field);
            write_value(out, field.value);
        } else if field.is("content") && field.value.starts_with('"') {
            if field.value != "\"\"" {
                write_name(out, field);
                out.push(b"[{\"text\":");
                write_string(out, field.value);
                out.push(b",\"type\":\"text\"}]");
            }
        } else if field.is("content") && field.value.starts_with('[') {
            if walk::items(field.value).any(is_canonical) {
                write_name(out, field);
                out.push(b"[");
                for block in walk::items(field.value).filter(|block| is_canonical(block)) {
                    out.separate();
                    write_block_fields(out, block);
                }
                out.push(b"]");
            }
        } else {
            write_name(out, field);
            write_without_nulls(out, field.value);
        }
    }
    out.push(b"}");
}

/// Writes a value without the nulls and the `cache_control` of its objects.
fn write_without_nulls(out: &mut CanonicalText, text: &str) {
    write_filtered(out, text, |field| {
        field.value != "null" && !field.is("cache_control")
    });
}

/// Writes a value as RFC 8785 defines: sorted keys, numbers as in JavaScript.
pub(crate) fn write_value(out: &mut CanonicalText, text: &str) {
    write_filtered(out, text, |_| true);
}

/// Writes a value, and omits object fields that `is_kept` rejects.
pub(crate) fn write_filtered<F: Fn(&Field<'_>) -> bool + Copy>(
    out: &mut CanonicalText,
    text: &str,
    is_kept: F,
) {
    match text.as_bytes().first() {
        Some(b'{') => {
            out.push(b"{");
            for field in Object::from_json(text)
                .unwrap_or_default()
                .sorted_fields()
                .filter(is_kept)
            {
                write_name(out, field);
                write_filtered(out, field.value, is_kept);
            }
            out.push(b"}");
        }
        Some(b'[') => {
            out.push(b"[");
            for item in walk::items(text) {
                out.separate();
                write_filtered(out, item, is_kept);
            }
            out.push(b"]");
        }
        Some(b'"') => write_string(out, text),
        Some(b't' | b'f' | b'n') => out.push(text.as_bytes()),
        _ => write_number(out, text),
    }
}

fn write_name(out: &mut CanonicalText, field: Field<'_>) {
    out.separate();
    write_string(out, field.quoted_name());
    out.push(b":");
}

/// Writes a JSON string. A string without escapes is already in the form of RFC 8785.
fn write_string(out: &mut CanonicalText, quoted: &str) {
    if quoted.contains('\\')
        && let Some(text) = walk::string(quoted)
    {
        return out.push_string(&text);
    }
    out.push(quoted.as_bytes());
}

fn write_number(out: &mut CanonicalText, text: &str) {
    // A double represents every integer up to 2^53 exactly, and JavaScript writes all digits of these integers.
    const EXACT: u64 = 1 << 53;
    // Fast path: an integer of at most 15 digits is already in the form of RFC 8785.
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_short = digits.len() < 16 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_short && text != "-0" {
        return out.push(text.as_bytes());
    }
    let Ok(number) = serde_json::from_str::<Number>(text) else {
        return out.push(text.as_bytes());
    };
    if number
        .as_i64()
        .is_some_and(|integer| integer.unsigned_abs() <= EXACT)
    {
        return out.push(number.to_string().as_bytes());
    }
    // The canonicalizer fails only for numbers out of the range of doubles, which `serde_json` rejects.
    let canonical = serde_json_canonicalizer::to_vec(&number);
    out.push(&canonical.unwrap_or_else(|_| number.to_string().into_bytes()));
}

/// Writes the text of a value as a string, for a value that is not [readable](is_readable).
fn write_as_string(out: &mut CanonicalText, text: &str) {
    out.push_string(text);
}

fn to_json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns whether `serde_json` can parse a value: it has no number out of the range of doubles, no lone surrogate, and no excessive
/// nesting.
pub(crate) fn is_readable(text: &str) -> bool {
    serde_json::from_str::<Readable>(text).is_ok()
}

/// A value that is parsed with the checks of `serde_json::Value`, then discarded. `serde::de::IgnoredAny` is no replacement: `serde_json` checks
/// neither the surrogates nor the depth nor the numbers of a value that it ignores.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Readable;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E: Error>(self) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
                while items.next_element::<Readable>()?.is_some() {}
                Ok(Readable)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Readable, A::Error> {
                while fields.next_entry::<Readable, Readable>()?.is_some() {}
                Ok(Readable)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written_content(blocks: &[&str]) -> String {
        String::from_utf8(CanonicalText::kept(|out| write_content(out, blocks.iter()))).unwrap()
    }

    #[test]
    fn ignores_differences_that_clients_add() {
        let sent = written_content(&[
            r#"{"type":"thinking","thinking":"","signature":"s"}"#,
            r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"},"citations":null}"#,
            r#"{"type":"text","text":""}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"b":1.0,"a":null,"n":12345678901234567890},"caller":null,"toolset_name":null}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":"x","is_error":false}"#,
        ]);
        let echoed = written_content(&[
            r#"{"text":"a","type":"text"}"#,
            r#"{"id":"t","input":{"n":12345678901234567000,"a":null,"b":1},"name":"n","type":"tool_use"}"#,
            r#"{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"x","cache_control":null}]}"#,
        ]);
        assert_eq!(sent, echoed);
    }

    #[test]
    fn writes_the_bytes_of_the_reference_implementation() {
        let texts = [
            r#"{"b":[true,false,null,{}],"a":{"z":[],"y":{"x":1}},"":"","a.b":"/","aa":1}"#,
            r"[0,-0,-0.0,1.0,1.5,-2,9007199254740991,9007199254740992,9007199254740993,-9007199254740993,
                18446744073709551615,-9223372036854775808,1e21,1e20,1e-7,0.000001,123456789012345680000,1.7976931348623157e308]",
            r#""\u0000\u001f\b\t\n\f\r\"\\/\u007f\u0080\u2028\ud83d\ude00é""#,
            // UTF-16 sorts the second key, a surrogate pair, before the first; UTF-8 does not.
            r#"{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"ö":7}"#,
        ];
        for text in texts {
            let parsed: serde_json::Value = serde_json::from_str(text).unwrap();
            let reference = serde_json_canonicalizer::to_string(&parsed).unwrap();
            let written = CanonicalText::kept(|out| write_value(out, text));
            assert_eq!(String::from_utf8(written).unwrap(), reference);
        }
    }

    #[test]
    fn distinguishes_different_content() {
        let text = written_content(&[r#"{"type":"text","text":"a"}"#]);
        for other in [
            r#"{"type":"text","text":"a "}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#,
        ] {
            assert_ne!(text, written_content(&[other]));
        }
        let null = written_content(&[r#"{"type":"tool_use","id":"t","name":"n","input":{"a":null}}"#]);
        assert_ne!(
            null,
            written_content(&[r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#])
        );
        let failed = written_content(&[r#"{"type":"tool_result","tool_use_id":"t","is_error":true}"#]);
        assert_ne!(
            failed,
            written_content(&[r#"{"type":"tool_result","tool_use_id":"t"}"#])
        );
    }
}
