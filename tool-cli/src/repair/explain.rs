//! [`Explainer`]: describes each fix of a repair with its position, or the reason why the text is unchanged.

use std::fmt::Write as _;

use annotate_snippets::{Annotation, Group, Level, Message, Renderer, Snippet};
use tool_runtime::repair::{Fix, FixCode, Fixes, Limits, Reason, Status};

use crate::repair::excerpt::Excerpt;
use crate::repair::line_column::{LineColumn, LineColumns};
use crate::terminal::{Palette, counted, visible};

/// A repaired text, with the name of its input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Explainer<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) palette: Palette,
}

impl Explainer<'_> {
    /// Describes every fix with a caret under its position, and the number of fixes of each kind.
    pub(crate) fn fixes(&self, status: Status, fixes: &Fixes) -> String {
        let name = self.name;
        if fixes.is_empty() {
            let status = match status {
                Status::Valid => self.palette.success("valid"),
                _ => self.palette.warning("repaired"),
            };
            return format!("{name}: {status}, nothing was changed\n");
        }
        let status = self.palette.warning("repaired");
        let mut output = format!("{name}: {status}, {}\n", counted(fixes.total(), "fix", "fixes"));
        let mut listed: Vec<&Fix> = fixes.first().iter().collect();
        listed.sort_by_key(|fix| fix.offset);
        let mut places = LineColumns::new(self.text);
        let found: Vec<(LineColumn, &Fix)> = listed
            .into_iter()
            .map(|fix| (places.find(fix.offset), fix))
            .collect();
        let mut groups = Vec::new();
        for on_line in found.chunk_by(|one, next| one.0.line == next.0.line) {
            let Some((first, _)) = on_line.first() else {
                continue;
            };
            let line = first.line_in(self.text);
            let mut rest = on_line;
            while !rest.is_empty() {
                let offsets: Vec<usize> = rest.iter().map(|(place, _)| place.in_line()).collect();
                let excerpt = Excerpt::new(line, &offsets);
                let (shown, later) = rest.split_at(excerpt.covered.clamp(1, rest.len()));
                groups.push(
                    Group::with_level(Level::WARNING)
                        .element(self.snippet(*first, &excerpt))
                        .elements(self.notes(shown).into_iter().map(note)),
                );
                rest = later;
            }
        }
        // A renderer draws several groups without blank lines between them, so each group is drawn separately.
        let drawn: Vec<String> = groups.iter().map(|group| self.draw(group)).collect();
        output.push_str(&drawn.concat());
        if fixes.total() > fixes.first().len() {
            let _ = writeln!(output, "\nthe first {} are shown; total:", fixes.first().len());
        } else {
            output.push('\n');
        }
        output + &fix_counts(fixes)
    }

    /// Describes the reason why a text is unchanged.
    pub(crate) fn reason(&self, status: Status, reason: &Reason) -> String {
        let place = LineColumns::new(self.text).find(reason.offset);
        let (status, note_text) = match status {
            Status::Truncated => (
                "truncated",
                "a truncated call must not be executed, so the text was not completed".to_owned(),
            ),
            _ => (
                "refused",
                limit(&reason.message).unwrap_or_else(|| "any repair would be a guess".to_owned()),
            ),
        };
        let output = format!(
            "{}:{}:{}: {}: {} (byte {})\n",
            self.name,
            place.line,
            place.column,
            self.palette.error(status),
            visible(&reason.message),
            reason.offset,
        );
        let excerpt = Excerpt::new(place.line_in(self.text), &[place.in_line()]);
        let group = Group::with_level(Level::ERROR)
            .element(self.snippet(place, &excerpt))
            .element(note(format!("{note_text}; the text is unchanged")));
        output + &self.draw(&group)
    }

    fn draw(&self, group: &Group<'_>) -> String {
        let renderer = if self.palette.colored {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(std::slice::from_ref(group)) + "\n"
    }

    /// Returns the snippet of a line, with the previous line if the excerpt is blank.
    fn snippet(&self, place: LineColumn, excerpt: &Excerpt) -> Snippet<'static, Annotation<'static>> {
        let before = place.line_before_in(self.text).filter(|_| excerpt.is_blank());
        let before = before.map(|line| Excerpt::new(line, &[line.len()]));
        excerpt.snippet(place.line, before.as_ref())
    }

    /// Returns one line for each kind of fix in an excerpt.
    fn notes(&self, shown: &[(LineColumn, &Fix)]) -> Vec<String> {
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
        notes
            .into_iter()
            .map(|(code, message, at)| {
                let code = self.palette.warning(code.as_str());
                format!("{at} {code}: {}", visible(message))
            })
            .collect()
    }
}

/// Creates a line below an excerpt.
fn note(text: String) -> Message<'static> {
    Level::NOTE.no_name().message(text)
}

/// Returns the exceeded limit that a reason describes; `None` for other reasons.
fn limit(reason: &str) -> Option<String> {
    let limits = Limits::default();
    let limits = [
        ("nested too deeply", limits.depth, "levels of nesting"),
        ("the number exceeds", limits.number, "bytes of a number"),
        ("the white space exceeds", limits.space, "bytes of white space"),
        (
            "not JSON, and more",
            limits.held,
            "bytes from the first one that is not JSON",
        ),
        ("the text before is too long", limits.sent, BYTES_BEFORE),
    ];
    let (_, maximum, unit) = limits.iter().find(|(begins, ..)| reason.starts_with(begins))?;
    Some(format!("the limit is {maximum} {unit}"))
}

const BYTES_BEFORE: &str = "bytes before the first one that is not JSON";

/// Lists the number of fixes of each kind.
fn fix_counts(fixes: &Fixes) -> String {
    let most = fixes.counts().map(|(_, count)| count).max().unwrap_or(0);
    let width = most.to_string().len();
    let mut output = String::new();
    for (code, count) in fixes.counts() {
        let _ = writeln!(output, "  {count:>width$} {}", code.as_str());
    }
    output
}
