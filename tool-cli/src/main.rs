//! The program `tool-cli`.

use std::process::ExitCode;

use tool_cli::{Command, Program};

fn main() -> ExitCode {
    const PROGRAM: Program = Program {
        name: "tool-cli",
        version: env!("CARGO_PKG_VERSION"),
        about: "Repair and check tool calls of language models",
        examples: EXAMPLES,
        tip: "the commands are `repair`, `check` and `calls`; to repair a file, write `tool-cli repair FILE`",
    };
    PROGRAM.run(std::env::args_os(), Command::run)
}

const EXAMPLES: &str = "\
Examples:
  echo \"{'done': True}\" | tool-cli repair
  tool-cli repair --explain answer.txt > answer.json
  tool-cli repair --jsonl answers.jsonl > repaired.jsonl
  tool-cli check --jsonl calls.jsonl > report.jsonl
  tool-cli calls --jsonl answers.jsonl > calls.jsonl

`--help` after a command says everything about it, for example `tool-cli repair --help`.";
