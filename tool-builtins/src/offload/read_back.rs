//! Tool `ReadOffloaded`: the model reads and searches offloaded results of its session.

use std::fmt::Write as _;
use std::path::Path;

use tool_runtime::{Context, State, tool};

use super::chunks::{ChunkError, Chunks};
use super::file_path::{self, InvalidComponent};
use super::function::OffloadOptions;
use super::reader::{FileReader, ReadError, Reader};
use super::search::{self, Matches, SearchError};

/// Name of the tool.
pub(super) const NAME: &str = "ReadOffloaded";

/// Read or search a tool result that was moved to a file and replaced by a pointer such as
/// `[Tool result offloaded to file: /dir/session/toolu_01.md]`. The first line of the answer states the range of characters that follow
/// and the next offset.
#[tool(name = "ReadOffloaded", read_only)]
pub async fn read_offloaded(
    /// Name of the file in the pointer, without directory and `.md`: `toolu_01`.
    id: String,
    /// Number of characters of the file to skip.
    #[arg(default = 0u64)]
    offset: u64,
    /// Maximum number of characters to return: 800 by default.
    #[arg(default = LIMIT, range = 1..=20_000)]
    limit: u32,
    /// Regular expression to search for. Returns the matches from the offset on with a little text around them, each with its offset.
    /// Matches of more than 4096 characters are found if the limit is as high. An empty pattern disables the search.
    #[arg(length = ..=500)]
    pattern: Option<String>,
    context: Context,
    options: State<OffloadOptions>,
    reader: State<Reader>,
) -> Result<String, ReadOffloadedError> {
    let directory = std::path::absolute(&options.output_dir).map_err(|_| ReadOffloadedError::NoDirectory)?;
    let session = context.session().unwrap_or(&options.session_id);
    let directory = file_path::directory(&directory, session).map_err(|_| ReadOffloadedError::NoDirectory)?;
    let file = file_path::file_named(&directory, &id).map_err(ReadOffloadedError::InvalidId)?;
    let source = Source {
        id: &id,
        directory: &directory,
        reader: &reader,
    };
    let chunks = Chunks::new(source.reader, &file);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    match pattern.filter(|pattern| !pattern.is_empty()) {
        None => source.read(chunks, offset, limit).await,
        Some(pattern) => source.search(chunks, &pattern, offset, limit).await,
    }
}

/// Default limit. A result with its first line remains below the default threshold of the layer (R-OFF-26).
const LIMIT: u32 = 800;

/// Error of `ReadOffloaded`, with a message for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadOffloadedError {
    /// The id is not a plain name.
    #[error(
        "invalid id {:?}: {}; expected the name of the file in the pointer, without directory and `.md`",
        .0.shown(), .0.reason()
    )]
    InvalidId(InvalidComponent),
    /// The session or the directory of the host is not a valid path.
    #[error("this session has no offloaded results")]
    NoDirectory,
    /// The file does not exist.
    #[error("unknown id {id:?}; {}", known_ids(.known, *.more))]
    Missing {
        /// Shortened id.
        id: String,
        /// Ids of some existing files.
        known: Vec<String>,
        /// Number of other existing files.
        more: usize,
    },
    /// The offset is beyond the end of the file.
    #[error("the offset {offset} is beyond the end of {id:?}; expected 0 to {characters}")]
    BeyondEnd {
        /// Shortened id.
        id: String,
        /// Offset in characters.
        offset: u64,
        /// Number of characters of the file.
        characters: u64,
    },
    /// The pattern is not a regular expression, or too large.
    #[error(
        "invalid pattern: {0}; expected a regular expression of limited size, with a backslash before literal special characters"
    )]
    Pattern(String),
    /// The file is not UTF-8.
    #[error("the offloaded result {id:?} is not text")]
    NotText {
        /// Shortened id.
        id: String,
    },
    /// The file was overwritten during the call.
    #[error("the offloaded result {id:?} was overwritten while it was read; call again")]
    Changed {
        /// Shortened id.
        id: String,
    },
    /// The reader failed; [`source`](std::error::Error::source) is its error.
    #[error("the offloaded result {id:?} cannot be read; continue without it")]
    Read {
        /// Shortened id.
        id: String,
        /// Error of the reader.
        source: ReadError,
    },
}

