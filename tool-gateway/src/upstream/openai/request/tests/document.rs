//! `docs/translation.md`, which is written from the code. `UPDATE_GOLDEN=1` updates the file.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Case, PROFILES};
use crate::upstream::openai::profile::{Profile, ProfileName};
use crate::upstream::openai::request::fields::{FIELDS, FieldTreatment};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/translation.md");

const INTRODUCTION: &str = "\
# Translation to Chat Completions

The tables on this page are written from the code by a test: `UPDATE_GOLDEN=1 cargo test -p tool-gateway --lib openai`. The rules are in
[gateway.md](gateway.md#servers-of-chat-completions).
";

fn cell(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') {
        return format!("`` {text} ``");
    }
    format!("`{text}`")
}

fn fields(out: &mut String) {
    out.push_str(
        "\n## Fields of requests\n\nOther fields are not sent, with the warning `unknown_field`.\n\n",
    );
    out.push_str("| field | treatment |\n|---|---|\n");
    for (name, treatment) in FIELDS {
        let treatment = match treatment {
            FieldTreatment::Translated => "translated".to_owned(),
            FieldTreatment::Warned(code) => format!("not sent, with the warning `{}`", code.as_str()),
            FieldTreatment::Rejected => "an error with the status 400".to_owned(),
        };
        let _ = writeln!(out, "| `{name}` | {treatment} |");
    }
}

fn cases(out: &mut String) {
    out.push_str("\n## Cases\n\nThe profile is `generic` unless the row names another one. Warnings are in brackets.\n\n");
    out.push_str("| row | profile | Messages API | Chat Completions |\n|---|---|---|---|\n");
    for case in Case::all() {
        let profile = case.profile.unwrap_or(ProfileName::Generic);
        let profile = serde_json::to_value(profile).unwrap();
        let profile = profile.as_str().unwrap();
        let request = serde_json::to_string(&case.request).unwrap();
        let result = match case.translate(&case.profile(), &case.request()) {
            Err(error) => format!("400: {}", cell(&error.message)),
            Ok(turn) => {
                let chat: Map<String, Value> = serde_json::from_str(&turn.body).unwrap();
                let shown = chat.into_iter().filter(|(name, _)| case.chat.contains_key(name));
                let shown: Map<String, Value> = shown.collect();
                let mut text = cell(&serde_json::to_string(&shown).unwrap());
                for code in turn.warnings {
                    let _ = write!(text, " [`{}`]", code.as_str());
                }
                text
            }
        };
        let _ = writeln!(
            out,
            "| {} | {profile} | {} | {result} |",
            case.row.replace('|', "\\|"),
            cell(&request)
        );
    }
}

fn flags(profile: &Profile) -> Map<String, Value> {
    let Ok(Value::Object(flags)) = serde_json::to_value(profile) else {
        unreachable!("a profile is an object")
    };
    flags
}

fn profiles(out: &mut String) {
    out.push_str("\n## Profiles\n\n| profile | flags that differ from `generic` |\n|---|---|\n");
    let generic = flags(&Profile::default());
    for name in PROFILES {
        let all = flags(&name.profile());
        let differs =
            |(flag, value): &(&String, &Value)| name == ProfileName::Generic || generic[*flag] != **value;
        let shown: Vec<String> = all
            .iter()
            .filter(differs)
            .map(|(flag, value)| format!("`{flag} = {value}`"))
            .collect();
        let name = serde_json::to_value(name).unwrap();
        let _ = writeln!(out, "| {} | {} |", name.as_str().unwrap(), shown.join(", "));
    }
}

#[test]
fn document_has_the_tables_of_the_code() {
    let mut text = INTRODUCTION.to_owned();
    fields(&mut text);
    cases(&mut text);
    profiles(&mut text);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(PATH, &text).unwrap();
    }
    let written = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(
        written == text,
        "docs/translation.md differs from the code; run the test with UPDATE_GOLDEN=1"
    );
}
