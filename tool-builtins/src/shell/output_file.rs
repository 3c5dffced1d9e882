//! [`OutputFile`]: the file with the output of a command, and the part of it that a model reads.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::terminal_text::TerminalText;

/// Size of an output at which its command ends.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// Number of characters of an answer; of a longer output, the middle is left out.
pub(super) const MAX_CHARACTERS: usize = 30_000;
/// Number of bytes at the start and at the end of an output that are read for an answer.
const PART_BYTES: u64 = 2 << 20;
/// Maximum number of bytes that are filtered at once.
const FILTERED_BYTES: u64 = 256 << 10;

/// Returns whether a line is wanted. An error ends the reading.
pub(super) type LineFilter<'f> = &'f dyn Fn(&str) -> io::Result<bool>;

/// File with the output of a command: standard output and standard error, in the order in which they were written. Only the
/// owner of the process can read the file.
#[derive(Debug)]
pub(super) struct OutputFile {
    file: File,
    path: PathBuf,
}

/// Part of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    pub(super) is_complete: bool,
    /// Position after the part.
    pub(super) end: u64,
}

/// End of an excerpt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of the file.
    End,
    /// The end of the last complete character: the command may be writing the next one.
    Character,
}

/// Creates a folder that only the owner of the process can use.
pub(super) fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

