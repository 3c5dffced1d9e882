//! Locates the fields of an event of Responses.

use std::borrow::Cow;

use crate::stream::json::cursor::{Cursor, Spanned, index, said, spanned};

/// The fields of an event that concern calls.
#[derive(Debug, Default)]
pub(crate) struct Located<'a> {
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) sequence_number: Option<&'a str>,
    /// The fields of one call: at the top level, or in its `item`.
    pub(crate) item: Item<'a>,
    /// The calls of a whole response.
    pub(crate) output: Vec<Item<'a>>,
}

/// The fields of one call.
#[derive(Debug, Default)]
pub(crate) struct Item<'a> {
    /// The type of an item.
    pub(crate) kind: Option<Cow<'a, str>>,
    /// Id of the item.
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) output_index: Option<&'a str>,
    pub(crate) call_id: Option<Cow<'a, str>>,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) status: Option<Cow<'a, str>>,
    pub(crate) arguments: Option<Spanned<'a>>,
    pub(crate) delta: Option<Spanned<'a>>,
}

impl<'a> Located<'a> {
    /// Reads an event; `None` if it is not one of this dialect.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        let own = &mut located.item;
        Cursor::new(text).object(|key, cursor| {
            match key {
                "type" => located.kind = said(text, cursor),
                "sequence_number" => located.sequence_number = index(text, cursor),
                "item_id" => own.id = said(text, cursor),
                "output_index" => own.output_index = index(text, cursor),
                "name" => own.name = said(text, cursor),
                "arguments" => own.arguments = Some(spanned(text, cursor)?),
                "delta" => own.delta = Some(spanned(text, cursor)?),
                "item" => own.read(text, cursor)?,
                "response" => {
                    located.output.clear();
                    response(&mut located.output, text, cursor)?;
                }
                _ => {}
            }
            Some(())
        })?;
        Some(located)
    }
}

fn response<'a>(output: &mut Vec<Item<'a>>, text: &'a str, cursor: &mut Cursor<'a>) -> Option<()> {
    cursor.object(|key, cursor| {
        if key != "output" {
            return Some(());
        }
        cursor.array(|cursor| {
            let mut item = Item::default();
            item.read(text, cursor)?;
            if item.is_call() {
                output.push(item);
            }
            Some(())
        })
    })
}

impl<'a> Item<'a> {
    pub(crate) fn is_call(&self) -> bool {
        self.kind.as_deref() == Some("function_call")
    }

    fn read(&mut self, text: &'a str, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.object(|key, cursor| {
            match key {
                "type" => self.kind = said(text, cursor),
                "id" => self.id = said(text, cursor),
                "call_id" => self.call_id = said(text, cursor),
                "name" => self.name = said(text, cursor),
                "status" => self.status = said(text, cursor),
                "arguments" => self.arguments = Some(spanned(text, cursor)?),
                _ => {}
            }
            Some(())
        })
    }
}
