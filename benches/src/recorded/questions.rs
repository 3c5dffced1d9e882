//! Questions of the leaderboard, with their functions and possible answers.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use tool_runtime::repair::calls::RecoveredCall;
use tool_runtime::{DeclaredTools, ToolDefinition, ToolRegistry};

use super::checker::is_right;

/// Sets of questions that are answered by calls.
const SETS: [&str; 8] = [
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
];

/// Set of questions that no function answers.
const IRRELEVANCE: &str = "irrelevance";

const DATA: &str = "gorilla/berkeley-function-call-leaderboard/bfcl_eval/data";

/// All questions by id.
pub struct Questions(HashMap<String, Question>);

impl Questions {
    pub fn read(directory: &Path) -> Result<Self, String> {
        let mut questions = HashMap::new();
        for set in SETS {
            let data = directory.join(DATA);
            let mut possible: HashMap<String, Vec<Map<String, Value>>> =
                lines(&data.join(format!("possible_answer/BFCL_v4_{set}.json")))?
                    .into_iter()
                    .filter_map(|line| Some((id(&line)?, objects(&line["ground_truth"]))))
                    .collect();
            for line in lines(&data.join(format!("BFCL_v4_{set}.json")))? {
                let Some(id) = id(&line) else { continue };
                let answers = possible.remove(&id).unwrap_or_default();
                questions.insert(id, Question::new(&line["function"], answers)?);
            }
        }
        for line in lines(&directory.join(DATA).join(format!("BFCL_v4_{IRRELEVANCE}.json")))? {
            if let Some(id) = id(&line) {
                questions.insert(id, Question::new(&line["function"], Vec::new())?);
            }
        }
        Ok(Self(questions))
    }

    pub fn get(&self, id: &str) -> Option<&Question> {
        self.0.get(id)
    }
}

/// A question with its functions, registered as dynamic tools, and the calls that answer it.
pub struct Question {
    pub registry: ToolRegistry,
    tools: Vec<Tool>,
    /// Possible calls: the name of a function, and the possible values of each parameter.
    answers: Vec<Map<String, Value>>,
}

/// A function of a question.
pub struct Tool {
    /// Name in the registry, without dots.
    pub name: String,
    /// Name in the question.
    original: String,
    /// Parameters in the leaderboard's dialect of JSON Schema.
    pub parameters: Value,
}

impl Question {
    fn new(functions: &Value, answers: Vec<Map<String, Value>>) -> Result<Self, String> {
        let mut registry = ToolRegistry::new();
        let mut tools = Vec::new();
        for function in functions.as_array().into_iter().flatten() {
            let original = function["name"].as_str().unwrap_or_default().to_owned();
            let name = without_dots(&original);
            let description = function["description"].as_str().unwrap_or("A function.");
            let description = if description.is_empty() {
                "A function."
            } else {
                description
            };
            let schema = json_schema(&function["parameters"]);
            registry
                .register_dynamic(ToolDefinition::new(&*name, description, schema), async |_, _| "")
                .map_err(|error| format!("{original}: {error}"))?;
            tools.push(Tool {
                name,
                original,
                parameters: function["parameters"].clone(),
            });
        }
        Ok(Self {
            registry,
            tools,
            answers,
        })
    }

    /// Returns the function with this name, with dots or underscores.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        let name = without_dots(name);
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the functions, with their names with dots and without, and their schemas.
    pub fn declared(&self) -> DeclaredTools {
        let tools = self.tools.iter().flat_map(|tool| {
            let schema = json_schema(&tool.parameters);
            [(&*tool.name, schema.clone()), (&*tool.original, schema)]
        });
        tools.collect()
    }

    /// Returns whether the calls are a possible answer: each call answers another part of the question, in any order.
    pub fn is_answered_by(&self, calls: &[RecoveredCall]) -> bool {
        let mut open: Vec<&Map<String, Value>> = self.answers.iter().collect();
        calls.len() == open.len()
            && calls.iter().all(|call| {
                let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
                let tool = self.tool(&call.name);
                let found = tool.and_then(|tool| {
                    open.iter().position(|answer| {
                        let possible = answer.get(&tool.original).and_then(Value::as_object);
                        possible.is_some_and(|possible| is_right(&tool.parameters, &arguments, possible))
                    })
                });
                found.map(|index| open.remove(index)).is_some()
            })
    }

    /// Returns the possible answers that call a function, as the possible values of each parameter.
    pub fn answers<'a>(&'a self, tool: &'a Tool) -> impl Iterator<Item = &'a Map<String, Value>> {
        let answers = self.answers.iter();
        answers.filter_map(|answer| answer.get(&tool.original)?.as_object())
    }
}

/// Returns the name that the leaderboard shows to models whose API allows no dots.
fn without_dots(name: &str) -> String {
    name.replace('.', "_")
}

/// Returns the schema that the leaderboard shows to models, with replaced type names, also in properties and items.
fn json_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        if let Some(Value::String(word)) = members.get_mut("type") {
            *word = type_word(word).to_owned();
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            for property in properties.values_mut() {
                *property = json_schema(property);
                if let Some(property) = property.as_object_mut() {
                    property.entry("type").or_insert_with(|| "string".into());
                }
            }
        }
        if let Some(items) = members.get_mut("items") {
            *items = json_schema(items);
        }
    }
    schema
}

/// `GORILLA_TO_OPENAPI` of the leaderboard's `constants/type_mappings.py`; all other names are strings.
fn type_word(word: &str) -> &'static str {
    match word {
        "integer" => "integer",
        "number" | "float" => "number",
        "boolean" | "bool" => "boolean",
        "array" | "list" | "tuple" => "array",
        "dict" | "object" => "object",
        _ => "string",
    }
}

/// Reads a file with an object on each line.
pub fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{shown}: {error}")))
        .collect()
}

pub fn id(line: &Value) -> Option<String> {
    line["id"].as_str().map(str::to_owned)
}

fn objects(list: &Value) -> Vec<Map<String, Value>> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_object().cloned()).collect()
}
