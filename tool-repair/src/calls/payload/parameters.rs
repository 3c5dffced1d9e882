//! Calls with a tag for each parameter. Values are text; the kind of the parameter decides whether the text is a string or JSON.

use super::super::declared::{Declared, ParameterKind, resolve};
use super::super::json::{self, ObjectWriter};
use super::super::recovered::{RecoveredCall, TextReason};
use crate::repairer::{Status, repair};

/// Tags of the parameters of a call.
#[derive(Debug, Clone)]
pub(super) struct Markup {
    /// Text before the key.
    pub(super) key_start: String,
    /// Text between the key and the value.
    pub(super) key_end: &'static str,
    /// Text after the value.
    pub(super) value_end: String,
    /// Whether attributes may follow the key: `<parameter name="K" string="true">`.
    pub(super) has_attributes: bool,
    /// Whether one line break at both ends of a value belongs to the tags.
    pub(super) has_line_breaks: bool,
}

impl Markup {
    /// `<parameter=K>V</parameter>`
    pub(super) fn function() -> Self {
        Self {
            key_start: "<parameter=".to_owned(),
            key_end: ">",
            value_end: "</parameter>".to_owned(),
            has_attributes: false,
            has_line_breaks: true,
        }
    }

    /// `<parameter name="K">V</parameter>`, with a namespace before `parameter`.
    pub(super) fn invoke(namespace: &str) -> Self {
        Self {
            key_start: format!("<{namespace}parameter name=\""),
            key_end: "\"",
            value_end: format!("</{namespace}parameter>"),
            has_attributes: true,
            has_line_breaks: false,
        }
    }

    /// `<arg_key>K</arg_key><arg_value>V</arg_value>`
    pub(super) fn keys() -> Self {
        Self {
            key_start: "<arg_key>".to_owned(),
            key_end: "</arg_key>",
            value_end: "</arg_value>".to_owned(),
            has_attributes: false,
            has_line_breaks: false,
        }
    }

    /// Returns whether a text that ends before the call's closing tag ends with a parameter.
    pub(super) fn ends_with_parameter(&self, text: &str) -> bool {
        text.trim_end().ends_with(&self.value_end)
    }

    /// Reads the parameters in `body`, which is the text up to the call's closing tag.
    pub(super) fn call(
        &self,
        name: &str,
        body: &str,
        declared: &impl Declared,
    ) -> Result<RecoveredCall, TextReason> {
        let name = resolve(name, declared).ok_or(TextReason::NotDeclared)?;
        let mut object = ObjectWriter::default();
        let mut rest = body.trim();
        while !rest.is_empty() {
            let after = rest
                .strip_prefix(&*self.key_start)
                .ok_or(TextReason::Unreadable)?;
            let (key, after) = after.split_once(self.key_end).ok_or(TextReason::Unreadable)?;
            let after = self.value_start(after).ok_or(TextReason::Unreadable)?;
            let key = key.trim();
            if key.is_empty() || key.contains(['<', '\n']) {
                return Err(TextReason::Unreadable);
            }
            let (text, after) = self.value(after).ok_or(TextReason::Unreadable)?;
            let text = if self.has_line_breaks {
                without_line_breaks(text)
            } else {
                text
            };
            let value = value(text, declared.parameter(name, key));
            object.member(key, &value).ok_or(TextReason::Unreadable)?;
            rest = after;
        }
        Ok(RecoveredCall::new(name, object.finish()))
    }

    /// Returns the text from the value on.
    fn value_start<'t>(&self, after_key: &'t str) -> Option<&'t str> {
        if self.has_attributes {
            let (attributes, value) = after_key.split_once('>')?;
            return (!attributes.contains(['<', '\n'])).then_some(value);
        }
        if self.key_end == ">" {
            return Some(after_key);
        }
        after_key.trim_start().strip_prefix("<arg_value>")
    }

    /// Splits after a value, which ends at the first closing tag before another parameter or the end of the call. A value with an
    /// open parameter in it is a call whose tags were forgotten.
    fn value<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let mut at = 0;
        loop {
            let end = at + text.get(at..)?.find(&*self.value_end)?;
            at = end + self.value_end.len();
            let after = text.get(at..)?.trim_start();
            if after.is_empty() || after.starts_with(&*self.key_start) {
                let value = text.get(..end)?;
                let opened = value.matches(&*self.key_start).count();
                let closed = value.matches(&*self.value_end).count();
                return (opened <= closed).then_some((value, after));
            }
        }
    }
}

fn without_line_breaks(text: &str) -> &str {
    let start = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
    let inner = start.and_then(|text| text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')));
    // One line break alone is at both ends of an empty value.
    match text {
        "\n" | "\r\n" => "",
        _ => inner.unwrap_or(text),
    }
}

/// Returns the JSON of a text between tags.
fn value(text: &str, kind: ParameterKind) -> String {
    let trimmed = text.trim();
    let python = match trimmed {
        "True" => Some("true"),
        "False" => Some("false"),
        "None" => Some("null"),
        _ => None,
    };
    let json = match kind {
        ParameterKind::Text => None,
        ParameterKind::NullableText => matches!(trimmed, "null" | "None").then(|| "null".to_owned()),
        ParameterKind::Container | ParameterKind::Other => python.map(str::to_owned).or_else(|| {
            let is_bracketed = trimmed.starts_with('{') && trimmed.ends_with('}')
                || trimmed.starts_with('[') && trimmed.ends_with(']');
            if kind == ParameterKind::Container && is_bracketed {
                return json::read(trimmed).ok().map(std::borrow::Cow::into_owned);
            }
            (repair(trimmed).status == Status::Valid).then(|| trimmed.to_owned())
        }),
    };
    json.unwrap_or_else(|| {
        let mut string = String::new();
        json::write_string(text, &mut string);
        string
    })
}
