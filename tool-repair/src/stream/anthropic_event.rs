//! What stands where in an event of Anthropic's Messages.

use std::borrow::Cow;

use super::json::{Cursor, Spanned, index, said, spanned};

/// What an event says.
#[derive(Debug, Default)]
pub(super) struct Located<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) index: Option<&'a str>,
    pub(super) block_type: Option<Cow<'a, str>>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) partial_json: Option<Spanned<'a>>,
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
                    "partial_json" => located.partial_json = Some(spanned(text, cursor)?),
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
