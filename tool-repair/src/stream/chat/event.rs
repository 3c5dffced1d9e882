//! Locates the fields of an event of Chat Completions.

use std::borrow::Cow;
use std::ops::Range;

use crate::stream::call::piece::Piece;
use crate::stream::json::cursor::{Cursor, contents};

/// Fields of an event that concern calls.
#[derive(Debug, Default)]
pub(crate) struct ChatEvent<'a> {
    pub(crate) deltas: Vec<Delta<'a>>,
    /// `index` and `finish_reason` of each choice that ends in this event.
    pub(crate) finished: Vec<(&'a str, &'a str)>,
    /// Whether the stream reports an error.
    pub(crate) error: bool,
}

/// A piece of a call.
#[derive(Debug, Default)]
pub(crate) struct Delta<'a> {
    pub(crate) choice: &'a str,
    pub(crate) legacy: bool,
    pub(crate) index: Option<&'a str>,
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) name: Option<Cow<'a, str>>,
    /// Position of the value of `arguments`, including its quotes.
    pub(crate) arguments: Option<Range<usize>>,
    /// Piece of the arguments in the value of `arguments`.
    pub(crate) piece: Option<Piece<'a>>,
}

impl<'a> ChatEvent<'a> {
    /// Parses an event; `None` if it does not belong to this dialect.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        Cursor::new(text).object(|key, cursor| match key {
            "choices" => cursor.array(|cursor| located.choice(cursor)),
            "error" => {
                let error = cursor.raw()?;
                located.error = !matches!(error, "null" | "false" | "\"\"" | "{}");
                Some(())
            }
            _ => Some(()),
        })?;
        Some(located)
    }

    fn choice(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        let first = self.deltas.len();
        let (mut choice, mut reason) = ("0", None);
        cursor.object(|key, cursor| {
            match key {
                "index" => choice = cursor.raw()?,
                "finish_reason" => {
                    let text = contents(cursor.raw()?);
                    reason = text.filter(|reason| !matches!(*reason, "" | "null")); // some servers have it in every event
                }
                "delta" => {
                    self.deltas.truncate(first); // the last of several `delta` keys is used
                    self.message(cursor)?;
                }
                _ => {}
            }
            Some(())
        })?;
        for delta in self.deltas.iter_mut().skip(first) {
            delta.choice = choice;
        }
        self.finished.extend(reason.map(|reason| (choice, reason)));
        Some(())
    }

    fn message(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.object(|key, cursor| match key {
            "tool_calls" => {
                self.deltas
                    .retain(|delta| delta.legacy || !delta.choice.is_empty());
                cursor.array(|cursor| {
                    let mut delta = Delta::default();
                    cursor.object(|key, cursor| {
                        match key {
                            "index" => delta.index = cursor.index(),
                            // Mistral sends "null" in all pieces except the first.
                            "id" => delta.id = cursor.text().filter(|id| id != "null"),
                            "function" => delta.function(cursor)?,
                            _ => {}
                        }
                        Some(())
                    })?;
                    self.deltas.push(delta);
                    Some(())
                })
            }
            "function_call" if cursor.peek()? == b'{' => {
                let mut delta = Delta {
                    legacy: true,
                    ..Delta::default()
                };
                delta.function(cursor)?;
                self.deltas.push(delta);
                Some(())
            }
            _ => Some(()),
        })
    }
}

impl<'a> Delta<'a> {
    /// Returns whether the delta has a non-empty piece of arguments.
    pub(crate) fn has_text(&self) -> bool {
        self.piece.is_some_and(|piece| piece != Piece::Text(""))
    }

    fn function(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.object(|key, cursor| {
            match key {
                "name" => self.name = cursor.text(),
                "arguments" => {
                    let value = cursor.spanned()?;
                    self.piece = Piece::from_value(value.text);
                    self.arguments = Some(value.span);
                }
                _ => {}
            }
            Some(())
        })
    }
}
