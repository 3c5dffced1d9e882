//! Commands and options of the command line, with their `--help`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use tool_runtime::Policy;
use tool_runtime::repair::stream::Dialect;

/// Option of every command.
#[derive(Debug, Args)]
pub(crate) struct ColorOption {
    /// Colour standard error: `auto`, `always` or `never`
    ///
    /// `auto` colours on a terminal, unless `NO_COLOR` is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        display_order = 100
    )]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// Commands, which a program adds to its own with `#[command(flatten)]`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Repair text that is almost JSON, such as a Python dict; valid JSON stays byte for byte
    #[command(long_about = ABOUT_REPAIR, after_long_help = REPAIR_EXAMPLES)]
    Repair(RepairOptions),
    /// Check recorded calls against their schemas: list the coercions and the errors
    #[command(long_about = ABOUT_CHECK, after_long_help = CHECK_EXAMPLES)]
    Check(CheckOptions),
    /// Recover tool calls in the text of models
    #[command(long_about = ABOUT_CALLS, after_long_help = CALLS_EXAMPLES)]
    Calls(CallsOptions),
}

/// Options of `repair`.
#[derive(Debug, Args)]
pub struct RepairOptions {
    /// Input file; standard input if absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// Show each change on standard error, with a caret under its position
    #[arg(long, conflicts_with_all = ["jsonl", "sse"])]
    pub(crate) explain: bool,
    /// Repair the text in each line {"id": …, "text": "…"}, and write a line with the result
    #[arg(long, conflicts_with = "sse")]
    pub(crate) jsonl: bool,
    /// Repair the tool calls in a stream of server-sent events
    #[arg(long, value_name = "API", value_parser = dialect())]
    pub(crate) sse: Option<Dialect>,
    #[command(flatten, next_help_heading = "With --sse")]
    pub(crate) stream: StreamOptions,
}

/// Options of the configuration block `format_fixing`.
#[derive(Debug, Args)]
pub(crate) struct StreamOptions {
    /// Tools whose arguments are repaired; '*' for every tool [default: `TodoWrite`]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = tool_name, requires = "sse")]
    pub(crate) target_tools: Vec<String>,
    /// Do not check that repaired arguments are JSON
    #[arg(long, requires = "sse")]
    pub(crate) no_strict_validation: bool,
    /// End the stream with an error if a call cannot be repaired
    #[arg(long, requires = "sse")]
    pub(crate) no_fallback: bool,
    /// Print each fix on standard error
    #[arg(long, requires = "sse")]
    pub(crate) debug_logging: bool,
}

/// Parses a name of `--target-tools`, without surrounding white space.
fn tool_name(name: &str) -> Result<String, String> {
    match name.trim() {
        "" => Err(
            "empty name; expected names separated by commas, such as TodoWrite,Edit, or '*' for every tool"
                .to_owned(),
        ),
        name if name.contains('*') && name != "*" => Err(format!(
            "invalid name `{name}`; expected full names, or only '*' for every tool"
        )),
        name => Ok(name.to_owned()),
    }
}

/// Parses a dialect from its name. `--help` describes each dialect.
fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let values = Dialect::ALL.iter().map(|dialect| {
        let value = PossibleValue::new(dialect.as_str());
        match dialect {
            Dialect::ChatCompletions => value.help("OpenAI's Chat Completions, and compatible servers"),
            Dialect::Responses => value.help("OpenAI's Responses"),
            Dialect::Anthropic => value.help("Anthropic's Messages"),
            _ => value,
        }
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Dialect>())
}

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Input file; standard input if absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// Read one record from each line; this is the default, and the only form
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Handling of arguments that do not match their schema
    #[arg(long, value_name = "POLICY", default_value = "lenient")]
    pub(crate) policy: PolicyName,
    /// Exit with 1 if any call has errors (or any warnings or errors)
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
}

