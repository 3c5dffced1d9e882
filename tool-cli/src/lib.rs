//! The commands `repair` and `check`, for a program's command line.

// Dependencies first: a module uses only modules declared before it.
mod ending;
mod options;
mod terminal;
mod source;
mod line_column;
mod jsonl;
mod repair;
mod check;

pub use ending::{Ending, Failure};
pub use options::{CheckOptions, Command, RepairOptions, When};
pub use terminal::{Terminal, visible};

impl Command {
    /// Runs the command: its result goes to standard output, messages go to the terminal.
    ///
    /// # Errors
    ///
    /// Input could not be read, or output could not be written.
    pub fn run(&self, terminal: Terminal) -> Result<Ending, Failure> {
        match self {
            Self::Repair(options) => match options.sse {
                Some(dialect) => repair::stream::run(dialect, options, terminal),
                None if options.jsonl => repair::lines::run(options, terminal),
                None => repair::text::run(options, terminal),
            },
            Self::Check(options) => check::lines::run(options, terminal),
        }
    }
}
