//! Accuracy of recovered calls in the texts of models: of models without an API for calls, and of models with such an API.

use tool_runtime::repair::calls::{Formats, recover};

use super::answers::TextAnswer;
use super::questions::Questions;

/// Prints the number of texts with recovered calls, and the number of texts whose calls are a possible answer.
pub fn print(answers: &[TextAnswer], questions: &Questions) {
    println!("### Calls that arrived as text, 2024\n");
    println!("| answers | texts | recovered | right in full |\n|---|---|---|---|");
    for (label, has_tools_api) in [
        ("of models without a tools API", false),
        ("of models with a tools API", true),
    ] {
        let (mut texts, mut recovered, mut right) = (0, 0, 0);
        for answer in answers
            .iter()
            .filter(|answer| answer.has_tools_api == has_tools_api)
        {
            let Some(question) = questions.get(&answer.id) else {
                continue;
            };
            let found = recover(&answer.text, question.declared(), Formats::ALL);
            texts += 1;
            recovered += usize::from(!found.calls.is_empty());
            right += usize::from(!found.calls.is_empty() && question.is_answered_by(&found.calls));
        }
        println!("| {label} | {texts} | {recovered} | {right} |");
    }
    println!();
}
