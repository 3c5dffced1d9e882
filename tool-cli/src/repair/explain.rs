//! What a repair did to a text, for people: each fix with its place, or the reason why there is none.

use std::fmt::Write as _;

use tool_runtime::repair::{Fix, FixCode, Fixes, Limits, Reason, Status};

use crate::line_column::{LineColumn, LineColumns};
use crate::repair::excerpt::Excerpt;
use crate::terminal::{Palette, counted, visible};

/// A text that was looked at, with the name of where it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Explainer<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) palette: Palette,
}

impl Explainer<'_> {
    /// Every fix, a caret under its place, and how many there were of each kind.
    pub(crate) fn fixes(&self, status: Status, fixes: &Fixes) -> String {
        let name = self.name;
        if fixes.is_empty() {
            let status = match status {
                Status::Valid => self.palette.good("valid"),
                _ => self.palette.changed("repaired"),
            };
            return format!("{name}: {status}, nothing was changed\n");
        }
        let status = self.palette.changed("repaired");
        let mut output = format!("{name}: {status}, {}\n", counted(fixes.total(), "fix", "fixes"));
        let mut listed: Vec<&Fix> = fixes.first().iter().collect();
        listed.sort_by_key(|fix| fix.offset);
        let mut places = LineColumns::of(self.text);
        let found: Vec<(LineColumn, &Fix)> = listed
            .into_iter()
            .map(|fix| (places.find(fix.offset), fix))
            .collect();
        for line in found.chunk_by(|one, next| one.0.line == next.0.line) {
            let mut rest = line;
            while !rest.is_empty() {
                let places: Vec<LineColumn> = rest.iter().map(|(place, _)| *place).collect();
                let excerpt = Excerpt::of(self.text, &places);
                let (shown, later) = rest.split_at(excerpt.carets.len().clamp(1, rest.len()));
                self.excerpt(&places, &excerpt, &mut output);
                self.notes(shown, &mut output);
                rest = later;
            }
        }
        if fixes.total() > fixes.first().len() {
            let _ = writeln!(output, "\nthe first {} are shown; in all:", fixes.first().len());
        } else {
            output.push('\n');
        }
        output + &tally(fixes)
    }

    /// Why a text came back as it was.
    pub(crate) fn reason(&self, status: Status, reason: &Reason) -> String {
        let place = LineColumns::of(self.text).find(reason.offset);
        let (status, note) = match status {
            Status::Truncated => (
                "truncated",
                "half a call must not be executed, so nothing was completed".to_owned(),
            ),
            _ => (
                "refused",
                limit(&reason.message).unwrap_or_else(|| "any repair would be a guess".to_owned()),
            ),
        };
        let mut output = format!(
            "{}:{}:{}: {}: {} (byte {})\n",
            self.name,
            place.line,
            place.column,
            self.palette.bad(status),
            visible(&reason.message),
            reason.offset,
        );
        self.excerpt(&[place], &Excerpt::of(self.text, &[place]), &mut output);
        let _ = writeln!(
            output,
            "{} {note}; the text is unchanged",
            self.gutter(&[place], "=")
        );
        output
    }

    /// The line, with the one before it where it is blank, and the carets.
    fn excerpt(&self, places: &[LineColumn], excerpt: &Excerpt, output: &mut String) {
        let (line, start) = places
            .first()
            .map_or((1, 0), |place| (place.line, place.line_start));
        let _ = writeln!(output, "{}", self.gutter(places, "|"));
        if excerpt.text.trim().is_empty()
            && let Some(before) = self.text.get(..start.saturating_sub(1)).filter(|_| start > 0)
        {
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            let end = LineColumn {
                line: line - 1,
                column: 0,
                offset: before.len(),
                line_start,
            };
            self.numbered(places, line - 1, &Excerpt::of(self.text, &[end]).text, output);
        }
        self.numbered(places, line, &excerpt.text, output);
        let carets = self.palette.changed(&excerpt.caret_line());
        let _ = writeln!(output, "{} {carets}", self.gutter(places, "|"));
    }

    fn numbered(&self, places: &[LineColumn], line: usize, text: &str, output: &mut String) {
        let number = format!("{line:>width$} |", width = digits(places));
        let _ = writeln!(output, "{} {text}", self.palette.faint(&number));
    }

    /// One line for each kind of fix in an excerpt.
    fn notes(&self, shown: &[(LineColumn, &Fix)], output: &mut String) {
        let mut notes: Vec<(FixCode, &str, String)> = Vec::new();
        for (place, fix) in shown {
            let at = format!("{}:{}", place.line, place.column);
            match notes
                .iter_mut()
                .find(|(code, message, _)| *code == fix.code && *message == fix.message)
            {
                Some((_, _, places)) => *places = format!("{places} {at}"),
                None => notes.push((fix.code, &fix.message, at)),
            }
        }
        let places: Vec<LineColumn> = shown.iter().map(|(place, _)| *place).collect();
        for (code, message, at) in notes {
            let code = self.palette.changed(code.as_str());
            let _ = writeln!(
                output,
                "{} {at} {code}: {}",
                self.gutter(&places, "="),
                visible(message)
            );
        }
    }

    fn gutter(&self, places: &[LineColumn], mark: &str) -> String {
        self.palette
            .faint(&format!("{:width$} {mark}", "", width = digits(places)))
    }
}

/// The limit that a reason speaks of, if it speaks of one.
fn limit(reason: &str) -> Option<String> {
    let limits = Limits::default();
    let limits = [
        ("nested deeper", limits.depth, "levels are followed"),
        ("a number longer", limits.number, "bytes of a number are held"),
        ("more white space", limits.space, "bytes of white space are held"),
        (
            "not JSON, and more",
            limits.held,
            "bytes are held from the first that is not JSON",
        ),
        ("what came before is too long", limits.sent, KEPT),
        ("something follows a value too long", limits.sent, KEPT),
    ];
    let (_, most, what) = limits.iter().find(|(begins, ..)| reason.starts_with(begins))?;
    Some(format!("a limit, not a guess: at most {most} {what}"))
}

const KEPT: &str = "bytes of what was JSON are kept to be looked at again";

/// How many digits the line numbers have.
fn digits(places: &[LineColumn]) -> usize {
    places.first().map_or(1, |place| place.line.to_string().len())
}

/// How many fixes there were of each kind.
fn tally(fixes: &Fixes) -> String {
    let most = fixes.counts().map(|(_, count)| count).max().unwrap_or(0);
    let width = most.to_string().len();
    let mut output = String::new();
    for (code, count) in fixes.counts() {
        let _ = writeln!(output, "  {count:>width$} {}", code.as_str());
    }
    output
}
