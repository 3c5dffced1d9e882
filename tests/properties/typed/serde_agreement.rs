//! Comparison of `Policy::Strict` with serde: values are equal, except where the rules differ intentionally.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::Value;
use tests::random::Random;
use tool_runtime::Policy;

use crate::properties::typed::probe::{Probe, Read};
use crate::properties::typed::rewrite::{self, Integers, Rules};
use crate::properties::typed::{TEXTS, arguments, random_type_count, random_types, texts, types};

#[test]
fn strict_agrees_with_serde() {
    let mut random = Random::new(12);
    let mut differences = Vec::new();
    let mut seen: BTreeMap<Verdict, usize> = BTreeMap::new();
    for probe in types::probes() {
        let oracle = jsonschema::validator_for(&probe.schema).expect("the schema is valid");
        for round in 0..texts() {
            let text = arguments(&mut random, &probe, if round % 2 == 0 { 0 } else { 12 });
            if !rewrite::is_exact(&text) || is_beyond_serde(&probe, &text) {
                continue;
            }
            let read = probe.read(text.as_str(), Policy::Strict);
            let verdict = compare(&probe, &oracle, &text, &read);
            *seen.entry(verdict).or_default() += 1;
            if verdict == Verdict::Differ {
                let plain = probe.plain(&text);
                differences.push(format!(
                    "{}: {text}\n   strict {read:?}\n   serde {plain:?}",
                    probe.name
                ));
            }
        }
    }
    let shown = &differences[..differences.len().min(20)];
    assert!(differences.is_empty(), "{seen:?}:\n{}", shown.join("\n"));
    let count = |verdict| seen.get(&verdict).copied().unwrap_or(0);
    assert!(count(Verdict::Same) > count(Verdict::BothRefuse), "{seen:?}");
    assert!(count(Verdict::BothRefuse) > texts(), "{seen:?}");
}

#[test]
fn strict_agrees_with_serde_on_random_types() {
    let mut random = Random::new(14);
    let mut differences = Vec::new();
    let mut seen: BTreeMap<Verdict, usize> = BTreeMap::new();
    for _ in 0..random_type_count() {
        let (probe, form) = random_types::probe(&mut random);
        let oracle = jsonschema::validator_for(&probe.schema).expect("the schema is valid");
        for round in 0..TEXTS {
            let text = arguments(&mut random, &probe, if round % 2 == 0 { 0 } else { 12 });
            if !rewrite::is_exact(&text) {
                continue;
            }
            let read = probe.read(text.as_str(), Policy::Strict);
            let verdict = compare(&probe, &oracle, &text, &read);
            *seen.entry(verdict).or_default() += 1;
            if verdict == Verdict::Differ {
                let plain = probe.plain(&text);
                differences.push(format!(
                    "{text}\n   strict {read:?}\n   serde {plain:?}\n   of {form:?}"
                ));
            }
        }
    }
    let shown = &differences[..differences.len().min(20)];
    assert!(differences.is_empty(), "{seen:?}:\n{}", shown.join("\n"));
}

/// Texts that serde cannot read, or reads differently for a reason.
fn is_beyond_serde(probe: &Probe, text: &str) -> bool {
    match probe.name {
        // `serde_json` 1.0.154 creates an invalid `&str`: it removes the first byte of a key that should be a boolean.
        "by_boolean" | "switches" => !text.is_ascii(),
        // For a string with escapes, `serde_json` has only a temporary copy. The tree can lend its own string.
        "borrowing" | "borrowings" | "borrowing_struct" => text.contains('\\'),
        // The type requests a string and accepts a number. `serde_json` follows the request, the tree follows the input.
        "hinted" => true,
        _ => false,
    }
}

/// Comparison of two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Both read equal values.
    Same,
    BothRefuse,
    /// Serde accepts a value that the schema does not allow.
    AgainstTheSchema,
    /// Strict accepts a value that serde accepts in another spelling.
    Respelt,
    /// Strict accepts null for an optional value; serde accepts only a missing one.
    NullIsAbsent,
    /// An integer beyond 64 bits.
    Wide,
    /// A blank text where the type allows none, which no keyword describes.
    Blank,
    Differ,
}

fn compare(probe: &Probe, oracle: &Validator, text: &str, strict: &Read) -> Verdict {
    let plain = probe.plain(text);
    let Some(value) = &strict.value else {
        let conforms = || serde_json::from_str::<Value>(text).is_ok_and(|it| oracle.is_valid(&it));
        return match plain {
            Err(_) => Verdict::BothRefuse,
            Ok(_) if !conforms() => Verdict::AgainstTheSchema,
            Ok(_) if strict.errors == ["constraint_violated at /title"] => Verdict::Blank,
            Ok(_)
                if strict
                    .errors
                    .iter()
                    .all(|it| it.starts_with("integer_out_of_range")) =>
            {
                Verdict::Wide
            }
            Ok(_) => Verdict::Differ,
        };
    };
    let unknown = strict
        .warnings
        .iter()
        .filter_map(|it| it.strip_prefix("unknown_"));
    let unknown: Vec<&str> = unknown.filter_map(|it| Some(it.split_once(" at ")?.1)).collect();
    let reads = |drops_nulls, nulls: &[&str]| {
        let without = [&*unknown, nulls].concat();
        [Integers::AsSent, Integers::Zero, Integers::All]
            .into_iter()
            .any(|integers| {
                let rules = Rules {
                    integers,
                    drops_nulls,
                    without: &without,
                };
                let again = rules.applied(text).and_then(|again| probe.plain(&again).ok());
                again.is_some_and(|again| unsigned(&again) == unsigned(value))
            })
    };
    if plain.as_ref() == Ok(value) {
        Verdict::Same
    } else if reads(false, &[]) {
        Verdict::Respelt
    } else if reads(true, &[]) || some_of(&rewrite::nulls(text)).any(|some| reads(false, &some)) {
        Verdict::NullIsAbsent
    } else {
        Verdict::Differ
    }
}

/// Tries each selection of nulls, since one null may mean a missing value and another may be a value. Very large sets are cut.
fn some_of(paths: &[String]) -> impl Iterator<Item = Vec<&str>> {
    let paths = &paths[..paths.len().min(8)];
    (1..1_u32 << paths.len()).map(move |chosen| {
        let places = paths.iter().enumerate();
        let chosen = places.filter(move |(place, _)| chosen & 1 << place != 0);
        chosen.map(|(_, path)| path.as_str()).collect()
    })
}

/// Returns the shown value with unsigned zeros: `-0` may be read as a float or as an integer.
fn unsigned(shown: &str) -> String {
    let zeros = ["-0.0,", "-0.0)", "-0.0]", "-0.0 ", "-0.0}"];
    zeros
        .iter()
        .fold(format!("{shown} "), |shown, zero| shown.replace(zero, &zero[1..]))
}
