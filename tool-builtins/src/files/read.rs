//! `Read`: lines of a file with their numbers, or an image.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tool_runtime::message::Block;
use tool_runtime::{CancellationToken, SessionState, State, ToolError, ToolOutput, tool};

use super::document::binary;
use crate::workspace::error::ErrorCode;
use crate::workspace::lines::Lines;
use crate::workspace::load::{MAX_LOADED, OpenedFile};
use crate::workspace::place::Place;
use crate::workspace::seen_files::FileDigest;
use crate::workspace::text::{FileText, NotText, is_binary};
use crate::workspace::{SeenFiles, Workspace, WorkspaceLimits};

/// Read a text file, or look at an image (PNG, JPEG, GIF, WebP). Each line of the answer is its number, a tab and the text of the line.
/// Without `limit`, 2000 lines are shown; longer lines are cut after 2000 characters. A last line in parentheses says whether there
/// is more, and how to continue. Read a file before changing it.
#[tool(name = "Read", read_only, blocking)]
#[allow(
    clippy::too_many_arguments,
    reason = "the parameters of models, and three of the host"
)]
pub fn read(
    /// The file: absolute, or relative to the workspace.
    file_path: String,
    /// First line to show, from 1.
    #[arg(range = 1..)]
    offset: Option<usize>,
    /// Number of lines to show.
    #[arg(range = 1..=10_000)]
    limit: Option<usize>,
    /// Pages of a PDF; PDFs cannot be read here.
    pages: Option<String>,
    /// Has no effect: large files are always shown in parts.
    allow_large: Option<bool>,
    workspace: State<Workspace>,
    seen: SessionState<SeenFiles>,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let _ = allow_large;
    let place = workspace.find(&file_path)?;
    if pages.is_some() {
        return Err(ErrorCode::Binary.error(format_args!(
            "`pages` is for PDF files, which cannot be read here; leave `pages` out to read `{}` as text",
            place.shown
        )));
    }
    let opened = place.open()?;
    let limits = workspace.limits();
    let window = LineWindow {
        first: offset.unwrap_or(1),
        lines: limit.unwrap_or(limits.read_lines),
    };
    let failed = |error: io::Error| ErrorCode::from_io(&error, &place.shown);
    let mut start = Vec::new();
    (&opened.file).take(12).read_to_end(&mut start).map_err(failed)?;
    (&opened.file).seek(SeekFrom::Start(0)).map_err(failed)?;
    if let Some(media_type) = image_type(&start) {
        return image(&place, &opened, media_type, limits.image_bytes);
    }
    let counted = limits.counted_bytes.min(MAX_LOADED);
    if opened.metadata.len() > counted {
        return large(&place, &opened, window, limits, &cancel).map(ToolOutput::text);
    }
    let bytes = opened.read(counted).map_err(failed)?;
    let digest = FileDigest::new(&bytes);
    let decoded = FileText::decode(bytes, workspace.legacy_encoding());
    let (text, note) = match decoded {
        Ok(decoded) => (decoded.text, String::new()),
        Err(NotText::Binary) => return Err(binary(&place.shown)),
        Err(NotText::Invalid { lossy, byte, line }) => {
            let note = format!(
                "\n(Line {line} has the byte 0x{byte:02X}, which is invalid in the file's encoding and shown as \u{fffd}. \
                 The file cannot be edited.)"
            );
            (lossy, note)
        }
    };
    let lines = Lines::new(&text);
    let mut page = Page::new(limits);
    let shown = page.fill(&lines, window, &place.shown)?;
    seen.lock().record(&place.shown, digest, lines.len(), &shown);
    Ok(ToolOutput::text(page.text + &note))
}

/// Lines that the model wants to see.
#[derive(Debug, Clone, Copy)]
struct LineWindow {
    /// First line, from 1.
    first: usize,
    lines: usize,
}

/// Answer with numbered lines.
struct Page<'l> {
    text: String,
    limits: &'l WorkspaceLimits,
}

impl<'l> Page<'l> {
    fn new(limits: &'l WorkspaceLimits) -> Self {
        Self {
            text: String::new(),
            limits,
        }
    }

    /// Appends lines of a file. Returns the ranges of lines that are shown completely, from 1.
    fn fill(
        &mut self,
        lines: &Lines<'_>,
        window: LineWindow,
        path: &str,
    ) -> Result<Vec<[usize; 2]>, ToolError> {
        let total = lines.len();
        if total == 0 {
            let _ = write!(self.text, "`{path}` is empty");
            return Ok(Vec::new());
        }
        if window.first > total {
            return Err(past_end(path, total));
        }
        let last = total.min(window.first.saturating_add(window.lines) - 1);
        let mut shown = Vec::new();
        let mut next = window.first;
        while next <= last && self.has_room(lines.content(next - 1).len()) {
            if self.line(next, lines.content(next - 1)) {
                extend(&mut shown, next);
            }
            next += 1;
        }
        if next <= total {
            let _ = write!(
                self.text,
                "\n(lines {} to {} of {total}; continue with `offset` {next})",
                window.first,
                next - 1,
            );
        } else if window.first > 1 {
            let _ = write!(self.text, "\n(the end: the file has {total} lines)");
        }
        Ok(shown)
    }

