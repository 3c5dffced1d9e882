//! What stands where in an event of Responses, and how one is written.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use super::escapes;
use super::json::{Cursor, index, said};

/// What an event says.
#[derive(Debug, Default)]
pub(super) struct Located<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) sequence_number: Option<&'a str>,
    /// What it says of one call: by itself, or as the item that it is about.
    pub(super) item: Item<'a>,
    /// The calls of a whole response.
    pub(super) output: Vec<Item<'a>>,
}

/// What is said of one call.
#[derive(Debug, Default)]
pub(super) struct Item<'a> {
    /// The type of an item.
    pub(super) kind: Option<Cow<'a, str>>,
    /// The item's own id.
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) output_index: Option<&'a str>,
    pub(super) call_id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Range<usize>>,
    pub(super) delta: Option<Range<usize>>,
}

impl<'a> Located<'a> {
    /// Reads an event; `None` when it is none of this dialect.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        let own = &mut located.item;
        Cursor::new(text).object(|key, cursor| {
            match key {
                "type" => located.kind = said(text, cursor),
                "sequence_number" => located.sequence_number = index(text, cursor),
                "item_id" => own.id = said(text, cursor),
                "output_index" => own.output_index = index(text, cursor),
                "name" => own.name = said(text, cursor),
                "arguments" => own.arguments = Some(cursor.value()?),
                "delta" => own.delta = Some(cursor.value()?),
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
    pub(super) fn is_call(&self) -> bool {
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
                "arguments" => self.arguments = Some(cursor.value()?),
                _ => {}
            }
            Some(())
        })
    }
}

/// An event with a further piece of a call's arguments, beside `last`, the one that carried the first.
///
/// It repeats that one's `sequence_number`, as if the event had come in two halves: all other events keep theirs, and
/// who takes the stream up again after it misses nothing.
pub(super) fn delta(last: &Located<'_>, rest: &str, name: Option<&str>, line_end: &str) -> String {
    const KIND: &str = "response.function_call_arguments.delta";
    let mut event = name
        .map(|_| format!("event: {KIND}{line_end}"))
        .unwrap_or_default();
    let _ = write!(event, r#"data: {{"type":"{KIND}""#);
    if let Some(number) = last.sequence_number {
        let _ = write!(event, r#","sequence_number":{number}"#);
    }
    if let Some(id) = &last.item.id {
        let mut written = String::new();
        escapes::encode(id, &mut written);
        let _ = write!(event, r#","item_id":"{written}""#);
    }
    if let Some(index) = last.item.output_index {
        let _ = write!(event, r#","output_index":{index}"#);
    }
    let _ = write!(event, r#","delta":"{rest}"}}{line_end}{line_end}"#);
    event
}

/// An error as streams of Responses report it.
pub(super) fn error(message: &str, sequence_number: Option<&str>, line_end: &str) -> String {
    let mut contents = String::new();
    escapes::encode(message, &mut contents);
    let number = sequence_number
        .map(|number| format!(r#","sequence_number":{number}"#))
        .unwrap_or_default();
    format!(
        r#"event: error{line_end}data: {{"type":"error","code":"invalid_tool_arguments","message":"{contents}","param":null{number}}}{line_end}{line_end}"#
    )
}
