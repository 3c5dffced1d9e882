//! [`Replacement::apply`]: finds the place of an edit by the rules of `docs/edit.md`, and changes the text.

use std::borrow::Cow;
use std::ops::Range;

use super::indentation::is_blank;
use super::inexact::{Correction, Doubt, MAX_PLACES, Numbered, Quote, Rule};
use super::replacement::{Replacement, Texts};
use super::splice::{Hunk, Splice, lines_of};
use crate::workspace::lines::{Lines, View};

/// Maximum number of occurrences that `replace_all` replaces. The places of an edit take about 150 bytes each.
pub(super) const MAX_REPLACEMENTS: usize = 100_000;

/// Whether a quote may differ from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inexact {
    Allowed,
    /// The session has not read the file.
    NotRead,
    /// The file was changed since the session has seen it.
    Changed,
    /// The host accepts only exact quotes.
    Off,
}

/// A text with its changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// Changed bytes of the new text, for each place.
    pub(crate) changes: Vec<Range<usize>>,
    pub(super) rule: Rule,
}

/// Reason why an edit was not applied.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rejection {
    /// The old and the new text are equal.
    NoChange,
    /// The quote is empty, or has only blanks.
    Blank,
    /// The quote is at several places, given by their lines from 1.
    Several {
        lines: Vec<usize>,
        has_more: bool,
        rule: Rule,
    },
    /// The place was found by a rule that needs more than there is.
    Inexact {
        line: usize,
        rule: Rule,
        reason: Refused,
    },
    /// The quote is not in the file.
    Missing,
    /// `replace_all` has more than [`MAX_REPLACEMENTS`] occurrences.
    TooMany,
    /// The edited text would have this number of bytes, more than the maximum.
    TooLarge { bytes: u64 },
}

/// Reason why the only place of an inexact quote was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Doubt(Doubt),
    NotRead,
    Changed,
    Off,
    /// The quote is too short to accept a difference.
    Short,
    /// `replace_all` accepts only exact quotes.
    ReplaceAll,
    /// The new text has other line numbers, or none.
    NumbersInOld,
    /// Only one of the texts with line numbers has a line feed at its end, or a blank last line is deleted.
    NumberedEnd,
}

impl Replacement<'_> {
    /// Applies the edit to a text.
    pub(super) fn apply(&self, text: &str, inexact: Inexact) -> Result<Applied, Rejection> {
        let view = View::new(text);
        let texts = self.texts(&view.text);
        if texts.old == texts.new {
            return Err(Rejection::NoChange);
        }
        if is_blank(&texts.old) && (texts.old.is_empty() || !self.replace_all) {
            return Err(Rejection::Blank);
        }
        let lines = Lines::new(text);
        let places = if self.replace_all {
            view.text
                .match_indices(texts.old.as_ref())
                .map(|(at, _)| at)
                .take(MAX_REPLACEMENTS + 1)
                .collect()
        } else {
            occurrences(&view.text, &texts.old)
        };
        if places.len() > MAX_REPLACEMENTS {
            return Err(Rejection::TooMany);
        }
        let replaced = if self.replace_all { places.len() } else { 1 };
        let bytes = (text.len() as u64)
            .saturating_add((replaced as u64).saturating_mul(texts.new.len() as u64))
            .saturating_sub((replaced as u64).saturating_mul(texts.old.len() as u64));
        if bytes > self.max_bytes {
            return Err(Rejection::TooLarge { bytes });
        }
        match *places {
            [] => self.apply_inexact(&lines, &texts, inexact),
            [_] => Ok(apply_exact(&lines, &view, &texts, &places)),
            _ if self.replace_all && inexact != Inexact::Changed => {
                Ok(apply_exact(&lines, &view, &texts, &places))
            }
            _ => {
                let has_more = places.len() > MAX_PLACES;
                let numbers = places
                    .iter()
                    .map(|at| lines.index_at(view.range(&(*at..*at)).start) + 1);
                Err(Rejection::Several {
                    lines: numbers.collect(),
                    has_more,
                    rule: Rule::Exact,
                })
            }
        }
    }

    fn apply_inexact(
        &self,
        lines: &Lines<'_>,
        texts: &Texts<'_>,
        inexact: Inexact,
    ) -> Result<Applied, Rejection> {
        let quote = Quote::new(&texts.old);
        let mut places = quote.places(lines);
        let numbered = Numbered::new(&texts.old);
        if let Some(first) = numbered.as_ref().and_then(|numbered| numbered.place(lines)) {
            places.insert(first, Rule::LineNumbers);
        }
        let (first, rule) = match places.len() {
            0 => return Err(Rejection::Missing),
            1 => places.pop_first().ok_or(Rejection::Missing)?,
            count => {
                return Err(Rejection::Several {
                    lines: places.keys().map(|first| first + 1).collect(),
                    has_more: count > MAX_PLACES,
                    rule: places.into_values().next().unwrap_or(Rule::Exact),
                });
            }
        };
        let rejected = |reason| Rejection::Inexact {
            line: first + 1,
            rule: rule.clone(),
            reason,
        };
        match inexact {
            Inexact::Allowed => {}
            Inexact::NotRead => return Err(rejected(Refused::NotRead)),
            Inexact::Changed => return Err(rejected(Refused::Changed)),
            Inexact::Off => return Err(rejected(Refused::Off)),
        }
        if self.replace_all {
            return Err(rejected(Refused::ReplaceAll));
        }
        if rule != Rule::LineNumbers && !quote.is_distinctive() {
            return Err(rejected(Refused::Short));
        }
        if rule != Rule::LineNumbers && quote.may_end_in_blank_line(lines, first, &texts.new) {
            return Err(rejected(Refused::Doubt(Doubt::LineEnds)));
        }
        if rule != Rule::LineNumbers && quote.loses_blank_line(lines, first) {
            return Err(rejected(Refused::Doubt(Doubt::LineEnds)));
        }
        let (old, new) = match (&rule, &numbered) {
            (Rule::LineNumbers, Some(old)) if texts.new.is_empty() => {
                if old.ends_in_bare_number() {
                    return Err(rejected(Refused::NumberedEnd));
                }
                (old.text.as_str(), Cow::Borrowed(""))
            }
            (Rule::LineNumbers, Some(old)) => {
                let new = old
                    .new_text(&texts.new)
                    .ok_or_else(|| rejected(Refused::NumbersInOld))?;
                if !old.ends_like(&new) {
                    return Err(rejected(Refused::NumberedEnd));
                }
                (old.text.as_str(), Cow::Owned(new.text))
            }
            _ => (texts.old.as_ref(), Cow::Borrowed(texts.new.as_ref())),
        };
        let (old, new) = without_missing_end(lines, first, old, &new);
        let (old, new) = (lines_of(old), lines_of(new));
        let hunks = Hunk::find(&old, &new);
        if hunks.is_empty() {
            return Err(Rejection::NoChange);
        }
        let correction = Correction {
            lines,
            first,
            hunks: &hunks,
            old: &old,
            new: &new,
        };
        let corrected = correction
            .apply(&rule)
            .map_err(|doubt| rejected(Refused::Doubt(doubt)))?;
        let quoted = old.iter().enumerate().filter_map(|(at, quoted)| {
            let line = lines.get(first + at)?;
            Some(
                line.start..if quoted.ends_with('\n') {
                    line.next
                } else {
                    line.end
                },
            )
        });
        let splice = Splice {
            lines,
            quoted: quoted.collect(),
            hunks: &hunks,
            new: &corrected,
        };
        let mut applied = Applied::new(rule);
        applied.write(&[splice]);
        if applied.text == lines.text {
            return Err(Rejection::NoChange);
        }
        Ok(applied)
    }
}

