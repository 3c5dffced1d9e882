//! The cases of `cases.json`.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::played::Played;
use crate::upstream::openai::estimates::PromptSize;
use crate::upstream::openai::response::expected::ExpectedResponse;
use crate::upstream::openai::warnings::WarningCode;
use crate::upstream::text_calls::rules::TextThoughts;
use crate::upstream::translation_warnings::TranslationWarnings;

/// A response of a server, and the result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Frames of a stream: chunks as JSON, and other frames as text, with their line breaks.
    #[serde(default)]
    stream: Option<Vec<Value>>,
    /// A whole completion, which has the same result.
    #[serde(default)]
    whole: Option<Value>,
    #[serde(default)]
    stop_sequences: Vec<String>,
    #[serde(default)]
    searched_stops: Vec<String>,
    #[serde(default)]
    splits_objects: bool,
    #[serde(default)]
    is_single_call: bool,
    #[serde(default)]
    omits_thinking: bool,
    #[serde(default)]
    thoughts: String,
    /// Codes of warnings.
    #[serde(default)]
    warnings: Vec<String>,
    /// Expected fields of the message; other fields are not compared.
    #[serde(default)]
    message: Value,
    /// Expected usage of the start.
    #[serde(default)]
    first_usage: Option<Value>,
    /// Expected fields of the error.
    #[serde(default)]
    error: Option<Value>,
}

impl Case {
    /// Returns the warnings that were not counted once.
    fn missing_warnings(&self, warnings: &TranslationWarnings) -> Vec<String> {
        let codes = [WarningCode::FinishReason, WarningCode::ParallelCalls].map(WarningCode::as_str);
        let wrong = codes.into_iter().filter(|code| {
            let expected = self.warnings.iter().filter(|warning| warning == code).count();
            warnings.count(code) != u64::try_from(expected).unwrap()
        });
        wrong.map(|code| format!("{}: {code}", self.name)).collect()
    }

    fn expected(&self) -> ExpectedResponse {
        ExpectedResponse {
            model: "claude".to_owned(),
            served_model: "served".to_owned(),
            // 77 tokens.
            prompt: PromptSize {
                bytes: 269,
                images: 0,
            },
            stop_sequences: self.stop_sequences.clone(),
            searched_stops: self.searched_stops.clone(),
            splits_objects: self.splits_objects,
            is_single_call: self.is_single_call,
            omits_thinking: self.omits_thinking,
            thoughts: match self.thoughts.as_str() {
                "split" => TextThoughts::Split,
                _ => TextThoughts::Keep,
            },
            ..ExpectedResponse::default()
        }
    }

    /// Returns the bytes of the stream.
    fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = String::new();
        for frame in self.stream.as_ref()? {
            match frame {
                Value::String(text) => bytes.push_str(text),
                chunk => write!(bytes, "data: {chunk}\n\n").unwrap(),
            }
        }
        Some(bytes.into_bytes())
    }

    /// Returns the differences between the result and the expected one.
    fn differences(&self, played: &Played, form: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |field: &str, got: &Value, expected: &Value| {
            if got != expected {
                let name = &self.name;
                found.push(format!(
                    "{name}, {form}: {field}\n  got      {got}\n  expected {expected}"
                ));
            }
        };
        if let Some(usage) = self.first_usage.as_ref().filter(|_| form != "whole") {
            compare("first usage", &played.first_usage, usage);
        }
        let error = played.error.clone().unwrap_or_default();
        match &self.error {
            None => compare("error", &error, &Value::Null),
            Some(expected) => {
                for (field, value) in expected.as_object().unwrap() {
                    compare(field, &error[field], value);
                }
            }
        }
        for (field, value) in self.message.as_object().into_iter().flatten() {
            compare(field, &played.message[field], value);
        }
        found
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Value> = serde_json::from_str(include_str!("cases.json")).unwrap();
    let case = |case: Value| {
        let name = case["name"].clone();
        serde_json::from_value(case).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    cases.into_iter().map(case).collect()
}

#[tokio::test]
async fn streams_have_one_result_in_one_write_and_in_a_write_for_each_byte() {
    let mut differences = Vec::new();
    for case in cases() {
        let Some(bytes) = case.bytes() else { continue };
        let expected = case.expected();
        let warnings = expected.warnings.clone();
        let played = Played::stream(&bytes, expected).await;
        differences.extend(case.missing_warnings(&warnings));
        differences.extend(case.differences(&played, "one write"));
        let pieces = bytes.iter().map(|byte| vec![*byte]).collect();
        let slow = Played::new("text/event-stream", pieces, case.expected()).await;
        assert_eq!(played, slow, "{}", case.name);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn whole_answers_have_the_result_of_the_stream() {
    let mut differences = Vec::new();
    for case in cases() {
        let Some(whole) = &case.whole else { continue };
        let whole = match whole {
            Value::String(text) => text.clone(),
            whole => whole.to_string(),
        };
        let played = Played::new("application/json", vec![whole.into_bytes()], case.expected()).await;
        differences.extend(case.differences(&played, "whole"));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn names_of_cases_are_unique() {
    let mut names: Vec<String> = cases().into_iter().map(|case| case.name).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
