//! Input of a command: a file or standard input.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use crate::outcome::Failure;
use crate::terminal::{Terminal, visible};

/// Opened input.
pub(crate) struct Source {
    /// Name of the input in messages.
    pub(crate) name: String,
    /// Length in bytes, if it is known.
    pub(crate) length: Option<u64>,
    pub(crate) reader: Box<dyn Read>,
}

impl Source {
    /// Opens a file. Without a path, or with `-`, opens standard input.
    pub(crate) fn open(path: Option<&Path>, terminal: Terminal) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let stdin = io::stdin();
            if stdin.is_terminal() && terminal.is_interactive {
                terminal.print("reading from the terminal; end the input with Ctrl-D on a separate line\n");
            }
            return Ok(Self {
                name: "stdin".to_owned(),
                length: None,
                reader: Box::new(stdin.lock()),
            });
        };
        let name = visible(&path.display().to_string());
        let file = File::open(path).map_err(|error| Failure::reading(&name, &error))?;
        let length = file.metadata().ok().filter(std::fs::Metadata::is_file);
        Ok(Self {
            name,
            length: length.map(|it| it.len()),
            reader: Box::new(file),
        })
    }

    /// Reads the whole input.
    pub(crate) fn read(&mut self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Failure::reading(&self.name, &error)),
        }
    }
}

/// Returns the message for bytes that are not UTF-8, with advice.
pub(crate) fn invalid_utf8(bytes: &[u8], offset: usize) -> String {
    let found = bytes.get(offset).copied().unwrap_or_default();
    let advice = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "this looks like UTF-16; convert the file, for example with `iconv -f UTF-16 -t UTF-8`"
    } else if bytes.contains(&0) {
        "this looks like a binary file; send text in UTF-8"
    } else {
        "convert the file, for example from GB18030 with `iconv -f GB18030 -t UTF-8`"
    };
    format!("byte {offset} (0x{found:02X}) is not UTF-8; {advice}")
}