    /// Appends a line. Returns whether the line is shown completely.
    fn line(&mut self, number: usize, content: &str) -> bool {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let cut = content.char_indices().nth(self.limits.line_characters);
        let shown = cut.and_then(|(at, _)| content.split_at_checked(at));
        let _ = match shown {
            None => write!(self.text, "{number}\t{content}"),
            Some((shown, rest)) => {
                let rest = rest.chars().count();
                write!(self.text, "{number}\t{shown}… [+{rest} characters]")
            }
        };
        shown.is_none()
    }

    /// Returns whether a line of so many bytes fits, beside its number and the last line of the answer. The first line always fits.
    fn has_room(&self, bytes: usize) -> bool {
        let cut = bytes.min(self.limits.line_characters.saturating_mul(4));
        self.text.is_empty() || self.text.len() + cut + 200 <= self.limits.answer_bytes
    }
}

/// Appends a line to the last range, or begins a range.
fn extend(ranges: &mut Vec<[usize; 2]>, line: usize) {
    match ranges.last_mut() {
        Some([_, last]) if *last + 1 == line => *last = line,
        _ => ranges.push([line, line]),
    }
}

fn past_end(path: &str, total: usize) -> ToolError {
    ErrorCode::NotFound.error(format_args!(
        "`{path}` has {total} lines; send an `offset` of at most {total}"
    ))
}

/// Shows lines of a large file, which is read up to these lines.
fn large(
    place: &Place,
    opened: &OpenedFile,
    window: LineWindow,
    limits: &WorkspaceLimits,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    let path = &place.shown;
    let failed = |error: io::Error| ErrorCode::from_io(&error, path);
    let mut reader = BufReader::with_capacity(256 << 10, &opened.file);
    let start = reader.fill_buf().map_err(failed)?;
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(ErrorCode::TooLarge.error(format_args!(
            "`{path}` is UTF-16 and has {} bytes; expected at most {}",
            opened.metadata.len(),
            limits.counted_bytes
        )));
    }
    if is_binary(start) {
        return Err(binary(path));
    }
    let mut lines = LineReader { reader, cancel };
    let mut number = 1;
    while number < window.first {
        if !lines.next(0).map_err(failed)?.exists {
            return Err(past_end(path, number - 1));
        }
        number += 1;
    }
    let mut page = Page::new(limits);
    while number < window.first.saturating_add(window.lines) && page.has_room(limits.line_characters) {
        // A character has up to four bytes.
        let read = lines.next(limits.line_characters * 4 + 4).map_err(failed)?;
        if !read.exists {
            let _ = write!(page.text, "\n(the end: the file has {} lines)", number - 1);
            return Ok(page.text);
        }
        page.line(number, &String::from_utf8_lossy(&read.start));
        if read.rest > 0 {
            let _ = write!(page.text, "… [+{} bytes]", read.rest);
        }
        number += 1;
    }
    let _ = write!(
        page.text,
        "\n(lines {} to {} of a file of {} bytes; continue with `offset` {number})",
        window.first,
        number - 1,
        opened.metadata.len(),
    );
    Ok(page.text)
}

/// Reads lines of any length with limited memory.
struct LineReader<'r, R> {
    reader: R,
    cancel: &'r CancellationToken,
}

/// A line that was read.
#[derive(Default)]
struct ReadLine {
    exists: bool,
    start: Vec<u8>,
    /// Number of further bytes.
    rest: usize,
}

impl<R: io::BufRead> LineReader<'_, R> {
    /// Reads a line, and keeps up to `kept` bytes.
    fn next(&mut self, kept: usize) -> io::Result<ReadLine> {
        let mut line = ReadLine::default();
        loop {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other("the call was stopped"));
            }
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            line.exists = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let content = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            let room = kept.saturating_sub(line.start.len()).min(content.len());
            line.start.extend(content.iter().take(room));
            line.rest += content.len() - room;
            let used = end.map_or(buffer.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if line.rest == 0 && line.start.last() == Some(&b'\r') {
            line.start.pop();
        }
        Ok(line)
    }
}

/// Returns the type of an image by its first bytes. Names are not used: a wrong type makes every later request fail.
fn image_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn image(place: &Place, opened: &OpenedFile, media_type: &str, limit: u64) -> Result<ToolOutput, ToolError> {
    let bytes = opened
        .read(limit)
        .map_err(|error| ErrorCode::from_io(&error, &place.shown))?;
    if bytes.len() as u64 > limit {
        return Err(ErrorCode::TooLarge.error(format_args!(
            "`{}` is an image of {} bytes; expected at most {limit}",
            place.shown,
            opened.metadata.len(),
        )));
    }
    Ok(ToolOutput::blocks([Block::image(
        media_type,
        STANDARD.encode(bytes),
    )]))
}
