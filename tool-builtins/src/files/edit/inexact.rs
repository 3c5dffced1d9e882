//! Places of a quote that is not exactly in the file: whole lines that differ in one way only.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::indentation::{Shift, are_indented_equally, indentation, is_blank};
use super::splice::Hunk;
use super::typography::{fold, has_signs};
use crate::workspace::lines::Lines;

/// Maximum number of places that are found.
pub(super) const MAX_PLACES: usize = 1_000;

/// Rule by which the place of an edit was found. `docs/edit.md` is the table of the rules.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    /// The quote is in the file.
    Exact,
    /// Blanks at the ends of lines differ.
    LineEnds,
    /// Quotes, dashes or no-break spaces differ.
    Typography,
    /// The indentation differs equally on every line.
    Indentation(Shift),
    /// The quote has the line numbers of `Read`.
    LineNumbers,
}

impl Rule {
    /// Returns the difference between the quote and the file.
    pub(super) fn difference(&self) -> &'static str {
        match self {
            Self::Exact => "nothing",
            Self::LineEnds => "blanks at the ends of lines",
            Self::Typography => "typographic signs",
            Self::Indentation(_) => "indentation",
            Self::LineNumbers => "line numbers in front of the lines",
        }
    }
}

/// Reason why a place is not certain enough for an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    Shift,
    BlankLine,
    Signs,
    LineEnds,
    EqualLines,
}

impl Doubt {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Shift => {
                "old_string and new_string are not indented alike, so the indentation of the new lines is uncertain"
            }
            Self::BlankLine => "the blanks of a blank line leave the indentation of the new lines uncertain",
            Self::Signs => "a changed line has typographic signs, which would be lost or added",
            Self::EqualLines => {
                "equal lines of old_string beside the change differ in the file, so it is uncertain which of them is meant"
            }
            Self::LineEnds => "a changed line has other blanks at its end, which would be lost or added",
        }
    }
}

/// Whole lines that a model quoted, with LF as line ends.
#[derive(Debug)]
pub(super) struct Quote<'q> {
    pub(super) lines: Vec<&'q str>,
    pub(super) ends_with_newline: bool,
}

impl<'q> Quote<'q> {
    pub(super) fn new(text: &'q str) -> Self {
        Self {
            lines: text.strip_suffix('\n').unwrap_or(text).split('\n').collect(),
            ends_with_newline: text.ends_with('\n'),
        }
    }

    /// Returns whether the quote is evidence enough to accept a difference. One line between blank lines, or signs without a letter or a
    /// digit, fit too many places.
    pub(super) fn is_distinctive(&self) -> bool {
        let filled = self.lines.iter().filter(|line| !is_blank(line)).count();
        let has_word = self
            .lines
            .iter()
            .any(|line| line.chars().any(char::is_alphanumeric));
        has_word && (filled > 1 || self.lines.len() == 1)
    }

    /// Finds all places by all rules except for the one of line numbers: the first line from 0, with the rule.
    pub(super) fn places(&self, lines: &Lines<'_>) -> BTreeMap<usize, Rule> {
        let mut places = BTreeMap::new();
        for first in self.windows(lines, |line| Cow::Borrowed(without_end(line))) {
            places.entry(first).or_insert(Rule::LineEnds);
        }
        for first in self.windows(lines, fold) {
            places.entry(first).or_insert(Rule::Typography);
        }
        for first in self.windows(lines, |line| Cow::Borrowed(without_indentation(line))) {
            if let Some(shift) = Shift::find(lines, first, &self.lines) {
                places.entry(first).or_insert(Rule::Indentation(shift));
            }
        }
        // A place that differs in several ways may be the meant one, so the place of a single difference is then not certain.
        if let Some(rule) = places.values().next().cloned() {
            for first in self.windows(lines, |line| fold(without_end(without_indentation(line)))) {
                places.entry(first).or_insert_with(|| rule.clone());
            }
        }
        places
    }