impl OutputFile {
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create_new(true).mode(0o600);
        let file = file.open(&path)?;
        Ok(Self { file, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a handle that appends.
    pub(super) fn appender(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Cuts the file at its maximum size.
    pub(super) fn cut(&self) {
        if self.length() > MAX_BYTES {
            // A file that cannot be cut is only larger than necessary.
            let _ = self.file.set_len(MAX_BYTES);
        }
    }

    pub(super) fn remove(&self) {
        // A file that is already gone is as good as a removed one.
        let _ = fs::remove_file(&self.path);
    }

    /// Reads the output from a position on, as a terminal would show it.
    pub(super) fn excerpt(&self, start: u64, until: Until) -> io::Result<Excerpt> {
        let length = self.length();
        // A command can cut the file that it writes to: `> /dev/stdout`.
        let start = if start > length { 0 } else { start };
        let skipped = (length - start).saturating_sub(2 * PART_BYTES);
        let mut head = self.read(start, (length - start).min(PART_BYTES))?;
        let mut tail = self.read(start + head.len() as u64 + skipped, length)?;
        let mut end = start + (head.len() + tail.len()) as u64 + skipped;
        let last = if tail.is_empty() { &mut head } else { &mut tail };
        let kept = match until {
            Until::End => last.len(),
            Until::Character => complete_characters(last),
        };
        end -= (last.len() - kept) as u64;
        last.truncate(kept);
        if skipped == 0 {
            head.append(&mut tail);
        } else {
            // Lines that were read in part are left out.
            head.truncate(
                head.iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(head.len(), |at| at + 1),
            );
            let first = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            tail.drain(..first);
        }
        let (head, tail) = (TerminalText::convert(&head), TerminalText::convert(&tail));
        Ok(if skipped == 0 {
            self.shortened(&head, end)
        } else {
            let left_out = format!("more than {skipped} bytes");
            Excerpt {
                text: self.joined(first_half(&head), &left_out, last_half(&tail)),
                is_complete: false,
                end,
            }
        })
    }

    /// Reads the next lines from a position on, and leaves lines out for which `filter` returns false; an error of `filter` ends the work.
    ///
    /// A filter may take long for each byte, so only a part of a long output is read; the number of the remaining bytes is returned, too. The
    /// line that a running command is writing remains for a later call.
    pub(super) fn filtered(
        &self,
        start: u64,
        is_running: bool,
        filter: LineFilter<'_>,
    ) -> io::Result<(Excerpt, u64)> {
        let length = self.length();
        // A command can cut the file that it writes to: `> /dev/stdout`.
        let start = if start > length { 0 } else { start };
        let mut part = self.read(start, (length - start).min(FILTERED_BYTES))?;
        let rest = length - start - part.len() as u64;
        let lines = part.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let kept = match lines {
            _ if rest == 0 && !is_running => part.len(),
            Some(lines) => lines,
            None if rest == 0 => 0,
            // A line that is longer than a part.
            None => complete_characters(&part),
        };
        part.truncate(kept);
        let mut text = String::new();
        for line in TerminalText::convert(&part).split_inclusive('\n') {
            if filter(line.trim_end_matches('\n'))? {
                text.push_str(line);
            }
        }
        let end = start + kept as u64;
        Ok((
            self.shortened(&text, end),
            if rest == 0 { 0 } else { length - end },
        ))
    }

    fn shortened(&self, text: &str, end: u64) -> Excerpt {
        let characters = text.chars().count();
        if characters <= MAX_CHARACTERS {
            return Excerpt {
                text: text.trim_end_matches('\n').to_owned(),
                is_complete: true,
                end,
            };
        }
        let (head, tail) = (first_half(text), last_half(text));
        let middle = text.get(head.len()..text.len() - tail.len()).unwrap_or_default();
        let left_out = format!(
            "{} characters in {} lines",
            middle.chars().count(),
            middle.lines().count()
        );
        Excerpt {
            text: self.joined(head, &left_out, tail),
            is_complete: false,
            end,
        }
    }

    fn joined(&self, head: &str, left_out: &str, tail: &str) -> String {
        let line_end = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!(
            "{head}{line_end}[{left_out} are left out here; the whole output is in {}]\n{}",
            self.path.display(),
            tail.trim_end_matches('\n')
        )
    }

    /// Reads up to `length` bytes.
    fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = length.min(PART_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        let mut count = 0;
        while let Some(rest) = bytes.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, start + count as u64) {
                Ok(0) => break,
                Ok(read) => count += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// Returns the length without a character at the end whose last bytes are not written yet.
fn complete_characters(bytes: &[u8]) -> usize {
    let lead = bytes
        .iter()
        .rposition(|byte| !matches!(byte, 0x80..=0xBF))
        .unwrap_or_default();
    let is_cut = bytes.get(lead..).is_some_and(|last| match str::from_utf8(last) {
        Ok(_) => false,
        // An invalid character has a length; a character that is cut has none.
        Err(error) => error.error_len().is_none(),
    });
    if is_cut { lead } else { bytes.len() }
}

/// Returns the first characters of an answer, up to the end of a line if the line is not too long.
fn first_half(text: &str) -> &str {
    let head = text
        .char_indices()
        .nth(MAX_CHARACTERS / 2)
        .map_or(text, |(at, _)| text.get(..at).unwrap_or_default());
    match head.rfind('\n') {
        Some(at) if at >= head.len() / 2 => head.get(..=at).unwrap_or(head),
        _ => head,
    }
}

/// Returns the last characters of an answer, from the start of a line if the line is not too long.
fn last_half(text: &str) -> &str {
    let tail = text
        .char_indices()
        .nth_back(MAX_CHARACTERS / 2 - 1)
        .map_or(text, |(at, _)| text.get(at..).unwrap_or_default());
    match tail.find('\n') {
        Some(at) if at < tail.len() / 2 => tail.get(at + 1..).unwrap_or(tail),
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A file that is removed on drop.
    struct Written(OutputFile);

    impl Written {
        fn new(test: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("tool-shell-output-{test}-{}", std::process::id()));
            let _ = fs::remove_file(&path);
            let file = OutputFile::create(path).unwrap();
            file.appender().unwrap().write_all(bytes).unwrap();
            Self(file)
        }

        fn text(&self) -> Excerpt {
            self.0.excerpt(0, Until::End).unwrap()
        }
    }

    impl Drop for Written {
        fn drop(&mut self) {
            self.0.remove();
        }
    }

    #[test]
    fn short_output_is_complete() {
        let written = Written::new("short", b"a\nb\n\n");
        let expected = Excerpt {
            text: "a\nb".to_owned(),
            is_complete: true,
            end: 5,
        };
        assert_eq!(written.text(), expected);
    }

    #[test]
    fn middle_of_a_long_output_is_left_out_at_line_ends() {
        let lines: Vec<_> = (0..10_000).map(|number| format!("line {number}\n")).collect();
        let lines = lines.concat();
        let written = Written::new("lines", lines.as_bytes());
        let excerpt = written.text();
        assert!(!excerpt.is_complete);
        assert!(excerpt.text.chars().count() <= MAX_CHARACTERS + 300);
        let (head, tail) = excerpt.text.split_once('[').unwrap();
        let (note, tail) = tail.split_once("]\n").unwrap();
        assert!(lines.starts_with(head) && head.ends_with('\n') && head.len() > 14_900);
        assert!(
            lines.ends_with(&format!("\n{tail}\n")) && tail.len() > 14_900,
            "{tail}"
        );
        let middle = lines.len() - head.len() - tail.len() - 1;
        let count = lines.lines().count() - head.lines().count() - tail.lines().count();
        let path = written.0.path().display();
        assert_eq!(
            note,
            format!("{middle} characters in {count} lines are left out here; the whole output is in {path}")
        );
    }

    #[test]
    fn middle_of_a_long_line_is_left_out() {
        let written = Written::new("line", "日".repeat(40_000).as_bytes());
        let excerpt = written.text();
        let head = "日".repeat(15_000);
        assert!(
            excerpt
                .text
                .starts_with(&format!("{head}\n[10000 characters in 1 lines")),
            "{}",
            excerpt.text
        );
        assert!(excerpt.text.ends_with(&format!("]\n{head}")));
    }

    #[test]
    fn middle_of_a_very_long_output_is_not_read() {
        let lines: Vec<_> = (0..1_000_000).map(|number| format!("{number:07}\n")).collect();
        let lines = lines.concat();
        let written = Written::new("large", lines.as_bytes());
        let excerpt = written.text();
        assert!(excerpt.text.starts_with("0000000\n0000001\n"));
        assert!(excerpt.text.ends_with("\n0999998\n0999999"));
        assert!(
            excerpt
                .text
                .contains("[more than 3805696 bytes are left out here"),
            "{}",
            excerpt.text
        );
        assert_eq!(excerpt.end, 8_000_000);
    }

    #[test]
    fn part_of_a_running_command_ends_at_a_character_or_a_line() {
        let written = Written::new("part", b"one\ntw\xE6\x97");
        let whole = written.0.excerpt(0, Until::Character).unwrap();
        assert_eq!((whole.text.as_str(), whole.end), ("one\ntw", 6));
        let all = |_: &str| Ok(true);
        let filtered = |start, is_running| {
            let (lines, rest) = written.0.filtered(start, is_running, &all).unwrap();
            (lines.text, lines.end, rest)
        };
        assert_eq!(filtered(0, true), ("one".to_owned(), 4, 0));
        assert_eq!(filtered(4, true), (String::new(), 4, 0));
        written.0.appender().unwrap().write_all(b"\xA5\n").unwrap();
        let rest = written.0.excerpt(6, Until::Character).unwrap();
        assert_eq!((rest.text.as_str(), rest.end), ("日", 10));
        let (filtered, _) = written
            .0
            .filtered(0, false, &|line| Ok(line.starts_with('t')))
            .unwrap();
        assert_eq!((filtered.text.as_str(), filtered.end), ("tw日", 10));
        // The command has cut its file.
        assert_eq!(written.0.excerpt(999, Until::End).unwrap().text, "one\ntw日");
    }

    #[test]
    fn long_output_is_filtered_in_parts() {
        let lines: Vec<_> = (0..100_000).map(|number| format!("{number:07}\n")).collect();
        let written = Written::new("parts", lines.concat().as_bytes());
        let (mut start, mut found) = (0, Vec::new());
        loop {
            let (excerpt, rest) = written
                .0
                .filtered(start, true, &|line| Ok(line.ends_with("99999")))
                .unwrap();
            assert!(excerpt.end - start <= FILTERED_BYTES);
            assert_eq!(rest, 800_000 - excerpt.end);
            found.extend(excerpt.text.lines().map(str::to_owned));
            start = excerpt.end;
            if rest == 0 {
                break;
            }
        }
        assert_eq!(found, ["0099999"]);
        // A line that is longer than a part, and a filter that is stopped.
        let written = Written::new("long-line", "日".repeat(200_000).as_bytes());
        let (part, rest) = written.0.filtered(0, true, &|_| Ok(true)).unwrap();
        assert_eq!((part.end, rest), (262_143, 600_000 - 262_143));
        assert!(
            written
                .0
                .filtered(0, true, &|_| Err(io::Error::other("stopped")))
                .is_err()
        );
    }

    #[test]
    fn file_belongs_to_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let written = Written::new("mode", b"");
        let mode = fs::metadata(written.0.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