impl Applied {
    fn new(rule: Rule) -> Self {
        Self {
            text: String::new(),
            changes: Vec::new(),
            rule,
        }
    }

    /// Returns the difference between the quote and the file; `None` for an exact quote.
    pub(crate) fn difference(&self) -> Option<&'static str> {
        (self.rule != Rule::Exact).then(|| self.rule.difference())
    }

    /// Writes the file with the changes of all places, in their order.
    fn write(&mut self, splices: &[Splice<'_>]) {
        let mut written = 0;
        for splice in splices {
            let text = splice.lines.text;
            let changed = splice.changed();
            self.text
                .push_str(text.get(written..changed.start).unwrap_or_default());
            let start = self.text.len();
            splice.write(&mut self.text);
            self.changes.push(start..self.text.len());
            written = changed.end;
        }
        let text = splices.first().map_or("", |splice| splice.lines.text);
        self.text.push_str(text.get(written..).unwrap_or_default());
    }
}

/// Finds a text, also where occurrences overlap; at most one more than [`MAX_PLACES`].
fn occurrences(view: &str, quote: &str) -> Vec<usize> {
    let step = quote.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = view.get(from..).and_then(|rest| rest.find(quote))
        && places.len() <= MAX_PLACES
    {
        places.push(from + at);
        from += at + step;
    }
    places
}

fn apply_exact(lines: &Lines<'_>, view: &View<'_>, texts: &Texts<'_>, places: &[usize]) -> Applied {
    let (old, new) = (lines_of(&texts.old), lines_of(&texts.new));
    let hunks = Hunk::find(&old, &new);
    let new: Vec<Cow<'_, str>> = new.into_iter().map(Cow::Borrowed).collect();
    let splices: Vec<Splice<'_>> = places
        .iter()
        .map(|place| {
            let mut at = *place;
            let quoted = old.iter().map(|line| {
                let range = at..at + line.len();
                at = range.end;
                view.range(&range)
            });
            Splice {
                lines,
                quoted: quoted.collect(),
                hunks: &hunks,
                new: &new,
            }
        })
        .collect();
    let mut applied = Applied::new(Rule::Exact);
    applied.write(&splices);
    applied
}

/// Leaves the last line feed out of both texts if the last line of the place has no ending.
fn without_missing_end<'t>(
    lines: &Lines<'_>,
    first: usize,
    old: &'t str,
    new: &'t str,
) -> (&'t str, &'t str) {
    let last = first + Quote::new(old).lines.len() - 1;
    match old.strip_suffix('\n') {
        Some(shorter) if lines.ending(last).is_empty() => (shorter, new.strip_suffix('\n').unwrap_or(new)),
        _ => (old, new),
    }
}