/// Options of `calls`.
#[derive(Debug, Args)]
pub struct CallsOptions {
    /// Input file; standard input if absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// Read one record from each line; this is the default, and the only form
    #[arg(long)]
    pub(crate) jsonl: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PolicyName {
    /// Coerce arguments that have one reading, with a warning for each change
    Lenient,
    /// Like lenient, but a coercion that loses information is an error
    Lossless,
    /// Require matching types, and text that is JSON
    Strict,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Lenient => Self::Lenient,
            PolicyName::Lossless => Self::Lossless,
            PolicyName::Strict => Self::Strict,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    Errors,
    Warnings,
}

const ABOUT_REPAIR: &str = "\
Repair text that is almost JSON, such as a Python dict.

Valid JSON stays byte for byte. A repair that would be a guess is refused, and text that ends too early is not
completed; such text stays unchanged, too. All other output is JSON, without an additional line break.

Limits: 1,024 levels of nesting; 64 MiB from the first byte that is not JSON; 1 MiB before this byte, which a
repair may read again; and, while the text is JSON, 1,024 bytes of white space and 64 bytes of a number. A repair
beyond a limit is refused, with the limit as the reason.

Exit status: 0 valid or repaired; 1 refused or truncated (standard output has the unchanged text, standard error
the reason and its position); 2 wrong usage, or unreadable input. Input that is not UTF-8 is written unchanged,
with status 2.";

const REPAIR_EXAMPLES: &str = "\
Lines (--jsonl):
  in   {\"id\": 7, \"text\": \"{'a': 1}\"}
  out  {\"id\":7,\"status\":\"repaired\",\"text\":\"{\\\"a\\\": 1}\",\"fixes\":[{\"code\":…,\"offset\":1,\"message\":…}]}

  `id` is any JSON value, and is returned unchanged. `status` is valid, repaired, truncated or refused; truncated
  and refused texts have a `reason` {\"offset\", \"message\"}. Offsets count bytes of the text. At most 64 fixes are
  listed; if there are more, `fix_counts` has the number of each code. Lines are answered in order, each before
  more input is awaited. An invalid line is answered with {\"id\", \"line\", \"error\"}, and the exit status is then
  1; refused and truncated texts do not change the exit status. Blank lines are skipped.

Streams (--sse):
  Reads a response, and writes the response with repaired calls. Each event is written as soon as possible, so
  that `curl -N` can be piped through. Calls of other tools, and events without calls, pass byte for byte.
  Standard error has a line for each call that was not valid JSON. Exit status 1 if any call was refused or
  truncated, or if the rest of the stream was not repaired, after an event of more than 16 MiB or 256 open calls.

Examples:
  echo \"{'done': True}\" | {program} repair
  {program} repair --explain answer.txt > answer.json
  {program} repair --jsonl answers.jsonl > repaired.jsonl
  curl -sN … | {program} repair --sse chat --target-tools TodoWrite,Edit";

const ABOUT_CHECK: &str = "\
Check recorded calls against their schemas, with the coercions and errors of a tool registry.

No tool is executed. Standard error has a summary by code at the end, the warnings of each distinct schema once,
and, on a terminal, the progress.

Exit status: 0 all lines were read and checked, with any result; 1 a line could not be read, or --deny applies;
2 wrong usage, or unreadable input.";

const CHECK_EXAMPLES: &str = "\
Lines:
  in   {\"id\": 7, \"schema\": {…}, \"arguments\": {\"limit\": \"2\"}}
       {\"id\": 8, \"schema\": {…}, \"raw\": \"{'limit': 2}\"}
  out  {\"id\":7,\"arguments\":{\"limit\":2},\"warnings\":[{\"path\":\"/limit\",\"code\":…,\"message\":…,\"severity\":\"warning\"}],\"errors\":[]}

  Each line has either `arguments`, any JSON value, or `raw`, the text of a model. Arguments that are not in the
  schema are kept. A call without `errors` would have been executed. `id` is any JSON value, and is returned
  unchanged. A line that is invalid or has an invalid schema is answered with {\"id\", \"line\", \"error\"}.

Examples:
  {program} check --jsonl calls.jsonl > report.jsonl
  {program} check --jsonl --policy strict --deny errors calls.jsonl > report.jsonl";

const ABOUT_CALLS: &str = "\
Recover tool calls in the text of models, as the setting `text_calls` of the gateway does.

A call is recovered if its tool is declared, its markup is outside of code, and nothing but calls follows up to the end
of the text. No tool is executed, and arguments are not checked against their schemas.

Exit status: 0 all lines were read, with any result; 1 a line could not be read; 2 wrong usage, or unreadable input.";

const CALLS_EXAMPLES: &str = "\
Lines:
  in   {\"id\": 7, \"text\": \"<tool_call>…\", \"tools\": [{\"name\": \"f\", \"input_schema\": {…}}], \"formats\": [\"tags\"]}
  out  {\"id\":7,\"calls\":[{\"name\":\"f\",\"arguments\":{…}}],\"text\":\"\",\"format\":\"tags\",\"reason\":null}

  `formats` are tags, json and python; all if absent. With a `stop_reason` other than end_turn, stop_sequence or
  null, or with `has_calls`, the text stays unchanged. `text` is the text that remains. `reason` is not_declared,
  not_last, incomplete, quoted, unreadable, mixed, too_long or too_many if the text has something like a call that
  was not recovered. `id` is any JSON value, and is returned unchanged. An invalid line is answered with
  {\"id\", \"line\", \"error\"}.

Examples:
  {program} calls --jsonl answers.jsonl > calls.jsonl";
