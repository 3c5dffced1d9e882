//! Private descriptors for the protocol: a tool that prints, or a program that a tool starts, cannot write into the protocol.

use std::fs::File;
use std::io;

/// Descriptors of the client.
#[derive(Debug)]
pub(crate) struct ClientPipes {
    pub(crate) input: File,
    pub(crate) output: File,
}

#[cfg(unix)]
impl ClientPipes {
    /// Moves standard input and output to private descriptors, which programs do not inherit. Afterwards standard output is standard
    /// error, and standard input is empty.
    pub(crate) fn take() -> io::Result<Self> {
        use rustix::io::fcntl_dupfd_cloexec;
        use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};

        // Above the standard descriptors, also if one of these is closed.
        let input = File::from(fcntl_dupfd_cloexec(stdin(), 3)?);
        let output = File::from(fcntl_dupfd_cloexec(stdout(), 3)?);
        dup2_stdin(File::open("/dev/null")?)?;
        if dup2_stdout(stderr()).is_err() {
            // Standard error is closed.
            dup2_stdout(File::options().write(true).open("/dev/null")?)?;
        }
        Ok(Self { input, output })
    }
}

#[cfg(not(unix))]
impl ClientPipes {
    /// Opens standard input and output. A tool that prints disturbs the protocol on these systems.
    pub(crate) fn take() -> io::Result<Self> {
        use std::os::windows::io::AsHandle;

        let input = io::stdin().as_handle().try_clone_to_owned()?;
        let output = io::stdout().as_handle().try_clone_to_owned()?;
        Ok(Self {
            input: File::from(input),
            output: File::from(output),
        })
    }
}
