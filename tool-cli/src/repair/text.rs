//! Command `repair`, which repairs one text.

use std::io::{self, Write as _};

use serde::Deserialize;
use serde::de::IgnoredAny;
use tool_runtime::repair::{Status, repair};

use crate::options::RepairOptions;
use crate::outcome::{Failure, Outcome};
use crate::repair::explain::Explainer;
use crate::source::{Source, invalid_utf8};
use crate::terminal::Terminal;

pub(crate) fn run(options: &RepairOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let mut source = Source::open(options.file.as_deref(), terminal)?;
    let bytes = source.read()?;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            // Bytes that are not UTF-8 are written, too: a pipe through this command must not lose bytes.
            write(&bytes)?;
            terminal.end_line(&bytes);
            let reason = invalid_utf8(&bytes, error.valid_up_to());
            return Err(Failure::Message(format!(
                "{}: {reason}; the output is unchanged",
                source.name
            )));
        }
    };
    let repaired = repair(text);
    write(repaired.text.as_bytes())?;
    let explainer = Explainer {
        name: &source.name,
        text,
        palette: terminal.palette,
    };
    let output = match &repaired.reason {
        Some(reason) => explainer.reason(repaired.status, reason) + suggested_option(text),
        None if options.explain => explainer.fixes(repaired.status, &repaired.fixes),
        None => String::new(),
    };
    if !output.is_empty() {
        terminal.end_line(repaired.text.as_bytes());
        terminal.print(&output);
    }
    Ok(Outcome::success_if(matches!(
        repaired.status,
        Status::Valid | Status::Repaired
    )))
}

/// Suggests an option for input that is not a single text.
fn suggested_option(text: &str) -> &'static str {
    #[derive(Deserialize)]
    struct Record {
        #[serde(rename = "text")]
        _text: IgnoredAny,
    }
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("data:") || first.starts_with("event:") {
        "this looks like a stream: --sse chat, responses or anthropic\n"
    } else if first.starts_with('{') && serde_json::from_str::<Record>(first).is_ok() {
        "this looks like JSON lines: --jsonl\n"
    } else {
        ""
    }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::writing(&error))
}
