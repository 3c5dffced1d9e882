//! `tool-gateway repair --sse`: a recorded stream, its tool calls repaired as it passes by.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read as _, Write as _};

use tool_runtime::repair::stream::{Dialect, RepairRecord, StreamRepairer};
use tool_runtime::repair::{FormatFixing, Status, TargetTools};

use crate::options::{RepairOptions, StreamOptions};
use crate::outcome::{Failure, Outcome};
use crate::source::Source;
use crate::terminal::{Palette, Terminal, counted, visible};

pub(crate) fn run(dialect: Dialect, options: &RepairOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let mut source = Source::open(options.file.as_deref(), terminal)?;
    let mut passage = Passage {
        repairer: StreamRepairer::new(dialect, fixing(&options.stream)),
        out: Vec::new(),
        terminal,
        each_fix: options.stream.debug_logging,
        unmet: false,
    };
    let mut first = None;
    let mut bytes = vec![0; 64 << 10];
    let read = loop {
        match source.reader.read(&mut bytes) {
            Ok(0) => break Ok(()),
            Ok(count) => {
                let bytes = bytes.get(..count).unwrap_or_default();
                first = first.or_else(|| bytes.iter().copied().find(|byte| !BLANK.contains(byte)));
                passage.repairer.push(bytes, &mut passage.out);
                passage.send()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(Failure::reading(&source.name, &error)),
        }
    };
    // What is held goes out, also where there is no more to be had: then as it came, for it may be half a call.
    if read.is_ok() {
        passage.repairer.finish(&mut passage.out);
    } else {
        passage.repairer.abort(&mut passage.out);
    }
    passage.send()?;
    terminal.print(&skipped(passage.repairer.skipped()));
    if let Some(reason) = passage.repairer.bailout_reason() {
        let untouched = terminal.palette.bad("the rest of the stream passed untouched");
        terminal.print(&format!("{untouched}: {reason}\n"));
        passage.unmet = true;
    } else if read.is_ok() && passage.repairer.calls() == 0 {
        let advice = if first.is_some_and(|byte| b"{[".contains(&byte)) {
            NO_STREAM
        } else {
            OTHER_KIND
        };
        terminal.print(&format!("no tool call was seen; {advice}\n"));
    }
    read.map(|()| Outcome::success_if(!passage.unmet))
}

fn fixing(options: &StreamOptions) -> FormatFixing {
    let mut fixing = FormatFixing {
        strict_validation: !options.no_strict_validation,
        fallback_on_error: !options.no_fallback,
        debug_logging: options.debug_logging,
        ..FormatFixing::default()
    };
    if !options.target_tools.is_empty() {
        fixing.target_tools = TargetTools::named(&options.target_tools);
    }
    fixing
}

/// A stream on its way through.
struct Passage {
    repairer: StreamRepairer,
    /// Output that may be written.
    out: Vec<u8>,
    terminal: Terminal,
    /// Whether every fix is printed.
    each_fix: bool,
    /// Whether a call could not be repaired.
    unmet: bool,
}

impl Passage {
    /// Sends what may leave, at once, and tells of the calls that ended with it.
    fn send(&mut self) -> Result<(), Failure> {
        if !self.out.is_empty() {
            let mut stdout = io::stdout().lock();
            stdout
                .write_all(&self.out)
                .and_then(|()| stdout.flush())
                .map_err(|error| Failure::writing(&error))?;
            self.out.clear();
        }
        for record in self.repairer.take_records() {
            self.unmet |= matches!(record.status, Status::Refused | Status::Truncated);
            self.terminal
                .print(&describe_record(&record, self.each_fix, self.terminal.palette));
        }
        Ok(())
    }
}

/// One line for a call, and one for each fix where that is wanted.
fn describe_record(record: &RepairRecord, each_fix: bool, palette: Palette) -> String {
    let mut text = format!("{}: {}", which(record), became(record, palette));
    if record.was_object {
        text.push_str("; its arguments were an object and became the string of its text");
    }
    if record.status == Status::Repaired && !record.validated {
        text.push_str("; not validated");
    }
    text.push('\n');
    if each_fix {
        for fix in record.fixes.first() {
            let code = palette.changed(fix.code.as_str());
            let _ = writeln!(text, "  byte {}: {code}: {}", fix.offset, visible(&fix.message));
        }
    }
    text
}

/// Which call it is, as far as the stream says.
fn which(record: &RepairRecord) -> String {
    let mut call = if record.tool.is_empty() {
        "a call".to_owned()
    } else {
        visible(&record.tool)
    };
    if let Some(id) = &record.call {
        let _ = write!(call, " {}", visible(id));
    }
    let places = [("choice", record.choice), ("index", record.index)];
    let places = places
        .iter()
        .filter_map(|(name, place)| Some(format!("{name} {}", (*place)?)));
    let places: Vec<String> = places.collect();
    if places.is_empty() {
        call
    } else {
        format!("{call} ({})", places.join(", "))
    }
}

/// Outcome for the arguments.
fn became(record: &RepairRecord, palette: Palette) -> String {
    let failed = |status| match &record.reason {
        Some(reason) => {
            let (status, offset) = (palette.bad(status), reason.offset);
            format!(
                "{status} at byte {offset} of its arguments: {}",
                visible(&reason.message)
            )
        }
        None => palette.bad(status),
    };
    match record.status {
        Status::Truncated => failed("truncated"),
        Status::Refused => failed("refused"),
        Status::Repaired => {
            let counts = record.fixes.counts();
            let counts: Vec<String> = counts
                .map(|(code, count)| format!("{count} {}", code.as_str()))
                .collect();
            let fixes = counted(record.fixes.total(), "fix", "fixes");
            format!("{}, {fixes}: {}", palette.changed("repaired"), counts.join(", "))
        }
        _ => palette.good("valid"),
    }
}

/// Tools that were skipped, and the option for them.
fn skipped(tools: &[String]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let names: Vec<String> = tools
        .iter()
        .map(|name| match name.as_str() {
            "" => "(a call without a name)".to_owned(),
            name => visible(name),
        })
        .collect();
    let names = names.join(", ");
    format!(
        "calls of other tools passed untouched: {names}; to repair them, too: --target-tools '*', or their names\n"
    )
}

/// White space and the bytes of a byte order mark: what may come before an answer.
const BLANK: &[u8] = b" \t\r\n\xef\xbb\xbf";

const OTHER_KIND: &str =
    "if there is one, the stream may be of another kind: --sse chat, responses or anthropic";
const NO_STREAM: &str = "this is no stream of events, it begins like JSON: record the answer with \"stream\": true, \
                         or repair its arguments by themselves, without --sse";
