//! [`Program`]: parses a command line, runs its command, and turns the outcome into an exit status.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as _, Error, FromArgMatches as _, Subcommand};

use crate::options::ColorOption;
use crate::outcome::{Failure, Outcome};
use crate::terminal::Terminal;

/// A program with subcommands.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Name of the program on the command line.
    pub name: &'static str,
    /// Version that `--version` prints.
    pub version: &'static str,
    /// First sentence of `--help`.
    pub about: &'static str,
    /// Examples at the end of `--help`.
    pub examples: &'static str,
    /// Tip in the error for an unknown command that is not similar to a known command.
    pub tip: &'static str,
}

impl Program {
    /// Parses the arguments, the first of which is the program's name, and runs their command.
    ///
    /// The exit status is 0 after [`Outcome::Success`] or [`Failure::OutputClosed`], 1 after [`Outcome::WithErrors`], and 2 after
    /// [`Failure::Message`] or wrong usage, with a message on standard error.
    pub fn run<C: Subcommand>(
        self,
        arguments: impl IntoIterator<Item = OsString>,
        command: impl FnOnce(&C, Terminal) -> Result<Outcome, Failure>,
    ) -> ExitCode {
        let (parsed, color) = match self.parse::<C>(arguments) {
            Ok(parsed) => parsed,
            Err(error) => {
                // clap returns help and version as errors, too. If standard error is closed, only the exit status remains.
                let _ = error.print();
                return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
            }
        };
        let terminal = Terminal::new(color.color);
        match command(&parsed, terminal) {
            Ok(Outcome::Success) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
            Ok(Outcome::WithErrors) => ExitCode::from(1),
            Err(Failure::Message(message)) => {
                terminal.fail(&message);
                ExitCode::from(2)
            }
        }
    }

    fn parse<C: Subcommand>(
        self,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(C, ColorOption), Error> {
        let matches = self
            .command::<C>()
            .try_get_matches_from(arguments)
            .map_err(|error| self.with_tip(error))?;
        Ok((
            C::from_arg_matches(&matches)?,
            ColorOption::from_arg_matches(&matches)?,
        ))
    }

    fn command<C: Subcommand>(self) -> clap::Command {
        let command = clap::Command::new(self.name)
            .version(self.version)
            .after_help(self.examples)
            .subcommand_required(true)
            .arg_required_else_help(true);
        ColorOption::augment_args(C::augment_subcommands(command))
            .about(self.about) // set last, since the `augment_` functions set it to doc comments
            // The help of `repair` and `check` contains the name of the program.
            .mut_subcommands(
                |command| match command.get_after_long_help().map(StyledStr::to_string) {
                    Some(help) => command.after_long_help(help.replace("{program}", self.name)),
                    None => command,
                },
            )
    }

    fn with_tip(self, mut error: Error) -> Error {
        if error.kind() == ErrorKind::InvalidSubcommand
            && error.get(ContextKind::SuggestedSubcommand).is_none()
        {
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![self.tip.into()]),
            );
        }
        error
    }
}