    /// Finds the windows of the file whose lines equal the quoted ones in a form, in linear time (Knuth, Morris, Pratt).
    pub(super) fn windows(
        &self,
        lines: &Lines<'_>,
        form: impl for<'l> Fn(&'l str) -> Cow<'l, str>,
    ) -> Vec<usize> {
        let quote: Vec<Cow<'_, str>> = self.lines.iter().map(|line| form(line)).collect();
        let borders = borders(&quote);
        let mut found = Vec::new();
        let mut matched = 0;
        for at in 0..lines.len() {
            let line = form(lines.content(at));
            while matched > 0 && quote.get(matched) != Some(&line) {
                matched = borders.get(matched - 1).copied().unwrap_or_default();
            }
            if quote.get(matched) == Some(&line) {
                matched += 1;
            }
            if matched == quote.len() {
                let first = at + 1 - matched;
                if self.ends_in(lines, at) {
                    found.push(first);
                }
                if found.len() > MAX_PLACES {
                    break;
                }
                matched = borders.get(matched - 1).copied().unwrap_or_default();
            }
        }
        found
    }

    /// Returns whether the line feed at the end of the quote may stand for a blank line after a place. Without the quoted line feed, `new` would
    /// then join two lines.
    pub(super) fn may_end_in_blank_line(&self, lines: &Lines<'_>, first: usize, new: &str) -> bool {
        let after = first + self.lines.len();
        let is_blank_line =
            || after < lines.len() && is_blank(lines.content(after)) && !lines.content(after).is_empty();
        self.ends_with_newline && !new.ends_with('\n') && is_blank_line()
    }

    /// Returns whether the last quoted line is empty, and has blanks and no line feed in the file. Without its line feed the line is not in
    /// `old` any more, and the blanks would remain behind the new lines.
    pub(super) fn loses_blank_line(&self, lines: &Lines<'_>, first: usize) -> bool {
        let last = first + self.lines.len() - 1;
        self.ends_with_newline
            && self.lines.last().is_some_and(|line| line.is_empty())
            && lines.ending(last).is_empty()
    }

    /// Returns whether a place may end with this line. A last line without an ending satisfies a quote with one: the ending counts as blanks
    /// at the end of the line.
    fn ends_in(&self, lines: &Lines<'_>, last: usize) -> bool {
        !self.ends_with_newline || !lines.ending(last).is_empty() || last + 1 == lines.len()
    }
}

/// Returns for each prefix of the quote the length of the longest proper prefix that is also its suffix.
fn borders(quote: &[Cow<'_, str>]) -> Vec<usize> {
    let mut borders = Vec::with_capacity(quote.len());
    let mut matched = 0;
    for (at, line) in quote.iter().enumerate() {
        if at > 0 {
            while matched > 0 && quote.get(matched) != Some(line) {
                matched = borders.get(matched - 1_usize).copied().unwrap_or_default();
            }
            if quote.get(matched) == Some(line) {
                matched += 1;
            }
        }
        borders.push(matched);
    }
    borders
}

/// Returns a line without the blanks at its end.
pub(super) fn without_end(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

/// Returns a line without its indentation; blank lines are equal.
pub(super) fn without_indentation(line: &str) -> &str {
    if is_blank(line) {
        return "";
    }
    line.strip_prefix(indentation(line)).unwrap_or(line)
}

/// A place that a rule found, and the texts of the edit.
#[derive(Debug)]
pub(super) struct Correction<'a> {
    pub(super) lines: &'a Lines<'a>,
    /// First line of the place, from 0.
    pub(super) first: usize,
    pub(super) hunks: &'a [Hunk],
    /// Quoted and new lines, each with its line feed.
    pub(super) old: &'a [&'a str],
    pub(super) new: &'a [&'a str],
}

