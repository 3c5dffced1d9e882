//! The words of the command line, and what `--help` says of them.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use tool_runtime::Policy;
use tool_runtime::repair::stream::Dialect;

/// Option that every command has.
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
    pub(crate) color: When,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// The commands; a program has them among its own with `#[command(flatten)]`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make JSON of what is almost JSON, such as a Python dict; valid JSON comes back byte for byte
    #[command(long_about = ABOUT_REPAIR, after_long_help = REPAIR_EXAMPLES)]
    Repair(RepairOptions),
    /// Check recorded calls against their schemas: what would be coerced, what refused
    #[command(long_about = ABOUT_CHECK, after_long_help = CHECK_EXAMPLES)]
    Check(CheckOptions),
}

/// Options of `repair`.
#[derive(Debug, Args)]
pub struct RepairOptions {
    /// The input; standard input where it is absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// Show on standard error what was changed, with a caret under each place
    #[arg(long, conflicts_with_all = ["jsonl", "sse"])]
    pub(crate) explain: bool,
    /// Repair many texts: a line {"id": …, "text": "…"} in, a line with the result out
    #[arg(long, conflicts_with = "sse")]
    pub(crate) jsonl: bool,
    /// Repair the tool calls in a stream of server-sent events, as it passes by
    #[arg(long, value_name = "API", value_parser = dialect())]
    pub(crate) sse: Option<Dialect>,
    #[command(flatten, next_help_heading = "With --sse")]
    pub(crate) stream: StreamOptions,
}

/// The configuration block `format_fixing`.
#[derive(Debug, Args)]
pub(crate) struct StreamOptions {
    /// Tools whose arguments are repaired; '*' for every tool [default: `TodoWrite`]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = tool_name, requires = "sse")]
    pub(crate) target_tools: Vec<String>,
    /// Do not check that what was repaired is JSON
    #[arg(long, requires = "sse")]
    pub(crate) no_strict_validation: bool,
    /// End the stream with an error where a call cannot be repaired, instead of sending it as it came
    #[arg(long, requires = "sse")]
    pub(crate) no_fallback: bool,
    /// Say on standard error what each fix was
    #[arg(long, requires = "sse")]
    pub(crate) debug_logging: bool,
}

/// A name of `--target-tools`, without the white space around it.
fn tool_name(name: &str) -> Result<String, String> {
    match name.trim() {
        "" => Err(
            "a name is empty; write names with commas between them, as in TodoWrite,Edit, or '*' for every tool"
                .to_owned(),
        ),
        name if name.contains('*') && name != "*" => Err(format!(
            "no tool is called `{name}`: '*' means every tool, and only by itself; write the names in full, or '*'"
        )),
        name => Ok(name.to_owned()),
    }
}

/// Reads a dialect by its name; `--help` says what each is.
fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let values = Dialect::ALL.iter().map(|dialect| {
        let value = PossibleValue::new(dialect.as_str());
        match dialect {
            Dialect::ChatCompletions => value.help("OpenAI's Chat Completions, and all that speak like them"),
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
    /// The input; standard input where it is absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// The input has one record a line; it is the only form so far, so this may be left out
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Leniency with arguments that do not fit their schema
    #[arg(long, value_name = "POLICY", default_value = "lenient")]
    pub(crate) policy: PolicyName,
    /// Exit with 1 if any call has errors (or any warnings or errors)
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PolicyName {
    /// Arguments with one reading are coerced, with a warning for each change
    Lenient,
    /// As lenient, but what would lose information is an error
    Lossless,
    /// Types must match, and the text must be JSON
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
Make JSON of what is almost JSON, such as a Python dict.

Valid JSON comes back byte for byte, and so does everything that cannot be repaired without guessing: a repair
that would be a guess is refused, and text that ends too early is never completed. What comes out beside that is
JSON. Nothing is added to it, no line break either.

There are limits: 1,024 levels are followed, 64 MiB are held from the first byte that is not JSON, 1 MiB of what
came before is looked at again, and 1,024 bytes of white space and 64 bytes of a number are held while the text is
JSON. What would need more is refused, and the reason says so.

Exit status: 0 valid or repaired; 1 refused or truncated (the text is unchanged on standard output, the reason and
the place are on standard error); 2 wrong usage, or input that cannot be read. Bytes that are not UTF-8 go out
unchanged, too, with 2.";

const REPAIR_EXAMPLES: &str = "\
Lines (--jsonl):
  in   {\"id\": 7, \"text\": \"{'a': 1}\"}
  out  {\"id\":7,\"status\":\"repaired\",\"text\":\"{\\\"a\\\": 1}\",\"fixes\":[{\"code\":…,\"offset\":1,\"message\":…}]}

  `id` is any JSON value and comes back as it was written. `status` is valid, repaired, truncated or refused; the
  latter two have a `reason` {\"offset\", \"message\"}. Offsets count bytes of the text. Of more than 64 fixes the
  first 64 are listed, and `fix_counts` has the number of each code. Each line is answered before more input is
  awaited, in order. A line that cannot be read is answered with {\"id\", \"line\", \"error\"}, and the exit status is
  1 in the end; refused and truncated texts are findings, not failures. Blank lines are skipped.

Streams (--sse):
  A recorded response in, the same with its calls repaired out, each event as soon as it may leave; `curl -N` can
  be piped through. Calls of other tools than the targets, and all that is no tool call, pass byte for byte.
  Standard error has a line for each call that was not simply JSON. Exit status 1 if any was refused or truncated,
  or if the rest of the stream passed untouched: after an event of more than 16 MiB or 256 calls at once.

Examples:
  echo \"{'done': True}\" | {program} repair
  {program} repair --explain answer.txt > answer.json
  {program} repair --jsonl answers.jsonl > repaired.jsonl
  curl -sN … | {program} repair --sse chat --target-tools TodoWrite,Edit";

const ABOUT_CHECK: &str = "\
Check recorded calls against their schemas, as a tool's registry would: what would be coerced, what refused.

Nothing is executed. A summary by code goes to standard error in the end, and progress on the way when that is a
terminal. A schema's own warnings go there as well, once for each distinct schema.

Exit status: 0 all lines were read and checked, whatever was found; 1 some line could not be read (or --deny found
something); 2 wrong usage, or input that cannot be read.";

const CHECK_EXAMPLES: &str = "\
Lines:
  in   {\"id\": 7, \"schema\": {…}, \"arguments\": {\"limit\": \"2\"}}
       {\"id\": 8, \"schema\": {…}, \"raw\": \"{'limit': 2}\"}
  out  {\"id\":7,\"arguments\":{\"limit\":2},\"warnings\":[{\"path\":\"/limit\",\"code\":…,\"message\":…,\"severity\":\"warning\"}],\"errors\":[]}

  `arguments` is any JSON value, `raw` the text as a model wrote it; a line has one of the two. Arguments that the
  schema does not know are kept. A call without `errors` would have been executed. `id` is any JSON value and comes
  back as it was written. A line that cannot be read, or whose schema is invalid, is answered with {\"id\", \"line\",
  \"error\"}.

Examples:
  {program} check --jsonl calls.jsonl > report.jsonl
  {program} check --jsonl --policy strict --deny errors calls.jsonl > report.jsonl";
