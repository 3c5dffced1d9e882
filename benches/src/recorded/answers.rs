//! Recorded answers of models: a folder for each model, with files that have an answer on each line.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::questions::{id, lines};

/// Answers of a model.
pub struct Model {
    pub name: String,
    pub answers: Vec<Answer>,
}

/// An answer to a question.
pub struct Answer {
    pub id: String,
    pub calls: Calls,
}

pub enum Calls {
    /// Calls from a tools API: names and arguments.
    Native(Vec<Call>),
    /// Texts with the name and the arguments of calls.
    Texts(Vec<String>),
}

/// A call: the name of a function, and the arguments as JSON text.
#[derive(Debug, Clone)]
pub struct Call {
    pub name: String,
    pub arguments: String,
}

const RESULTS_2024: &str = "BFCL-Result/2024-08-11/result";

/// Sets of questions that are answered by calls: their names in 2024, and their current names.
const SETS_2024: [(&str, &str); 4] = [
    ("simple", "simple_python"),
    ("multiple_function", "multiple"),
    ("parallel_function", "parallel"),
    ("parallel_multiple_function", "parallel_multiple"),
];

/// Reads the answers of 70 models from August 2024.
pub fn of_2024(directory: &Path) -> Result<Vec<Model>, String> {
    let mut models = Vec::new();
    for folder in folders(&directory.join(RESULTS_2024))? {
        let name = name(&folder);
        let mut answers = Vec::new();
        for (old, new) in SETS_2024 {
            let file = folder.join(format!("gorilla_openfunctions_v1_test_{old}_result.json"));
            for line in lines(&file)? {
                let number = id(&line).and_then(|id| Some(id.strip_prefix(old)?.to_owned()));
                answers.extend(number.and_then(|number| answer(format!("{new}{number}"), &line, &name)));
            }
        }
        if !answers.is_empty() {
            models.push(Model { name, answers });
        }
    }
    Ok(models)
}

/// A textual answer of 2024.
pub struct TextAnswer {
    /// Id of the question.
    pub id: String,
    pub text: String,
    /// Whether the model had a tools API, so that its texts should have no calls.
    pub has_tools_api: bool,
}

/// Reads the textual answers of 2024, except for errors of the run. Models without a tools API have no answers to the set without calls.
pub fn texts_of_2024(directory: &Path) -> Result<Vec<TextAnswer>, String> {
    const ERRORS: [&str; 4] = [
        "Error code",
        "Error during inference",
        "An error occurred",
        "Invalid JSON payload",
    ];
    let mut texts = Vec::new();
    for folder in folders(&directory.join(RESULTS_2024))? {
        let name = name(&folder);
        let has_tools_api = name.contains("-FC") || name.ends_with("-fc");
        let has_tools_api = has_tools_api || name.starts_with("gemini") || name.starts_with("meetkai");
        let irrelevance = has_tools_api.then_some(("relevance", "irrelevance"));
        for (old, new) in SETS_2024.into_iter().chain(irrelevance) {
            for line in lines(&folder.join(format!("gorilla_openfunctions_v1_test_{old}_result.json")))? {
                let Some(text) = line["result"].as_str() else {
                    continue;
                };
                let number = id(&line).and_then(|id| Some(id.strip_prefix(old)?.to_owned()));
                if let Some(number) = number.filter(|_| !ERRORS.iter().any(|error| text.starts_with(error))) {
                    texts.push(TextAnswer {
                        id: format!("{new}{number}"),
                        text: text.to_owned(),
                        has_tools_api,
                    });
                }
            }
        }
    }
    Ok(texts)
}

/// Reads the answers of gpt-oss with versions of vLLM from 2025, including answers to questions with functions of users.
pub fn of_2025(directory: &Path) -> Result<Vec<Model>, String> {
    const SETS: [&str; 8] = [
        "non_live/BFCL_v4_simple_python",
        "non_live/BFCL_v4_multiple",
        "non_live/BFCL_v4_parallel",
        "non_live/BFCL_v4_parallel_multiple",
        "live/BFCL_v4_live_simple",
        "live/BFCL_v4_live_multiple",
        "live/BFCL_v4_live_parallel",
        "live/BFCL_v4_live_parallel_multiple",
    ];
    let mut models = Vec::new();
    for version in folders(&directory.join("bfcl-vllm-results/results"))? {
        for folder in folders(&version.join("result"))? {
            let name = format!("{}, {}", self::name(&folder), self::name(&version));
            let mut answers = Vec::new();
            for set in SETS {
                for line in lines(&folder.join(format!("{set}_result.json")))? {
                    answers.extend(id(&line).and_then(|id| answer(id, &line, &name)));
                }
            }
            models.push(Model { name, answers });
        }
    }
    Ok(models)
}

/// Returns the answer in a line; `None` for an answer without calls.
fn answer(id: String, line: &Value, model: &str) -> Option<Answer> {
    let calls = match &line["result"] {
        Value::Array(items) => {
            let objects = items.iter().filter_map(Value::as_object).flatten();
            let calls = objects.map(|(name, arguments)| Call {
                name: name.clone(),
                arguments: arguments
                    .as_str()
                    .map_or_else(|| arguments.to_string(), str::to_owned),
            });
            Calls::Native(calls.collect())
        }
        Value::String(text) => text_calls(text, model)?,
        _ => return None,
    };
    Some(Answer { id, calls })
}

fn text_calls(text: &str, model: &str) -> Option<Calls> {
    if model.starts_with("THUDM_glm-4") {
        let (name, arguments) = text.trim().split_once('\n')?;
        let is_call = arguments.starts_with('{') && !name.contains(char::is_whitespace);
        return is_call.then(|| {
            Calls::Native(vec![Call {
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            }])
        });
    }
    if model.starts_with("Salesforce_xLAM") {
        return Some(Calls::Texts(vec![text.to_owned()]));
    }
    let tag = ["tool_call", "function_call"]
        .into_iter()
        .find(|tag| text.contains(&format!("<{tag}>")))?;
    let (start, end) = (format!("<{tag}>"), format!("</{tag}>"));
    let parts = text.split(&start).skip(1);
    let texts = parts.map(|part| part.split(&end).next().unwrap_or(part).to_owned());
    Some(Calls::Texts(texts.collect()))
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