impl<'a> Correction<'a> {
    /// Returns the new lines in the form of the file. A doubt is an error: a difference between the quote and the file must not be written.
    pub(super) fn apply(&self, rule: &Rule) -> Result<Vec<Cow<'a, str>>, Doubt> {
        let mut new: Vec<Cow<'a, str>> = self.new.iter().map(|line| Cow::Borrowed(*line)).collect();
        if let Rule::Indentation(_) = rule {
            let contents =
                |lines: &[&'a str]| -> Vec<&'a str> { lines.iter().map(|line| content(line)).collect() };
            if !are_indented_equally(&contents(self.old), &contents(self.new)) {
                return Err(Doubt::Shift);
            }
        }
        if *rule == Rule::LineEnds
            && self.has_other_tabs()
            && self.hunks.iter().any(|hunk| !hunk.new.is_empty())
        {
            return Err(Doubt::BlankLine);
        }
        for hunk in self.hunks {
            if *rule == Rule::Typography && hunk.old.clone().any(|at| has_signs(self.in_file(at))) {
                return Err(Doubt::Signs);
            }
            let is_uneven = !hunk.new.is_empty() && hunk.pair(hunk.new.start).is_none();
            if *rule == Rule::LineEnds && is_uneven && self.added_end().is_none() {
                let differs = |at: usize| end(self.in_file(at)) != end(self.quoted(at));
                if hunk.old.clone().any(differs) {
                    return Err(Doubt::LineEnds);
                }
            }
            for at in hunk.new.clone() {
                let Some(line) = new.get_mut(at) else { continue };
                let corrected = match rule {
                    Rule::Typography if has_signs(line) => return Err(Doubt::Signs),
                    Rule::Exact | Rule::Typography | Rule::LineNumbers => None,
                    Rule::LineEnds => self.with_end_of_file(hunk, at, content(line))?,
                    Rule::Indentation(shift) => indented(shift, content(line))?,
                };
                if let Some(corrected) = corrected {
                    let newline = if line.ends_with('\n') { "\n" } else { "" };
                    *line = Cow::Owned(corrected + newline);
                }
            }
        }
        if self.hunks.iter().all(|hunk| self.has_one_place(hunk, &new)) {
            Ok(new)
        } else {
            Err(Doubt::EqualLines)
        }
    }

    /// Returns whether a change is at one place only. Of equal lines, a comparison of the texts finds any one removed or added: then they must
    /// be equal in the file, too.
    fn has_one_place(&self, hunk: &Hunk, new: &[Cow<'_, str>]) -> bool {
        let is_removed_here = |(at, beside): (usize, usize)| self.in_file(at) == self.in_file(beside);
        let is_quoted_equal = |(at, beside): &(usize, usize)| self.quoted(*at) == self.quoted(*beside);
        let below = (hunk.old.start..).zip(hunk.old.end..self.old.len());
        let above = (0..hunk.old.end).rev().zip((0..hunk.old.start).rev());
        if !below.take_while(is_quoted_equal).all(is_removed_here)
            || !above.take_while(is_quoted_equal).all(is_removed_here)
        {
            return false;
        }
        if !hunk.old.is_empty() {
            return true;
        }
        // The line in front of and behind added lines, of which one is equal to it.
        let is_added_here = |(at, beside): (usize, usize)| {
            let is_equal = self.new.get(at).map(|line| content(line)) == Some(self.quoted(beside));
            !is_equal || new.get(at).map(|line| content(line)) == Some(self.in_file(beside))
        };
        let below = (hunk.old.end < self.old.len()).then_some((hunk.new.start, hunk.old.end));
        let above = hunk.new.end.checked_sub(1).zip(hunk.old.start.checked_sub(1));
        below.is_none_or(is_added_here) && above.is_none_or(is_added_here)
    }

    fn in_file(&self, quoted: usize) -> &'a str {
        self.lines.content(self.first + quoted)
    }

    fn quoted(&self, at: usize) -> &'a str {
        self.old.get(at).map(|line| content(line)).unwrap_or_default()
    }

    /// Returns whether a blank line has tabs for spaces: the indentation of other lines may then differ, too.
    fn has_other_tabs(&self) -> bool {
        (0..self.old.len()).any(|at| {
            let (file, quoted) = (self.in_file(at), self.quoted(at));
            let has_blanks = is_blank(quoted) && !quoted.is_empty() && !file.is_empty();
            has_blanks && file.contains('\t') != quoted.contains('\t')
        })
    }

    /// Returns the blanks that every quoted line has after the blanks of the file's line.
    fn added_end(&self) -> Option<&'a str> {
        let mut added =
            (0..self.old.len()).map(|at| end(self.quoted(at)).strip_prefix(end(self.in_file(at))));
        let first = added.next()??;
        (!first.is_empty() && added.all(|other| other == Some(first))).then_some(first)
    }

    /// Returns a new line with the blanks at the end of the file's line, if the edit leaves the quoted blanks there unchanged.
    fn with_end_of_file(&self, hunk: &Hunk, at: usize, line: &str) -> Result<Option<String>, Doubt> {
        let Some(old) = hunk.pair(at) else {
            if end(line).is_empty() {
                return Ok(None);
            }
            // Blanks at the end of an added line may be of the edit. If every quoted line has them after the file's, they are of the quote.
            let added = self.added_end().ok_or(Doubt::LineEnds)?;
            return line
                .strip_suffix(added)
                .map(|line| Some(line.to_owned()))
                .ok_or(Doubt::LineEnds);
        };
        let (file, quoted) = (end(self.in_file(old)), end(self.quoted(old)));
        if file == quoted {
            return Ok(None);
        }
        if end(line) != quoted {
            return Err(Doubt::LineEnds);
        }
        Ok(Some(without_end(line).to_owned() + file))
    }
}

