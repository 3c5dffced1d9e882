//! Command `repair --sse`, which repairs the tool calls of a stream.

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
    let mut run = RepairRun {
        repairer: StreamRepairer::new(dialect, fixing(&options.stream)),
        out: Vec::new(),
        terminal,
        each_fix: options.stream.debug_logging,
        has_failures: false,
    };
    let mut first = None;
    let mut bytes = vec![0; 64 << 10];
    let read = loop {
        match source.reader.read(&mut bytes) {
            Ok(0) => break Ok(()),
            Ok(count) => {
                let bytes = bytes.get(..count).unwrap_or_default();
                first = first.or_else(|| bytes.iter().copied().find(|byte| !BLANK.contains(byte)));
                run.repairer.push(bytes, &mut run.out);
                run.flush()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(Failure::reading(&source.name, &error)),
        }
    };
    // Held bytes are written at the end. After a read error they are written unrepaired, since they may be a part of a call.
    if read.is_ok() {
        run.repairer.finish(&mut run.out);
    } else {
        run.repairer.abort(&mut run.out);
    }
    run.flush()?;
    terminal.print(&skipped(run.repairer.skipped()));
    if let Some(reason) = run.repairer.bailout_reason() {
        let unrepaired = terminal.palette.error("the rest of the stream was not repaired");
        terminal.print(&format!("{unrepaired}: {reason}\n"));
        run.has_failures = true;
    } else if read.is_ok() && run.repairer.calls() == 0 {
        let advice = if first.is_some_and(|byte| b"{[".contains(&byte)) {
            NOT_A_STREAM
        } else {
            OTHER_DIALECT
        };
        terminal.print(&format!("the stream has no tool calls; {advice}\n"));
    }
    read.map(|()| Outcome::success_if(!run.has_failures))
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

/// A stream that is being repaired.
struct RepairRun {
    repairer: StreamRepairer,
    /// Repaired output that was not written yet.
    out: Vec<u8>,
    terminal: Terminal,
    /// Whether every fix is printed.
    each_fix: bool,
    /// Whether a call could not be repaired.
    has_failures: bool,
}

impl RepairRun {
    /// Writes the available output, and reports the calls that have ended.
    fn flush(&mut self) -> Result<(), Failure> {
        if !self.out.is_empty() {
            let mut stdout = io::stdout().lock();
            stdout
                .write_all(&self.out)
                .and_then(|()| stdout.flush())
                .map_err(|error| Failure::writing(&error))?;
            self.out.clear();
        }
        for record in self.repairer.take_records() {
            self.has_failures |= matches!(record.status, Status::Refused | Status::Truncated);
            self.terminal
                .print(&describe_record(&record, self.each_fix, self.terminal.palette));
        }
        Ok(())
    }
}

/// Describes a call in one line, and each fix in another line if `each_fix` is set.
fn describe_record(record: &RepairRecord, each_fix: bool, palette: Palette) -> String {
    let mut text = format!("{}: {}", describe_call(record), describe_outcome(record, palette));
    if record.was_object {
        text.push_str("; the arguments were an object, and became a string");
    }
    if record.status == Status::Repaired && !record.validated {
        text.push_str("; not validated");
    }
    text.push('\n');
    if each_fix {
        for fix in record.fixes.first() {
            let code = palette.warning(fix.code.as_str());
            let _ = writeln!(text, "  byte {}: {code}: {}", fix.offset, visible(&fix.message));
        }
    }
    text
}

/// Describes a call by its tool, id and position, if the stream contains them.
fn describe_call(record: &RepairRecord) -> String {
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

/// Describes the outcome for the arguments.
fn describe_outcome(record: &RepairRecord, palette: Palette) -> String {
    let failed = |status| match &record.reason {
        Some(reason) => {
            let (status, offset) = (palette.error(status), reason.offset);
            format!(
                "{status} at byte {offset} of the arguments: {}",
                visible(&reason.message)
            )
        }
        None => palette.error(status),
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
            format!("{}, {fixes}: {}", palette.warning("repaired"), counts.join(", "))
        }
        _ => palette.success("valid"),
    }
}

/// Lists the tools whose calls were not repaired, with the option that includes them.
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
        "calls of other tools were not repaired: {names}; to include these tools, add --target-tools with '*' or their names\n"
    )
}

/// White space and the bytes of a byte order mark, which may precede a response.
const BLANK: &[u8] = b" \t\r\n\xef\xbb\xbf";

const OTHER_DIALECT: &str = "if calls are missing, choose another API: --sse chat, responses or anthropic";
const NOT_A_STREAM: &str = "the input is JSON and not a stream of events: record the answer with \"stream\": true, \
                         or repair its arguments separately, without --sse";
