//! Locates the fields of an event of Anthropic's Messages.

use std::borrow::Cow;

use crate::stream::json::cursor::{Cursor, Spanned};

/// Fields of an event that concern calls.
#[derive(Debug, Default)]
pub(crate) struct AnthropicEvent<'a> {
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) index: Option<&'a str>,
    pub(crate) block_type: Option<Cow<'a, str>>,
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) partial_json: Option<Spanned<'a>>,
    pub(crate) stop_reason: Option<Cow<'a, str>>,
}

impl<'a> AnthropicEvent<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        Cursor::new(text).object(|key, cursor| match key {
            "type" => {
                located.kind = cursor.text();
                Some(())
            }
            "index" => {
                located.index = cursor.index();
                Some(())
            }
            "content_block" => cursor.object(|key, cursor| {
                match key {
                    "type" => located.block_type = cursor.text(),
                    "id" => located.id = cursor.text(),
                    "name" => located.name = cursor.text(),
                    _ => {}
                }
                Some(())
            }),
            "delta" => cursor.object(|key, cursor| {
                match key {
                    "partial_json" => located.partial_json = Some(cursor.spanned()?),
                    "stop_reason" => located.stop_reason = cursor.text(),
                    _ => {}
                }
                Some(())
            }),
            _ => Some(()),
        })?;
        Some(located)
    }
}
