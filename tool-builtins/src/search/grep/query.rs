//! [`PatternOptions`] and [`FileFilter`]: the pattern of a search, and the files that it searches.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use std::path::Path;
use tool_runtime::ToolError;

use crate::workspace::error::ErrorCode;

/// Maximum size of a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 10 << 20;

/// Options of a pattern.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PatternOptions {
    pub(super) ignores_case: bool,
    /// Whether a match may have several lines; `.` then matches line ends, too.
    pub(super) is_multiline: bool,
}

/// Compiles a pattern. Matching takes linear time.
pub(super) fn compile(pattern: &str, options: PatternOptions) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(options.ignores_case)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    if options.is_multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        let has_line_end = !options.is_multiline && (pattern.contains("\\n") || pattern.contains('\n'));
        let advice = if has_line_end {
            "set `multiline` for matches over several lines".to_owned()
        } else {
            format!("for the text itself, send `{}`", escape(pattern))
        };
        ErrorCode::InvalidPattern.error(format_args!("{error}; {advice}"))
    })
}

/// Returns a pattern that matches a text.
pub(super) fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for sign in text.chars() {
        if r"\.+*?()|[]{}^$".contains(sign) {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern
}

/// Builds the searcher of a pattern.
pub(super) fn searcher(options: PatternOptions, before: usize, after: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .multi_line(options.is_multiline)
        .before_context(before)
        .after_context(after)
        .binary_detection(BinaryDetection::quit(b'\0'))
        .build()
}

/// Filter of the searched files, on paths below the searched folder.
#[derive(Debug)]
pub(super) struct FileFilter {
    globs: Override,
    types: Types,
}

impl FileFilter {
    pub(super) fn new(glob: Option<&str>, file_type: Option<&str>) -> Result<Self, ToolError> {
        let mut globs = OverrideBuilder::new("");
        if let Some(glob) = glob {
            globs.add(glob).map_err(|error| invalid_glob(glob, &error))?;
        }
        let globs = globs.build();
        Ok(Self {
            globs: globs.map_err(|error| invalid_glob(glob.unwrap_or_default(), &error))?,
            types: types(file_type)?,
        })
    }

    /// Returns whether a file is searched. A glob that excludes a folder excludes everything inside.
    pub(super) fn accepts(&self, path: &Path) -> bool {
        let is_excluded = |folder: &Path| self.globs.matched(folder, true).is_ignore();
        let mut folders = path.ancestors().skip(1).filter(|folder| *folder != Path::new(""));
        !self.globs.matched(path, false).is_ignore()
            && !self.types.matched(path, false).is_ignore()
            && !folders.any(is_excluded)
    }
}

fn invalid_glob(glob: &str, error: &ignore::Error) -> ToolError {
    ErrorCode::InvalidPattern.error(format_args!("invalid glob `{glob}`: {error}"))
}

fn types(name: Option<&str>) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    let Some(name) = name else {
        return Ok(Types::empty());
    };
    builder.add_defaults();
    builder.select(name);
    builder.build().map_err(|_| {
        let mut similar: Vec<(f64, String)> = builder
            .definitions()
            .iter()
            .map(|known| (strsim::jaro_winkler(name, known.name()), known.name().to_owned()))
            .collect();
        similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let names: Vec<String> = similar.into_iter().take(5).map(|(_, name)| name).collect();
        ErrorCode::InvalidPattern.error(format_args!(
            "unknown type `{name}`; similar types: {}; or send a `glob`",
            names.join(", ")
        ))
    })
}
