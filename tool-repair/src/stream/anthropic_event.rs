//! What stands where in an event of Anthropic's Messages, and how an error is written.

use std::borrow::Cow;
use std::ops::Range;

use super::escapes;
use super::json::{Cursor, index, said};
use super::payload::line_end;

/// What an event says.
#[derive(Debug, Default)]
pub(super) struct Located<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) index: Option<&'a str>,
    pub(super) block_type: Option<Cow<'a, str>>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) partial_json: Option<Range<usize>>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
}

impl<'a> Located<'a> {
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        Cursor::new(text).object(|key, cursor| match key {
            "type" => {
                located.kind = said(text, cursor);
                Some(())
            }
            "index" => {
                located.index = index(text, cursor);
                Some(())
            }
            "content_block" => cursor.object(|key, cursor| {
                match key {
                    "type" => located.block_type = said(text, cursor),
                    "id" => located.id = said(text, cursor),
                    "name" => located.name = said(text, cursor),
                    _ => {}
                }
                Some(())
            }),
            "delta" => cursor.object(|key, cursor| {
                match key {
                    "partial_json" => located.partial_json = Some(cursor.value()?),
                    "stop_reason" => located.stop_reason = said(text, cursor),
                    _ => {}
                }
                Some(())
            }),
            _ => Some(()),
        })?;
        Some(located)
    }
}

/// An error as streams of Messages report it.
pub(super) fn error(message: &str, last: &[u8]) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let end = line_end(last);
    format!(
        r#"event: error{end}data: {{"type":"error","error":{{"type":"api_error","message":"{contents}"}}}}{end}{end}"#
    )
}
