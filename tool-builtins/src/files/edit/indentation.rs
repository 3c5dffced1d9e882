//! [`Shift`]: a difference of indentation that is equal on every line.

use std::collections::BTreeMap;

use crate::workspace::lines::Lines;

/// Widths of a tab in spaces that are recognized.
const WIDTHS: [usize; 3] = [2, 4, 8];

/// Difference between the indentation of a quote and of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shift {
    /// Each line of the file has this prefix before the quoted indentation.
    FileHasMore(String),
    /// Each quoted line has this prefix before the indentation of the file.
    QuoteHasMore(String),
    /// The file has tabs, and the quote has spaces for each.
    FileHasTabs(FileTabs),
    /// The quote has tabs, and the file has this number of spaces for each.
    QuoteHasTabs(usize),
}

/// Indentation of a file with tabs, which a quote has as spaces.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileTabs {
    /// Number of spaces for a tab.
    width: usize,
    /// Indentation in the file, by the quoted one; `None` if a quoted one is for several.
    known: BTreeMap<String, Option<String>>,
}

impl FileTabs {
    fn new(width: usize, pairs: &[(&str, &str)]) -> Option<Self> {
        let mut known = BTreeMap::new();
        for (file, quoted) in pairs {
            if expand(file, width) != *quoted {
                return None;
            }
            let in_file = known.entry((*quoted).to_owned());
            let in_file = in_file.or_insert_with(|| Some((*file).to_owned()));
            if in_file.as_deref() != Some(file) {
                *in_file = None;
            }
        }
        Some(Self { width, known })
    }

    /// Returns the indentation in the file of a new line: of a quoted line with equal indentation, or else tabs alone. After tabs with
    /// spaces in the file, spaces may be either.
    fn undo(&self, quoted: &str) -> Option<String> {
        if let Some(known) = self.known.get(quoted) {
            return known.clone();
        }
        let has_spaces = self.known.values().flatten().any(|file| file.contains(' '));
        let is_tabs = !has_spaces && !quoted.contains('\t') && quoted.len().is_multiple_of(self.width);
        is_tabs.then(|| "\t".repeat(quoted.len() / self.width))
    }
}

/// Returns the blanks at the start of a line.
pub(super) fn indentation(line: &str) -> &str {
    let content = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - content.len()).unwrap_or_default()
}

pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn expand(indentation: &str, width: usize) -> String {
    indentation.replace('\t', &" ".repeat(width))
}

impl Shift {
    /// Finds the shift between quoted lines and as many lines of a file, whose contents are equal after their indentation.
    pub(super) fn find(lines: &Lines<'_>, first: usize, quote: &[&str]) -> Option<Self> {
        let pairs: Vec<(&str, &str)> = quote
            .iter()
            .enumerate()
            .filter(|(_, line)| !is_blank(line))
            .map(|(at, line)| (indentation(lines.content(first + at)), indentation(line)))
            .collect();
        let prefix = |long: &str, short: &str| -> Option<String> {
            let prefix = long.strip_suffix(short)?;
            (!prefix.is_empty()).then(|| prefix.to_owned())
        };
        let (file, quoted) = pairs.first()?;
        if let Some(more) = prefix(file, quoted)
            && pairs
                .iter()
                .all(|(file, quoted)| file.strip_prefix(&more) == Some(quoted))
        {
            return Some(Self::FileHasMore(more));
        }
        if let Some(more) = prefix(quoted, file)
            && pairs
                .iter()
                .all(|(file, quoted)| quoted.strip_prefix(&more) == Some(file))
        {
            return Some(Self::QuoteHasMore(more));
        }
        let file_tabs = pairs.iter().any(|(file, _)| file.contains('\t'));
        let quote_tabs = pairs.iter().any(|(_, quoted)| quoted.contains('\t'));
        if file_tabs == quote_tabs {
            return None;
        }
        // Blank lines with blanks must have this difference, too: otherwise the file has both tabs and spaces.
        let blank_pairs = quote.iter().enumerate().filter(|(_, line)| is_blank(line));
        let blank_pairs: Vec<(&str, &str)> = blank_pairs
            .map(|(at, line)| (lines.content(first + at), *line))
            .filter(|(file, line)| !file.is_empty() && !line.is_empty())
            .collect();
        WIDTHS.into_iter().find_map(|width| {
            let is_equal = |(file, quoted): &(&str, &str)| {
                let (tabs, spaces) = if file_tabs { (file, quoted) } else { (quoted, file) };
                expand(tabs, width) == **spaces
            };
            if !blank_pairs.iter().all(is_equal) {
                None
            } else if file_tabs {
                FileTabs::new(width, &pairs).map(Self::FileHasTabs)
            } else {
                pairs.iter().all(is_equal).then_some(Self::QuoteHasTabs(width))
            }
        })
    }

