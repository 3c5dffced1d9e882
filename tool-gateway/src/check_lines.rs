//! `tool-gateway check`: recorded calls against their schemas.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool_runtime::{Issue, Policy, ToolCall};

use crate::ending::{Ending, Failure};
use crate::jsonl::{self, Unanswered, present};
use crate::options::{CheckOptions, Deny};
use crate::progress::Progress;
use crate::schemas::{NAME, Schemas};
use crate::source::Source;
use crate::tally::Tally;
use crate::terminal::Terminal;

pub(crate) fn run(options: &CheckOptions, terminal: Terminal) -> Result<Ending, Failure> {
    let source = Source::open(options.file.as_deref(), terminal)?;
    let name = source.name.clone();
    let policy = Policy::from(options.policy);
    let mut progress = Progress::new(terminal, source.length);
    let mut schemas = Schemas::default();
    let mut tally = Tally::default();
    let unread = jsonl::answer_each(source, |line, answers| {
        progress.step(line.number, line.end);
        let sent: Sent<'_> = jsonl::record(line.text, WANTED)?;
        let id = sent.id.unwrap_or(RawValue::NULL);
        let Some(schema) = sent.schema else {
            return Err(Unanswered::of(id, format!("there is no `schema`; send {WANTED}")));
        };
        let input = match (sent.arguments, sent.raw) {
            // Its text, not its value: numbers and keys as they were sent.
            (Some(arguments), None) => arguments.get().to_owned(),
            (None, Some(raw)) => jsonl::string(id, "raw", raw)?,
            (None, None) => {
                let error = "there is neither `arguments` nor `raw`; send the arguments as JSON in \
                             `arguments`, or the text that a model wrote in `raw`";
                return Err(Unanswered::of(id, error));
            }
            (Some(_), Some(_)) => {
                let error = "there are both `arguments` and `raw`; send one of them: `raw` if the text \
                             that a model wrote is known";
                return Err(Unanswered::of(id, error));
            }
        };
        let (compiled, warnings) = schemas.compiled(schema.get());
        for warning in warnings {
            progress.clear();
            let place = format!("{name}:{}: ", line.number);
            terminal.say(&format!(
                "{place}{} in the schema: {warning}\n",
                terminal.palette.changed("warning")
            ));
        }
        let registry = compiled
            .as_ref()
            .as_ref()
            .map_err(|error| Unanswered::of(id, error))?;
        let request = registry.request(ToolCall::new("", NAME, input).with_policy(policy));
        tally.add(&request);
        Ok(answers.write(&Answer {
            id,
            arguments: &request.arguments,
            warnings: &request.warnings,
            errors: &request.errors,
        })?)
    });
    progress.clear();
    let unread = unread?;
    terminal.say(&tally.summary(unread, terminal.palette));
    let denied = match options.deny {
        None => false,
        Some(Deny::Errors) => tally.has_errors(),
        Some(Deny::Warnings) => tally.has_errors() || tally.has_warnings(),
    };
    Ok(Ending::fine_if(unread == 0 && !denied))
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    schema: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    raw: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a RawValue,
    arguments: &'a Map<String, Value>,
    warnings: &'a [Issue],
    errors: &'a [Issue],
}

const WANTED: &str = r#"{"id": …, "schema": {…}, "arguments": {…}}, or "raw": "…" in place of `arguments`"#;
