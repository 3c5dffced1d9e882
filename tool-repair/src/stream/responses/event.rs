//! Locates the fields of an event of Responses.

use std::borrow::Cow;

use crate::stream::json::cursor::{Cursor, Spanned};

/// Fields of an event that concern calls.
#[derive(Debug, Default)]
pub(crate) struct ResponsesEvent<'a> {
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) sequence_number: Option<&'a str>,
    /// Fields of a call, at the top level of the event or in its `item`.
    pub(crate) item: Item<'a>,
    /// Calls in the `output` of a whole response.
    pub(crate) output: Vec<Item<'a>>,
}

/// Fields of a call.
#[derive(Debug, Default)]
pub(crate) struct Item<'a> {
    /// Type of the item.
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

impl<'a> ResponsesEvent<'a> {
    /// Parses an event; `None` if it does not belong to this dialect.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        let own = &mut located.item;
        Cursor::new(text).object(|key, cursor| {
            match key {
                "type" => located.kind = cursor.text(),
                "sequence_number" => located.sequence_number = cursor.index(),
                "item_id" => own.id = cursor.text(),
                "output_index" => own.output_index = cursor.index(),
                "name" => own.name = cursor.text(),
                "arguments" => own.arguments = Some(cursor.spanned()?),
                "delta" => own.delta = Some(cursor.spanned()?),
                "item" => own.read(cursor)?,
                "response" => {
                    located.output.clear();
                    response(&mut located.output, cursor)?;
                }
                _ => {}
            }
            Some(())
        })?;
        Some(located)
    }
}

fn response<'a>(output: &mut Vec<Item<'a>>, cursor: &mut Cursor<'a>) -> Option<()> {
    cursor.object(|key, cursor| {
        if key != "output" {
            return Some(());
        }
        cursor.array(|cursor| {
            let mut item = Item::default();
            item.read(cursor)?;
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

    fn read(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.object(|key, cursor| {
            match key {
                "type" => self.kind = cursor.text(),
                "id" => self.id = cursor.text(),
                "call_id" => self.call_id = cursor.text(),
                "name" => self.name = cursor.text(),
                "status" => self.status = cursor.text(),
                "arguments" => self.arguments = Some(cursor.spanned()?),
                _ => {}
            }
            Some(())
        })
    }
}