    /// Returns a new line with the indentation of the file; `None` if the line does not have the indentation of the quote.
    pub(super) fn undo(&self, line: &str) -> Option<String> {
        let own = indentation(line);
        let content = line.strip_prefix(own)?;
        match self {
            Self::FileHasMore(more) => Some(format!("{more}{line}")),
            Self::QuoteHasMore(more) => Some(line.strip_prefix(more.as_str())?.to_owned()),
            Self::FileHasTabs(tabs) => Some(tabs.undo(own)? + content),
            Self::QuoteHasTabs(width) => Some(expand(own, *width) + content),
        }
    }
}

/// Returns whether two texts are indented alike: no line that both have is indented differently, and without a common line the first and the
/// least indentation agree. Otherwise the model may have shifted only one of them, and a new line could have either indentation.
pub(super) fn are_indented_equally(old: &[&str], new: &[&str]) -> bool {
    let old_lines = by_content(old);
    let new_lines = by_content(new);
    let mut has_common = false;
    for (content, indentations) in &old_lines {
        let Some(others) = new_lines.get(content) else {
            continue;
        };
        if !indentations.iter().any(|own| others.contains(own)) {
            return false;
        }
        has_common |= content.chars().any(char::is_alphanumeric);
    }
    if has_common || new.iter().all(|line| is_blank(line)) {
        return true;
    }
    let first = |lines: &[&str]| -> Option<String> {
        let line = lines.iter().find(|line| !is_blank(line))?;
        Some(indentation(line).to_owned())
    };
    let least = |lines: &[&str]| {
        let indented = lines.iter().filter(|line| !is_blank(line));
        indented.map(|line| indentation(line).len()).min()
    };
    first(old) == first(new) && least(old) == least(new)
}

/// Returns the indentations of each content.
fn by_content<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.iter().filter(|line| !is_blank(line)) {
        let own = indentation(line);
        let content = line.strip_prefix(own).unwrap_or(line);
        found.entry(content).or_default().push(own);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shift_is_equal_on_every_line() {
        let file = "    a\n\n      b\n\tc\n\t\td\n";
        let lines = Lines::new(file);
        let find = |first, quote: &[&str]| Shift::find(&lines, first, quote);
        assert_eq!(
            find(0, &["a", "", "  b"]),
            Some(Shift::FileHasMore("    ".to_owned()))
        );
        assert_eq!(
            find(0, &["     a", "", "       b"]),
            Some(Shift::QuoteHasMore(" ".to_owned()))
        );
        assert_eq!(find(0, &["a", "", "b"]), None);
        assert!(
            matches!(find(3, &["    c", "        d"]), Some(Shift::FileHasTabs(tabs)) if tabs.width == 4)
        );
        assert_eq!(find(0, &["\t\ta", "", "\t\t\tb"]), Some(Shift::QuoteHasTabs(2)));
        assert_eq!(find(3, &["    c", "      d"]), None);
    }

    #[test]
    fn new_lines_need_the_indentation_of_the_quote() {
        assert_eq!(
            Shift::QuoteHasMore("  ".to_owned()).undo("   x").as_deref(),
            Some(" x")
        );
        assert_eq!(Shift::QuoteHasMore("  ".to_owned()).undo("x"), None);
        let tabs = FileTabs::new(4, &[("\t", "    ")]).unwrap();
        let undo = |line| Shift::FileHasTabs(tabs.clone()).undo(line);
        assert_eq!(undo("        x").as_deref(), Some("\t\tx"));
        assert_eq!(undo("      x"), None);
        assert_eq!(undo("\tx"), None);
        // With a width of 2, eight spaces are four tabs, or three tabs and two spaces.
        let mixed = FileTabs::new(2, &[("\t\t\t", "      "), ("\t\t\t  ", "        ")]).unwrap();
        let undo = |line| Shift::FileHasTabs(mixed.clone()).undo(line);
        assert_eq!(undo("        x").as_deref(), Some("\t\t\t  x"));
        assert_eq!(undo("          x"), None);
    }

    #[test]
    fn texts_with_different_shifts_are_found() {
        assert!(are_indented_equally(&["if a {", "  b();"], &["if a {", "  c();"]));
        assert!(!are_indented_equally(
            &["if a {", "  b();"],
            &["    if a {", "      c();"]
        ));
        assert!(!are_indented_equally(&["b();"], &["  c();"]));
        assert!(are_indented_equally(&["b();"], &["c();", "  d();"]));
        assert!(!are_indented_equally(
            &["b();"],
            &["c();", "if x {", "  b();", "}"]
        ));
    }
}
