//! [`FaultCells`]: the columns of a row of `docs/faults.md`. [`in_row`] writes a text as rows have it.

/// The code in the columns of a row. All other text is prose.
#[derive(Debug)]
pub struct FaultCells {
    /// Name of the test.
    pub test: String,
    /// Texts that the model or the client reads.
    pub reader: Vec<String>,
    /// Telemetry for the host.
    pub host: Vec<String>,
}

impl FaultCells {
    /// Reads a row. Panics if the row does not have four columns, or no test.
    pub fn read(line: &str) -> Self {
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
            .is_some_and(|unit| unit.trim_end_matches([';', ')']) == "s")
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
