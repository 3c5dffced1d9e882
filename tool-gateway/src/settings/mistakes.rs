//! [`Mistakes`]: all mistakes of a configuration, each with its file, line and key.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use super::unknown_tool::KnownTools;

/// A mistake of the configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Line in the file; `None` for a mistake in an option or in the environment.
    pub(crate) line: Option<usize>,
    /// Key, with the keys of the enclosing tables.
    pub(crate) key: Vec<String>,
    /// Message with the key and advice.
    pub(crate) message: String,
}

/// Lines of the keys of a file. The keys of list items are their texts and their indexes.
pub(crate) type Lines = BTreeMap<Vec<String>, usize>;

/// Collects the mistakes of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    /// Path of the file.
    file: String,
    lines: Lines,
    /// Options and environment variables, by the key that they set.
    sources: BTreeMap<&'static str, &'static str>,
    found: Vec<Mistake>,
}

impl Mistakes {
    /// Creates a collection with the mistakes that were found while a file was read.
    pub(crate) fn in_file(file: String, lines: Lines, found: Vec<Mistake>) -> Self {
        Self {
            file,
            lines,
            sources: BTreeMap::new(),
            found,
        }
    }

    /// Records that an option or a variable has set a key, in place of the file.
    pub(crate) fn set_by(&mut self, key: &'static str, source: &'static str) {
        self.sources.insert(key, source);
    }

    /// Adds a mistake in the value of a key.
    pub(crate) fn add(&mut self, key: &[&str], message: impl Display) {
        let key = owned(key);
        let is_name = |part: &&String| !part.bytes().all(|byte| byte.is_ascii_digit());
        let shown = key.iter().filter(is_name).cloned().collect::<Vec<_>>().join(".");
        if let Some(source) = self.sources.get(shown.as_str()) {
            return self.add_elsewhere(format!("{source}: {message}"));
        }
        let message = format!("{shown}: {message}");
        let mut at = key.clone();
        // A value without a line gets the line of the nearest enclosing key.
        let line = loop {
            if let Some(line) = self.lines.get(&at) {
                break Some(*line);
            }
            if at.pop().is_none() {
                break None;
            }
        };
        self.found.push(Mistake { line, key, message });
    }

    /// Adds a mistake in an option or the environment. The message names the option or the variable.
    pub(crate) fn add_elsewhere(&mut self, message: impl Display) {
        self.found.push(Mistake {
            line: None,
            key: Vec::new(),
            message: message.to_string(),
        });
    }

    /// Adds a mistake for each name in a list that is not the name of a tool.
    pub(crate) fn check_names<'n>(
        &mut self,
        tools: KnownTools<'_>,
        list: [&str; 2],
        names: impl IntoIterator<Item = &'n String>,
    ) {
        for name in names {
            if let Err(error) = tools.check(name) {
                self.add_of_list(list, name, error);
            }
        }
    }

    /// Adds a mistake in an item of a list.
    pub(crate) fn add_of_list(&mut self, [section, list]: [&str; 2], text: &str, message: impl Display) {
        let line = self.lines.get(&owned(&[section, list, text])).copied();
        self.add(&[section, list], message);
        if let Some(mistake) = self.found.last_mut().filter(|mistake| mistake.line.is_some()) {
            mistake.line = line.or(mistake.line);
        }
    }

    /// Returns whether a section has no mistakes, so that settings that depend on the section can be checked.
    pub(crate) fn is_correct(&self, section: &str) -> bool {
        !self
            .found
            .iter()
            .any(|mistake| mistake.key.first().is_some_and(|first| first == section))
    }

    /// Returns whether a table has no mistakes.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_correct_in(&self, table: &[&str]) -> bool {
        let is_in = |key: &[String]| {
            key.iter().zip(table).filter(|(one, other)| one == *other).count() == table.len()
        };
        !self.found.iter().any(|mistake| is_in(&mistake.key))
    }

    /// Returns whether the value of a key has no mistakes.
    pub(crate) fn is_correct_at(&self, key: &[&str]) -> bool {
        !self.found.iter().any(|mistake| mistake.key == key)
    }

    /// Returns the messages, without the keys of this table, for a table that another file has.
    #[cfg(feature = "mcp")]
    pub(crate) fn messages_in(self, table: &[&str]) -> Vec<String> {
        let table = table.join(".");
        let found = self.found.into_iter().map(|mistake| {
            let rest = mistake.message.strip_prefix(&table);
            let rest = rest.map(|rest| rest.trim_start_matches(['.', ':', ' ']).to_owned());
            rest.unwrap_or(mistake.message)
        });
        found.collect()
    }

    /// Returns an error with all mistakes in the order of their lines, if there are any.
    pub(crate) fn into_result(self) -> Result<(), InvalidSettings> {
        let Self { file, found, .. } = self;
        if found.is_empty() {
            return Ok(());
        }
        let mut found = found;
        found.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
        let with_place = |mistake: Mistake| match mistake.line {
            Some(line) => format!("{file}:{line}: {}", mistake.message),
            None => mistake.message,
        };
        Err(InvalidSettings(found.into_iter().map(with_place).collect()))
    }
}

fn owned(key: &[&str]) -> Vec<String> {
    key.iter().map(|part| (*part).to_owned()).collect()
}

/// Mistakes of a configuration; at least one.
#[derive(Debug)]
pub(crate) struct InvalidSettings(Vec<String>);

impl Display for InvalidSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => f.write_str(one),
            all => write!(
                f,
                "{} mistakes in the configuration\n{}",
                all.len(),
                all.join("\n")
            ),
        }
    }
}
