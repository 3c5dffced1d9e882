#![doc = include_str!("../README.md")]
//!
//! # As a library
//!
//! A program can add the commands to its own, like `tool-gateway`:
//!
//! ```
//! use tool_cli::{Command, Failure, Outcome, Program};
//!
//! #[derive(clap::Subcommand)]
//! enum Commands {
//!     #[command(flatten)]
//!     Local(Command),
//!     /// Print a greeting
//!     Greet,
//! }
//!
//! const PROGRAM: Program = Program {
//!     name: "greeter",
//!     version: "1.0.0",
//!     about: "Greet, repair and check",
//!     examples: "Examples:\n  greeter greet",
//!     tip: "the commands are `greet`, `repair` and `check`",
//! };
//!
//! let arguments = ["greeter", "greet"].map(Into::into);
//! let status = PROGRAM.run(arguments, |command: &Commands, terminal| match command {
//!     Commands::Local(command) => command.run(terminal),
//!     Commands::Greet => {
//!         terminal.print("hello\n");
//!         Ok::<_, Failure>(Outcome::Success)
//!     }
//! });
//! assert_eq!(status, std::process::ExitCode::SUCCESS);
//! ```

// A module uses only modules that are declared before it.
mod outcome;
mod options;
mod terminal;
mod program;
mod source;
mod jsonl;
mod repair;
mod check;
mod calls;

pub use options::{CallsOptions, CheckOptions, Command, RepairOptions};
pub use outcome::{Failure, Outcome};
pub use program::Program;
pub use terminal::{Terminal, visible};

impl Command {
    /// Runs the command. Writes the result to standard output, and messages to the terminal.
    ///
    /// # Errors
    ///
    /// If the input could not be read, or the output could not be written.
    pub fn run(&self, terminal: Terminal) -> Result<Outcome, Failure> {
        match self {
            Self::Repair(options) => match options.sse {
                Some(dialect) => repair::stream::run(dialect, options, terminal),
                None if options.jsonl => repair::lines::run(options, terminal),
                None => repair::text::run(options, terminal),
            },
            Self::Check(options) => check::lines::run(options, terminal),
            Self::Calls(options) => calls::run(options, terminal),
        }
    }
}
