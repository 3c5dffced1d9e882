//! Calls in the texts of models, with all formats: answers with calls, and answers of models that had an API for calls.

use tool_runtime::repair::calls::{Formats, recover};

use super::answers::TextAnswer;
use super::questions::Questions;

/// Prints how many texts have calls, and how many of them are right in full by the possible answers.
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
