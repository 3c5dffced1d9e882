//! [`Diagnosis`]: explains to the model why a quote is not in a file, and what to send instead.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::indentation::{indentation, is_blank};
use super::inexact::{Numbered, Quote, without_end, without_indentation};
use super::typography::{fold, plain};
use crate::workspace::lines::Lines;

/// Minimum similarity of lines that are shown.
const SIMILAR: f64 = 0.6;
/// Maximum number of lines that are shown.
const SHOWN_LINES: usize = 10;
/// Maximum number of bytes of a file in which similar lines are searched: the comparison takes some 100 ns a byte.
const COMPARED_BYTES: usize = 1 << 20;
/// Maximum number of characters of a shown line.
const SHOWN_CHARACTERS: usize = 200;

/// Relation of a quote to a file that does not have the quote.
pub(super) struct Diagnosis<'a> {
    pub(super) view: &'a str,
    pub(super) lines: &'a Lines<'a>,
    pub(super) old: &'a str,
    pub(super) new: &'a str,
}

impl Diagnosis<'_> {
    /// Returns the first explanation that is true.
    pub(super) fn explain(&self) -> String {
        self.already_done()
            .or_else(|| self.one_difference())
            .or_else(|| self.similar_lines())
            .unwrap_or_else(|| {
                format!(
                    "old_string is not in the file, and none of its {} lines is similar; read the file again",
                    self.lines.len()
                )
            })
    }

    fn already_done(&self) -> Option<String> {
        let is_evidence = self.new.trim().len() >= 3
            && self.new.chars().any(char::is_alphanumeric)
            && !self.old.contains(self.new);
        let at = self.view.find(self.new).filter(|_| is_evidence)?;
        Some(format!(
            "old_string is not in the file, and new_string is there already, at line {}; the edit may have been made before",
            line_at(self.view, at)
        ))
    }

    /// Finds a place that differs in one way, also in ways that no edit accepts.
    fn one_difference(&self) -> Option<String> {
        let quote = Quote::new(self.old);
        let first = |places: Vec<usize>| places.first().copied();
        if let Some(at) = first(quote.windows(self.lines, |line| Cow::Borrowed(without_indentation(line)))) {
            let different = quote.lines.iter().enumerate().find(|(index, line)| {
                !is_blank(line) && indentation(line) != indentation(self.lines.content(at + index))
            });
            let (index, line) = different.unwrap_or((0, &""));
            return Some(format!(
                "old_string is in the file at line {}, but with another indentation (`→` is a tab, `·` a space): \
                 line {} is `{}`, and old_string has `{}`; send the indentation of the file",
                at + 1,
                at + index + 1,
                visible(self.lines.content(at + index)),
                visible(line),
            ));
        }
        if let Some(at) = first(quote.windows(self.lines, |line| Cow::Borrowed(without_end(line)))) {
            return Some(format!(
                "old_string is in the file at line {}, but with other blanks at the ends of its lines; send the lines as they are in the file",
                at + 1
            ));
        }
        if let Some(at) = first(quote.windows(self.lines, fold)) {
            let signs = self.different_signs(&quote, at);
            return Some(format!(
                "old_string is in the file at line {}, but with other signs: {signs}; send the signs of the file",
                at + 1
            ));
        }
        for (name, text) in unescaped(self.old) {
            if let Some(at) = self.view.find(&text) {
                return Some(format!(
                    "old_string is in the file at line {}, but {name} is written out in old_string; send the character itself",
                    line_at(self.view, at)
                ));
            }
        }
        let lower = |line: &str| Cow::Owned(line.to_lowercase());
        if let Some(at) = first(quote.windows(self.lines, |line| lower(line))) {
            return Some(format!(
                "old_string is in the file at line {}, but in other letter case; send the letters of the file",
                at + 1
            ));
        }
        let numbered = Numbered::new(self.old).filter(|numbered| !numbered.ends_in_bare_number())?;
        let text = numbered.text.trim_end_matches('\n');
        let at = self.view.find(text).filter(|_| !is_blank(text))?;
        Some(format!(
            "old_string has line numbers in front of its lines, and the text without them is at line {}; send the text without line numbers",
            line_at(self.view, at)
        ))
    }

    fn different_signs(&self, quote: &Quote<'_>, first: usize) -> String {
        let mut found: Vec<String> = Vec::new();
        for (index, line) in quote.lines.iter().enumerate() {
            for (sent, file) in line.chars().zip(self.lines.content(first + index).chars()) {
                let is_sign = plain(sent).is_some() || plain(file).is_some();
                let sign = format!(
                    "U+{:04X} in the file is U+{:04X} in old_string",
                    u32::from(file),
                    u32::from(sent)
                );
                if sent != file && is_sign && !found.contains(&sign) {
                    found.push(sign);
                }
            }
        }
        found.truncate(3);
        found.join(", ")
    }

    /// Shows the lines that are most similar to the quote, and the first difference.
    fn similar_lines(&self) -> Option<String> {
        let quote = Quote::new(self.old);
        if self.view.len() > COMPARED_BYTES {
            return None;
        }
        let anchor = quote.lines.iter().position(|line| !is_blank(line))?;
        let wanted = quote.lines.get(anchor)?.trim();
        let mut best: Option<(f64, usize)> = None;
        for at in anchor..self.lines.len() {
            let line = self.lines.content(at).trim();
            let is_possible =
                line.len() < wanted.len().saturating_mul(3) && wanted.len() < line.len().saturating_mul(3);
            let score = if is_possible {
                strsim::sorensen_dice(wanted, line)
            } else {
                0.0
            };
            if score >= SIMILAR && best.is_none_or(|(other, _)| score > other) {
                best = Some((score, at));
            }
        }
        let (_, at) = best?;
        let first = at - anchor;
        let mut text = "old_string is not in the file; the most similar lines are:".to_owned();
        let shown = quote.lines.len().min(SHOWN_LINES);
        let mut has_caret = false;
        for index in 0..shown.min(self.lines.len() - first) {
            let line = self.lines.content(first + index);
            let number = (first + index + 1).to_string();
            let _ = write!(text, "\n{number}\t{}", cut(line));
            let sent = quote.lines.get(index).copied().unwrap_or_default();
            let same = line
                .chars()
                .zip(sent.chars())
                .take_while(|(file, sent)| file == sent)
                .count();
            if !has_caret && line != sent && same < SHOWN_CHARACTERS {
                has_caret = true;
                let before: String = line
                    .chars()
                    .take(same)
                    .map(|sign| if sign == '\t' { '\t' } else { ' ' })
                    .collect();
                let rest: String = sent.chars().skip(same).take(30).collect();
                let _ = write!(
                    text,
                    "\n{}\t{before}^ here old_string has `{}`",
                    " ".repeat(number.len()),
                    visible_if_blank(&rest),
                );
            }
        }
        Some(text)
    }
}

