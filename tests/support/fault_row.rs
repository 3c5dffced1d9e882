//! [`FaultRow`]: a row of `docs/faults.md`. [`in_row`] writes a text as rows have it.
//!
//! The two middle columns of a row contain exact texts as code: the whole text for the model or the client (after `is_error`, if the result
//! is an error), and the telemetry for the host (the kind of the failure, then the events). All other text is prose.

const DOCUMENT: &str = include_str!("../../docs/faults.md");

/// Row of the document, with the code in its columns.
#[derive(Debug)]
pub struct FaultRow {
    /// Name of the test: `suite::function`.
    pub test: String,
    /// Texts that the model or the client reads.
    pub reader: Vec<String>,
    /// Telemetry for the host.
    pub host: Vec<String>,
}

impl FaultRow {
    /// Returns all rows.
    pub fn all() -> impl Iterator<Item = Self> {
        let lines = DOCUMENT.lines().filter(|line| line.starts_with("| "));
        lines.filter(|line| !line.ends_with("| test |")).map(Self::read)
    }

    /// Returns the rows of a suite.
    pub fn in_suite(suite: &str) -> impl Iterator<Item = Self> {
        Self::all().filter(move |row| row.suite() == suite)
    }

    /// Returns the row of a test. Panics if there is none.
    pub fn find(suite: &str, function: &str) -> Self {
        let test = format!("{suite}::{function}");
        let found = Self::all().find(|row| row.test == test);
        found.unwrap_or_else(|| panic!("docs/faults.md has no row for `{test}`"))
    }

    /// Returns the suite of the row's test.
    pub fn suite(&self) -> &str {
        self.test.split("::").next().unwrap_or_default()
    }

    /// Returns the id of the row's call.
    pub fn id(&self) -> String {
        format!("toolu_{}", self.test.replace("::", "_"))
    }

    /// Compares the column of the model or the client.
    #[track_caller]
    pub fn model_reads<T: Into<String>>(&self, texts: impl IntoIterator<Item = T>) {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        assert_eq!(
            texts, self.reader,
            "what the model reads (left), and docs/faults.md"
        );
    }

    /// Compares the column of the host.
    #[track_caller]
    pub fn host_learns<T: Into<String>>(&self, texts: impl IntoIterator<Item = T>) {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        assert_eq!(
            texts, self.host,
            "what the host learns (left), and docs/faults.md"
        );
    }

    /// Reads a row. Panics if the row does not have four columns, or no test.
    fn read(line: &str) -> Self {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let [_, reader, host, test] = cells[..] else {
            panic!("four columns are a row of docs/faults.md: {line}")
        };
        Self {
            test: code_in(test).remove(0),
            reader: code_in(reader),
            host: code_in(host),
        }
    }
}

/// Returns a text as rows have it: in one line, with `N` in place of seconds.
pub fn in_row(text: &str) -> String {
    let text = text.replace('\n', " ⏎ ");
    let words = text.split(' ').collect::<Vec<_>>();
    let is_seconds = |at: usize| {
        words
            .get(at + 1)
            .is_some_and(|unit| unit.trim_end_matches([';', ':', ')']) == "s")
    };
    let words = words.iter().enumerate().map(|(at, word)| {
        let is_number = word.parse::<u64>().is_ok() && is_seconds(at);
        if is_number { "N" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the code spans of a cell, between single or double backticks.
fn code_in(cell: &str) -> Vec<String> {
    let mut spans = Vec::new();
    let mut rest = cell;
    while let Some(begin) = rest.find('`') {
        let fence = if rest[begin..].starts_with("``") {
            "``"
        } else {
            "`"
        };
        let inside = &rest[begin + fence.len()..];
        let end = inside
            .find(fence)
            .unwrap_or_else(|| panic!("code without an end: {cell}"));
        let span = &inside[..end];
        // One space next to a backtick belongs to the delimiter.
        let bare = span.strip_prefix(' ').and_then(|span| span.strip_suffix(' '));
        spans.push(bare.unwrap_or(span).to_owned());
        rest = &inside[end + fence.len()..];
    }
    spans
}
