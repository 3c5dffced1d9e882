//! [`SeenFiles`]: the files and lines that the model of a session has seen.

use serde::{Deserialize, Serialize};

/// Maximum number of files of a session; the file that was used longest ago is forgotten first.
const MAX_FILES: usize = 1_000;

/// Files that the model of a session has seen, with the lines that were shown. A state of the session, so it moves and ends with the session.
///
/// `Write` replaces only files that were seen completely, and `Edit` accepts an inexact quote only of a file that was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFiles {
    /// Files, the last one used last.
    files: Vec<SeenFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenFile {
    path: String,
    digest: FileDigest,
    /// Number of lines of the file.
    lines: usize,
    /// Shown lines from 1, sorted and disjoint: first and last of each range.
    shown: Vec<[usize; 2]>,
}

/// Digest of the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileDigest(String);

impl FileDigest {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().as_str().to_owned())
    }
}

/// Relation of a session to the present content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// No line was shown.
    Never,
    /// The file has other bytes than it had when it was seen.
    Before,
    Partially,
    Completely,
}

impl SeenFiles {
    /// Returns whether the session has seen these bytes of a file.
    pub(crate) fn seen(&self, path: &str, digest: &FileDigest) -> Seen {
        let Some(file) = self.files.iter().find(|file| file.path == path) else {
            return Seen::Never;
        };
        if file.digest != *digest {
            Seen::Before
        } else if file.is_complete() {
            Seen::Completely
        } else {
            Seen::Partially
        }
    }

    /// Records that lines of a file were shown, from 1: each range has its first and last line.
    pub(crate) fn record(&mut self, path: &str, digest: FileDigest, lines: usize, shown: &[[usize; 2]]) {
        let mut file = self
            .take(path)
            .unwrap_or_else(|| SeenFile::new(path, digest.clone()));
        if file.digest != digest {
            file = SeenFile::new(path, digest);
        }
        file.lines = lines;
        file.shown
            .extend(shown.iter().filter(|[first, last]| first <= last));
        file.merge();
        self.push(file);
    }

    /// Records that the session itself wrote a file. After a partial change, lines before the change are still known.
    pub(crate) fn record_write(&mut self, path: &str, digest: FileDigest, written: WrittenLines) {
        let before = self.take(path);
        let mut file = SeenFile::new(path, digest);
        file.lines = written.lines;
        match (written.changed, before) {
            (None, _) => file.shown.push([1, written.lines]),
            (Some(_), Some(before)) if before.is_complete() && written.was_current => {
                file.shown.push([1, written.lines]);
            }
            (Some(changed), before) => {
                let kept = before.filter(|_| written.was_current).map(|before| before.shown);
                file.shown = kept
                    .unwrap_or_default()
                    .into_iter()
                    .map(|[start, end]| [start, end.min(changed.first.saturating_sub(1))])
                    .chain(changed.known)
                    .collect();
            }
        }
        file.shown.retain(|[first, last]| first <= last);
        file.merge();
        self.push(file);
    }

    fn take(&mut self, path: &str) -> Option<SeenFile> {
        let index = self.files.iter().position(|file| file.path == path)?;
        Some(self.files.remove(index))
    }

    fn push(&mut self, file: SeenFile) {
        if self.files.len() >= MAX_FILES {
            self.files.remove(0);
        }
        self.files.push(file);
    }
}

/// Lines of a file after a write.
#[derive(Debug, Clone)]
pub(crate) struct WrittenLines {
    pub(crate) lines: usize,
    /// Changed lines; `None` if the whole content was sent.
    pub(crate) changed: Option<ChangedLines>,
    /// Whether the session had seen the content before the change.
    pub(crate) was_current: bool,
}

/// Lines that a write changed, from 1.
#[derive(Debug, Clone)]
pub(crate) struct ChangedLines {
    /// First changed line. The lines before it keep their numbers.
    pub(crate) first: usize,
    /// Changed lines whose content the model sent: first and last of each range.
    pub(crate) known: Vec<[usize; 2]>,
}

impl ChangedLines {
    pub(crate) fn new(known: Vec<[usize; 2]>) -> Self {
        let first = known.iter().map(|[first, _]| *first).min().unwrap_or(1);
        Self { first, known }
    }
}

impl SeenFile {
    fn new(path: &str, digest: FileDigest) -> Self {
        Self {
            path: path.to_owned(),
            digest,
            lines: 0,
            shown: Vec::new(),
        }
    }

    fn is_complete(&self) -> bool {
        self.lines == 0 || matches!(*self.shown, [[1, last], ..] if last >= self.lines)
    }

    /// Sorts the ranges, and joins ranges that touch.
    fn merge(&mut self) {
        self.shown.sort_unstable();
        let mut merged: Vec<[usize; 2]> = Vec::with_capacity(self.shown.len());
        for [first, last] in self.shown.drain(..) {
            match merged.last_mut() {
                Some([_, end]) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => merged.push([first, last]),
            }
        }
        self.shown = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_until_the_file_is_complete() {
        let digest = FileDigest::new(b"x");
        let mut seen = SeenFiles::default();
        assert_eq!(seen.seen("a", &digest), Seen::Never);
        seen.record("a", digest.clone(), 10, &[[1, 3], [8, 10]]);
        assert_eq!(seen.seen("a", &digest), Seen::Partially);
        assert_eq!(seen.seen("a", &FileDigest::new(b"y")), Seen::Before);
        seen.record("a", digest.clone(), 10, &[[4, 7]]);
        assert_eq!(seen.seen("a", &digest), Seen::Completely);
        seen.record("empty", digest.clone(), 0, &[]);
        assert_eq!(seen.seen("empty", &digest), Seen::Completely);
    }

    #[test]
    fn write_keeps_what_is_known() {
        let (old, new) = (FileDigest::new(b"x"), FileDigest::new(b"y"));
        let mut seen = SeenFiles::default();
        let written = WrittenLines {
            lines: 11,
            changed: Some(ChangedLines::new(vec![[5, 6]])),
            was_current: true,
        };
        seen.record("a", old.clone(), 10, &[[1, 10]]);
        seen.record_write("a", new.clone(), written.clone());
        assert_eq!(seen.seen("a", &new), Seen::Completely);
        seen.record("b", old, 10, &[[1, 7]]);
        seen.record_write("b", new.clone(), written);
        assert_eq!(seen.seen("b", &new), Seen::Partially);
        assert_eq!(seen.files.last().unwrap().shown, [[1, 6]]);
    }

    #[test]
    fn lines_between_two_changes_are_not_known() {
        let digest = FileDigest::new(b"x");
        let mut seen = SeenFiles::default();
        let written = WrittenLines {
            lines: 1_000,
            changed: Some(ChangedLines::new(vec![[1, 1], [1_000, 1_000]])),
            was_current: true,
        };
        seen.record_write("a", digest.clone(), written);
        assert_eq!(seen.seen("a", &digest), Seen::Partially);
    }

    #[test]
    fn oldest_file_is_forgotten() {
        let mut seen = SeenFiles::default();
        let digest = FileDigest::new(b"");
        for at in 0..=MAX_FILES {
            seen.record(&at.to_string(), digest.clone(), 0, &[]);
            seen.record("always", digest.clone(), 0, &[]);
        }
        assert_eq!(seen.files.len(), MAX_FILES);
        assert_eq!(seen.seen("0", &digest), Seen::Never);
        assert_eq!(seen.seen("always", &digest), Seen::Completely);
    }
}
