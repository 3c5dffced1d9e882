//! Command `repair --jsonl`, which repairs many texts, one in each line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tool_runtime::repair::{Fix, Fixes, Reason, Status, repair};

use crate::jsonl::{self, LineError, present};
use crate::options::RepairOptions;
use crate::outcome::{Failure, Outcome};
use crate::source::Source;
use crate::terminal::Terminal;

pub(crate) fn run(options: &RepairOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let source = Source::open(options.file.as_deref(), terminal)?;
    let invalid = jsonl::answer_each(source, |line, answers| {
        let record: TextLine<'_> = jsonl::record(line.text, EXPECTED)?;
        let id = record.id.unwrap_or(RawValue::NULL);
        let Some(text) = record.text else {
            return Err(LineError::new(id, format!("missing `text`; expected {EXPECTED}")));
        };
        let text = jsonl::string(id, "text", text)?;
        let repaired = repair(&text);
        Ok(answers.write(&RepairReport {
            id,
            status: repaired.status,
            text: &repaired.text,
            fixes: repaired.fixes.first(),
            fix_counts: counts(&repaired.fixes),
            reason: repaired.reason.as_ref(),
            tool_name: repaired.tool_name.as_deref(),
        })?)
    })?;
    Ok(Outcome::success_if(invalid == 0))
}

#[derive(Deserialize)]
struct TextLine<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    text: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct RepairReport<'a> {
    id: &'a RawValue,
    status: Status,
    text: &'a str,
    fixes: &'a [Fix],
    #[serde(skip_serializing_if = "Option::is_none")]
    fix_counts: Option<BTreeMap<&'static str, usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

/// Returns the number of fixes of each kind, if not all fixes are listed.
fn counts(fixes: &Fixes) -> Option<BTreeMap<&'static str, usize>> {
    let listed = fixes.first().len() == fixes.total();
    (!listed).then(|| {
        let counts = fixes.counts();
        counts.map(|(code, count)| (code.as_str(), count)).collect()
    })
}

const EXPECTED: &str = r#"{"id": …, "text": "…"}"#;