/// Returns a line without its line feed.
fn content(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Returns the blanks at the end of a line.
fn end(line: &str) -> &str {
    line.get(without_end(line).len()..).unwrap_or_default()
}

fn indented(shift: &Shift, line: &str) -> Result<Option<String>, Doubt> {
    if line.is_empty() {
        return Ok(None);
    }
    if is_blank(line) {
        return Err(Doubt::BlankLine);
    }
    shift.undo(line).map(Some).ok_or(Doubt::Shift)
}

/// A text that was copied from an answer of `Read` with its line numbers.
#[derive(Debug)]
pub(super) struct Numbered {
    /// First number.
    pub(super) first: usize,
    /// Number of numbered lines. `text` alone does not say it: a blank last line without a line feed leaves no trace there.
    count: usize,
    /// Text without the numbers.
    pub(super) text: String,
    /// Whether the last numbered line has a line feed.
    ends_with_newline: bool,
    /// Whether the numbers are consecutive.
    is_consecutive: bool,
    /// Whether no number is smaller than the one before.
    is_sorted: bool,
}

impl Numbered {
    /// Takes the numbers off a text in which every line has one.
    pub(super) fn new(text: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        let mut rest = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let line = line.trim_start_matches(' ');
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            let (number, content) = line.split_at_checked(digits)?;
            numbers.push(number.parse::<usize>().ok()?);
            rest.push_str(content.strip_prefix(['\t', '→'])?);
        }
        Some(Self {
            first: *numbers.first()?,
            count: numbers.len(),
            ends_with_newline: text.ends_with('\n'),
            is_consecutive: numbers.is_sorted_by(|a, b| a.checked_add(1) == Some(*b)),
            is_sorted: numbers.is_sorted(),
            text: rest,
        })
    }

    /// Returns the lines without their numbers: as many as there are numbers.
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.split('\n').take(self.count)
    }

    /// Returns whether the last line is blank and has no line feed. A search for the text would then not compare this line.
    pub(super) fn ends_in_bare_number(&self) -> bool {
        !self.ends_with_newline && self.lines().last().is_some_and(str::is_empty)
    }

    /// Finds the place that the numbers name: the first line from 0. The numbered lines of the file must be the quoted ones to the letter, and
    /// one of them must have text. Lines that begin with a number in the file, too, are no evidence: `new_string` may then have the file's
    /// numbers only.
    pub(super) fn place(&self, lines: &Lines<'_>) -> Option<usize> {
        let first = self.first.checked_sub(1)?;
        let is_equal = |(at, line): (usize, &str)| {
            let at = first.checked_add(at).filter(|at| *at < lines.len());
            at.is_some_and(|at| lines.content(at) == line) && Self::new(line).is_none()
        };
        let is_place = self.is_consecutive && !is_blank(&self.text) && self.lines().enumerate().all(is_equal);
        is_place.then_some(first)
    }

    /// Returns the new text of an edit without its numbers; `None` if it has none on some lines, or numbers of other places.
    pub(super) fn new_text(&self, new: &str) -> Option<Self> {
        let end = self.first.checked_add(self.count)?;
        Self::new(new).filter(|new| new.is_sorted && (self.first..=end).contains(&new.first))
    }

    /// Returns whether both texts end in the same way. Otherwise a line would be joined with the next one, or a blank last line lost.
    pub(super) fn ends_like(&self, new: &Self) -> bool {
        self.ends_with_newline == new.ends_with_newline
    }
}
