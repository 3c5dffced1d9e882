//! Valid arguments with the changes that models make are restored exactly, with one warning for each change. Ambiguous arguments are
//! rejected.
//!
//! `PROPERTIES_LONG=1` tests many more.

mod ambiguous;
mod kinds;
mod loosen;
mod python;
mod typed;

use serde_json::Value;
use tests::dynamic_tool::{self, prepare};
use tests::long::properties_long;
use tests::random::Random;
use tool_runtime::issue::Code;
use tool_runtime::{Policy, ToolRegistry};

use kinds::Kind;
use loosen::Loosener;

/// Returns the number of random schemas; `PROPERTIES_LONG=1` tests many more.
fn schemas() -> usize {
    if properties_long() { 10_000 } else { 250 }
}

/// Number of values for each schema.
const VALUES: usize = 6;

/// Builds a registry with one tool for a kind of arguments.
fn registered(kind: &Kind) -> ToolRegistry {
    dynamic_tool::registry(&kind.schema())
}

/// Returns sorted codes and paths.
fn found(issues: &[tool_runtime::Issue]) -> Vec<(Code, String)> {
    let mut found: Vec<_> = issues
        .iter()
        .map(|issue| (issue.code, issue.path.clone()))
        .collect();
    found.sort();
    found
}

#[test]
fn loosened_arguments_are_restored_with_a_warning_for_each_change() {
    let mut random = Random::new(21);
    let mut changes = 0;
    for _ in 0..schemas() {
        let kind = kinds::tool(&mut random);
        let registry = registered(&kind);
        for _ in 0..VALUES {
            let value = kind.value(&mut random);
            let rate = 2 + random.below(8);
            let mut loosener = Loosener::new(&mut random, rate);
            let text = loosener.arguments(&kind, &value);
            let mut expected = std::mem::take(&mut loosener.expected);
            expected.sort();
            changes += expected.len();
            for policy in [Policy::Lenient, Policy::Lossless] {
                let request = prepare(&registry, text.as_str(), policy);
                let case = || format!("{policy:?}: {text}\nfor {value}\nof {}", kind.schema());
                assert_eq!(found(&request.errors), [], "{}", case());
                assert_eq!(Value::Object(request.arguments), value, "{}", case());
                assert_eq!(found(&request.warnings), expected, "{}", case());
            }
        }
    }
    assert!(changes > schemas() * VALUES, "{changes} changes");
}

/// Only the changed value is rejected, at its path.
#[test]
fn strict_rejects_each_change_at_its_path() {
    let mut random = Random::new(24);
    let mut refused = 0;
    for _ in 0..schemas() {
        let kind = kinds::tool(&mut random);
        let registry = registered(&kind);
        for _ in 0..VALUES {
            let value = kind.value(&mut random);
            let mut loosener = Loosener::new(&mut random, 6);
            loosener.most = 1;
            let text = loosener.arguments(&kind, &value);
            let Loosener { expected, silent, .. } = loosener;
            let request = prepare(&registry, text.as_str(), Policy::Strict);
            let (errors, warnings) = (found(&request.errors), found(&request.warnings));
            let case = || format!("{text}\nfor {value}\nof {}", kind.schema());
            match expected.first() {
                None => assert_eq!((errors, warnings), (vec![], vec![]), "{silent}: {}", case()),
                Some((Code::DuplicateKey, _)) => {
                    assert_eq!((errors, warnings), (vec![], expected), "{}", case());
                }
                // An integral number is an integer in any notation.
                Some((Code::NumberCoercedToInteger, _)) => {
                    assert_eq!((errors, warnings), (vec![], vec![]), "{}", case());
                }
                // The key is then unknown, and a required key is missing.
                Some((Code::ParameterNameNormalized, path)) => {
                    let missing = (Code::MissingRequired, path.clone());
                    assert!(errors.is_empty() || errors == [missing], "{errors:?}: {}", case());
                    assert_eq!(warnings.len(), 1, "{warnings:?}: {}", case());
                }
                Some((_, path)) => {
                    refused += 1;
                    let places: Vec<_> = errors.iter().map(|(_, path)| path).collect();
                    assert_eq!((places, warnings), (vec![path], vec![]), "{errors:?}: {}", case());
                }
            }
        }
    }
    assert!(refused > schemas(), "{refused}");
}
