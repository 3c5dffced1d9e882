//! Command `calls --jsonl`, which recovers the tool calls in texts, one text in each line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tool_runtime::DeclaredTools;
use tool_runtime::repair::calls::{Format, Formats, Recovered, recover};

use crate::jsonl::{self, LineError, present};
use crate::options::CallsOptions;
use crate::outcome::{Failure, Outcome};
use crate::source::Source;
use crate::terminal::Terminal;

pub(crate) fn run(options: &CallsOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let source = Source::open(options.file.as_deref(), terminal)?;
    let invalid = jsonl::answer_each(source, |line, answers| {
        let sent: CallsLine<'_> = jsonl::record(line.text, EXPECTED)?;
        let id = sent.id.unwrap_or(RawValue::NULL);
        let Some(text) = sent.text else {
            return Err(LineError::new(id, format!("missing `text`; expected {EXPECTED}")));
        };
        let text = jsonl::string(id, "text", text)?;
        let formats = sent.formats(id)?;
        let recovered = recover(&text, declared(id, sent.tools)?, formats);
        let calls: Result<Vec<_>, _> = recovered.calls.iter().map(CallReport::new).collect();
        let calls =
            calls.map_err(|error| LineError::new(id, format!("the arguments cannot be written: {error}")))?;
        Ok(answers.write(&CallsReport {
            id,
            calls,
            text: &recovered.text,
            format: recovered.format.map(Format::as_str),
            reason: reason(&recovered),
        })?)
    })?;
    Ok(Outcome::success_if(invalid == 0))
}

fn reason(recovered: &Recovered) -> Option<&'static str> {
    recovered
        .reason
        .map(tool_runtime::repair::calls::TextReason::as_str)
}

#[derive(Deserialize)]
struct CallsLine<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    text: Option<&'a RawValue>,
    tools: Option<Vec<ToolLine>>,
    formats: Option<Vec<String>>,
    stop_reason: Option<String>,
    #[serde(default)]
    has_calls: bool,
}

#[derive(Deserialize)]
struct ToolLine {
    name: String,
    #[serde(default)]
    input_schema: Value,
}

impl CallsLine<'_> {
    /// Returns the formats of the line. A message that has structured calls, or that was cut off, is searched for no format.
    fn formats(&self, id: &RawValue) -> Result<Formats, LineError> {
        let formats = match &self.formats {
            Some(names) => names
                .iter()
                .map(|name| name.parse::<Format>())
                .collect::<Result<_, _>>()
                .map_err(|error| LineError::new(id, format!("`formats`: {error}")))?,
            None => Formats::ALL,
        };
        let has_ended = matches!(
            self.stop_reason.as_deref(),
            None | Some("end_turn" | "stop_sequence")
        );
        Ok(if has_ended && !self.has_calls {
            formats
        } else {
            Formats::NONE
        })
    }
}

fn declared(id: &RawValue, tools: Option<Vec<ToolLine>>) -> Result<DeclaredTools, LineError> {
    let tools = tools.ok_or_else(|| LineError::new(id, format!("missing `tools`; expected {EXPECTED}")))?;
    Ok(tools
        .into_iter()
        .map(|tool| (tool.name, tool.input_schema))
        .collect())
}

#[derive(Serialize)]
struct CallsReport<'a> {
    id: &'a RawValue,
    calls: Vec<CallReport<'a>>,
    text: &'a str,
    format: Option<&'static str>,
    reason: Option<&'static str>,
}

#[derive(Serialize)]
struct CallReport<'a> {
    name: &'a str,
    arguments: Box<RawValue>,
}

impl<'a> CallReport<'a> {
    fn new(call: &'a tool_runtime::repair::calls::RecoveredCall) -> serde_json::Result<Self> {
        Ok(Self {
            name: &call.name,
            // A record is one line. Line breaks occur only between tokens, since strings have escapes.
            arguments: RawValue::from_string(call.arguments.replace(['\n', '\r'], " "))?,
        })
    }
}

const EXPECTED: &str = r#"{"id": …, "text": "…", "tools": [{"name": "…", "input_schema": {…}}]}"#;
