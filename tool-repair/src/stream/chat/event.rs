//! What stands where in an event of Chat Completions.

use std::borrow::Cow;
use std::ops::Range;

use crate::stream::call::piece::Piece;
use crate::stream::json::cursor::{Cursor, contents, index, said};

/// What an event says of calls.
#[derive(Debug, Default)]
pub(crate) struct Located<'a> {
    pub(crate) deltas: Vec<Delta<'a>>,
    /// The `index` of each choice that ends here, and the text of its `finish_reason`.
    pub(crate) finished: Vec<(&'a str, &'a str)>,
    /// The stream reports an error.
    pub(crate) error: bool,
}

/// One piece of one call.
#[derive(Debug, Default)]
pub(crate) struct Delta<'a> {
    pub(crate) choice: &'a str,
    pub(crate) legacy: bool,
    pub(crate) index: Option<&'a str>,
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) name: Option<Cow<'a, str>>,
    /// The value of `arguments`, with its quotes.
    pub(crate) arguments: Option<Range<usize>>,
    /// What that says of them.
    pub(crate) piece: Option<Piece<'a>>,
}

impl<'a> Located<'a> {
    /// Reads an event; `None` when it is none of this dialect.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let mut located = Self::default();
        Cursor::new(text).object(|key, cursor| match key {
            "choices" => cursor.array(|cursor| located.choice(text, cursor)),
            "error" => {
                let error = text.get(cursor.value()?)?;
                located.error = !matches!(error, "null" | "false" | "\"\"" | "{}");
                Some(())
            }
            _ => Some(()),
        })?;
        Some(located)
    }

    fn choice(&mut self, text: &'a str, cursor: &mut Cursor<'a>) -> Option<()> {
        let first = self.deltas.len();
        let (mut choice, mut reason) = ("0", None);
        cursor.object(|key, cursor| {
            match key {
                "index" => choice = text.get(cursor.value()?)?,
                "finish_reason" => {
                    let said = text.get(cursor.value()?).and_then(contents);
                    reason = said.filter(|reason| !matches!(*reason, "" | "null")); // some say so in every event
                }
                "delta" => {
                    self.deltas.truncate(first); // of two members of one name, the last one counts
                    self.message(text, cursor)?;
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

    fn message(&mut self, text: &'a str, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.object(|key, cursor| match key {
            "tool_calls" => {
                self.deltas
                    .retain(|delta| delta.legacy || !delta.choice.is_empty());
                cursor.array(|cursor| {
                    let mut delta = Delta::default();
                    cursor.object(|key, cursor| {
                        match key {
                            "index" => delta.index = index(text, cursor),
                            // Mistral's says "null" in all pieces but the first.
                            "id" => delta.id = said(text, cursor).filter(|id| id != "null"),
                            "function" => delta.function(text, cursor)?,
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
                delta.function(text, cursor)?;
                self.deltas.push(delta);
                Some(())
            }
            _ => Some(()),
        })
    }
}

impl<'a> Delta<'a> {
    /// Whether it says anything of the arguments.
    pub(crate) fn has_text(&self) -> bool {
        self.piece.is_some_and(|piece| piece != Piece::Text(""))
    }

    fn function(&mut self, text: &'a str, cursor: &mut Cursor<'a>) -> Option<()> {
        cursor.object(|key, cursor| {
            match key {
                "name" => self.name = said(text, cursor),
                "arguments" => {
                    let span = cursor.value()?;
                    let value = text.get(span.clone())?;
                    self.piece = Piece::of(value);
                    self.arguments = Some(span);
                }
                _ => {}
            }
            Some(())
        })
    }
}