fn known_ids(known: &[String], more: usize) -> String {
    if known.is_empty() {
        return "expected the name of the file in the pointer, without directory and `.md`".to_owned();
    }
    let mut text = "expected one of ".to_owned();
    for (place, id) in known.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{id:?}");
    }
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// The file with its directory and its reader.
struct Source<'c> {
    id: &'c str,
    directory: &'c Path,
    reader: &'c Reader,
}

impl Source<'_> {
    async fn read(
        &self,
        mut chunks: Chunks<'_, Reader>,
        offset: u64,
        limit: usize,
    ) -> Result<String, ReadOffloadedError> {
        let (mut part, mut wanted, mut characters) = (String::new(), limit, 0u64);
        loop {
            let chunk = match chunks.next().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return Err(self.explain(error).await),
            };
            let skipped = usize::try_from(offset.saturating_sub(characters)).unwrap_or(usize::MAX);
            let before = part.len();
            part.extend(chunk.chars().skip(skipped).take(wanted));
            wanted -= part.get(before..).unwrap_or_default().chars().count();
            // All chunks up to the end of the file are counted, since the result contains the length of the file.
            characters += chunk.chars().count() as u64;
        }
        if offset > characters {
            return Err(self.beyond_end(offset, characters));
        }
        let end = offset + (limit - wanted) as u64;
        let next = next_step(end, end == characters);
        Ok(format!(
            "[characters {offset} to {end} of {characters}{next}]\n{part}"
        ))
    }

    async fn search(
        &self,
        chunks: Chunks<'_, Reader>,
        pattern: &str,
        offset: u64,
        limit: usize,
    ) -> Result<String, ReadOffloadedError> {
        let regex =
            search::compile(pattern).map_err(|error| ReadOffloadedError::Pattern(error.to_string()))?;
        let matches = match search::search(chunks, regex, offset, limit).await {
            Ok(matches) => matches,
            Err(SearchError::BeyondEnd(characters)) => return Err(self.beyond_end(offset, characters)),
            Err(SearchError::Chunk(error)) => return Err(self.explain(error).await),
        };
        let Matches {
            found,
            end,
            is_complete,
        } = matches;
        let count = match found.len() {
            1 => "1 match".to_owned(),
            count => format!("{count} matches"),
        };
        let next = next_step(end, is_complete);
        let mut answer = format!("[{count} from offset {offset} to {end}{next}]");
        for found in found {
            // Matches are JSON, so that a match is a single line.
            let excerpt = serde_json::to_string(&found.excerpt).unwrap_or_default();
            let _ = write!(answer, "\noffset {}: {excerpt}", found.offset);
        }
        Ok(answer)
    }

    fn beyond_end(&self, offset: u64, characters: u64) -> ReadOffloadedError {
        ReadOffloadedError::BeyondEnd {
            id: self.shown(),
            offset,
            characters,
        }
    }

    async fn explain(&self, error: ChunkError) -> ReadOffloadedError {
        let id = self.shown();
        match error {
            ChunkError::Missing => self.missing().await,
            ChunkError::NotText => ReadOffloadedError::NotText { id },
            ChunkError::Changed => ReadOffloadedError::Changed { id },
            ChunkError::Reader(source) => ReadOffloadedError::Read { id, source },
        }
    }

    /// Returns the error for a missing file. The error lists the existing files, unless they cannot be listed.
    async fn missing(&self) -> ReadOffloadedError {
        let names = self.reader.names(self.directory).await.unwrap_or_default();
        let mut known: Vec<_> = names.iter().filter_map(|name| file_path::name_of(name)).collect();
        known.sort_unstable();
        let more = known.len().saturating_sub(MAX_LISTED_IDS);
        known.truncate(MAX_LISTED_IDS);
        ReadOffloadedError::Missing {
            id: self.shown(),
            known: known.into_iter().map(str::to_owned).collect(),
            more,
        }
    }

    fn shown(&self) -> String {
        let mut shown: String = self.id.chars().take(MAX_SHOWN_LENGTH).collect();
        if shown.len() < self.id.len() {
            shown.push('…');
        }
        shown
    }
}

fn next_step(end: u64, is_end: bool) -> String {
    if is_end {
        ", the end".to_owned()
    } else {
        format!("; continue with offset {end}")
    }
}

/// Maximum number of ids in an error.
const MAX_LISTED_IDS: usize = 8;

/// Maximum number of characters of an id in an error.
const MAX_SHOWN_LENGTH: usize = 64;