fn line_at(view: &str, at: usize) -> usize {
    view.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
    }
}

/// Returns a line with visible blanks at its start.
fn visible(line: &str) -> String {
    let blanks = indentation(line);
    let shown = blanks.replace('\t', "→").replace(' ', "·");
    cut(&(shown + line.strip_prefix(blanks).unwrap_or_default()))
}

fn visible_if_blank(text: &str) -> String {
    if is_blank(text) {
        visible(text)
    } else {
        text.to_owned()
    }
}

/// Returns the quote with characters in place of escapes that models write out, if it has some.
fn unescaped(old: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for (name, escapes) in [
        (
            r"`\n`",
            &[(r"\n", "\n"), (r"\t", "\t"), (r#"\""#, "\""), (r"\\", "\\")][..],
        ),
        (r#"`\"`"#, &[(r#"\""#, "\""), (r"\'", "'")]),
        (r"`\\`", &[(r"\\", "\\")]),
        (r"`\t`", &[(r"\t", "\t")]),
        (
            "`&lt;`",
            &[
                ("&lt;", "<"),
                ("&gt;", ">"),
                ("&quot;", "\""),
                ("&#39;", "'"),
                ("&amp;", "&"),
            ],
        ),
    ] {
        let is_written = escapes.first().is_some_and(|(escape, _)| old.contains(escape))
            || escapes
                .iter()
                .any(|(escape, _)| escape.starts_with('&') && old.contains(escape));
        if is_written {
            let text = escapes
                .iter()
                .fold(old.to_owned(), |text, (escape, sign)| text.replace(escape, sign));
            found.push((name, text));
        }
    }
    found
}
