//! Values, warnings and errors are the same with and without the fast path.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::random::Random;
use tool_runtime::{Policy, RawArguments};

use crate::properties::typed::probe::{Probe, Read};
use crate::properties::typed::{TEXTS, arguments, random_type_count, random_types, texts, types};

/// Types that may be left to the tree, always: enums with data, what several keys of an object decide together, keys
/// of maps that are numbers, keys with escapes, sets, raw text and bytes.
const OFTEN_SLOW: [&str; 22] = [
    "a_result",
    "a_set",
    "adjacent",
    "adjacent_closed",
    "booleans_by_byte",
    "by_wide_integer",
    "closed",
    "everything",
    "expression",
    "external",
    "flat_enum",
    "flat_key",
    "flat_untagged",
    "internal",
    "internal_closed",
    "one_or_many",
    "partly",
    "raw_text",
    "scalar",
    "strings_by_integer",
    "text_as_bytes",
    "untagged",
];

#[test]
fn fast_path_reads_the_same_values() {
    let mut random = Random::new(11);
    let mut differences = Vec::new();
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    for probe in types::probes() {
        for round in 0..texts() {
            // Half as they should be, half with something in them that should not be there.
            let text = arguments(&mut random, &probe, if round % 2 == 0 { 0 } else { 8 });
            let seen = seen.entry(probe.name).or_default();
            differences.extend(in_all_ways(&probe, text, seen));
        }
    }
    none(&differences);
    let slow: Vec<_> = seen
        .iter()
        .filter(|(name, seen)| seen.fast == 0 && !OFTEN_SLOW.contains(name))
        .collect();
    assert!(slow.is_empty(), "never read without a tree: {slow:?}");
    let all = seen.values().fold(Seen::default(), |all, one| Seen {
        fast: all.fast + one.fast,
        without_issues: all.without_issues + one.without_issues,
        with_issues: all.with_issues + one.with_issues,
    });
    assert!(
        all.fast * 2 > all.without_issues && all.with_issues * 5 > all.without_issues,
        "{all:?}: {seen:?}"
    );
}

#[test]
fn fast_path_reads_the_same_values_of_random_types() {
    let mut random = Random::new(13);
    let mut differences = Vec::new();
    let mut seen = Seen::default();
    for _ in 0..random_type_count() {
        let (probe, form) = random_types::probe(&mut random);
        for round in 0..TEXTS {
            let text = arguments(&mut random, &probe, if round % 2 == 0 { 0 } else { 12 });
            let found = in_all_ways(&probe, text, &mut seen);
            differences.extend(found.into_iter().map(|found| format!("{found}\n   of {form:?}")));
        }
    }
    none(&differences);
    assert!(
        seen.fast * 3 > seen.without_issues && seen.with_issues * 10 > seen.without_issues,
        "{seen:?}"
    );
}

/// An outer type may hide the error of an inner one: then nothing shows that the inner one was refused without reason,
/// or that the input was read to its middle only.
#[test]
fn fast_path_reads_the_same_values_where_types_ignore_errors() {
    let mut random = Random::new(15);
    let mut differences = Vec::new();
    let mut seen = Seen::default();
    for probe in types::ignored_errors::probes() {
        for round in 0..texts() {
            let text = arguments(&mut random, &probe, [0, 4, 12][round % 3]);
            differences.extend(in_all_ways(&probe, text, &mut seen));
        }
    }
    none(&differences);
    assert!(seen.fast * 4 > seen.without_issues, "{seen:?}");
}

/// `serde_json` 1.0.154 cuts the first byte off a key that should be a boolean, be the rest UTF-8 or not.
#[test]
fn rejected_boolean_keys_are_reported_whole() {
    let probes = types::probes();
    let probe = |name| {
        probes
            .iter()
            .find(|probe| probe.name == name)
            .expect("it is there")
    };
    for key in ["a", "aé", "é", "🦀"] {
        let text = format!(r#"{{"it":{{"{key}":1.5}},"reader":[true]}}"#);
        for name in ["floats_by_name", "a_value"] {
            let both = Both::read(probe(name), &text.as_str().into(), Policy::Lenient);
            assert!(both.is_fast(), "{name}: {key}");
        }
        let text = format!(r#"{{"it":{{"by_boolean":{{"{key}":1}},"by_number":{{}}}},"reader":[true]}}"#);
        let refused = probe("switches").read(text.as_str(), Policy::Lenient).errors;
        assert_eq!(refused, [format!("invalid_map_key at /it/by_boolean/{key}")]);
    }
}

/// Differences between the ways of reading, from text as from a value, under each policy.
fn in_all_ways(probe: &Probe, text: String, seen: &mut Seen) -> Vec<String> {
    let mut differences = Vec::new();
    let value: Option<RawArguments<'_>> = serde_json::from_str::<Value>(&text).ok().map(Into::into);
    for input in value.into_iter().chain([text.into()]) {
        for policy in [Policy::Lenient, Policy::Strict] {
            let both = Both::read(probe, &input, policy);
            if matches!(input, RawArguments::Text(_)) {
                seen.count(&both);
            }
            differences.extend(both.difference(probe, &input, policy));
        }
    }
    differences
}

/// The readings of one input with and without the fast path.
#[derive(Debug)]
struct Both {
    with: Read,
    without: Read,
}

impl Both {
    fn read(probe: &Probe, input: &RawArguments<'_>, policy: Policy) -> Self {
        Self {
            with: probe.read(input.clone(), policy),
            without: probe.read_without_fast_path(input.clone(), policy),
        }
    }

    /// Whether the fast path made a difference: not in what was read, in what it was read from.
    fn is_fast(&self) -> bool {
        self.with.deserializer != self.without.deserializer
    }

    fn is_silent(&self) -> bool {
        self.with.warnings.is_empty() && self.with.errors.is_empty()
    }

    fn difference(&self, probe: &Probe, input: &RawArguments<'_>, policy: Policy) -> Option<String> {
        let Self { with, without } = self;
        let agree = with.value == without.value
            && with.warnings == without.warnings
            && with.errors == without.errors
            && (!self.is_fast() || self.is_silent());
        (!agree).then(|| {
            format!(
                "{}, {policy:?}: {input:?}\n   with the fast path {with:?}\n   without {without:?}",
                probe.name
            )
        })
    }
}

/// The numbers of texts that were read in each way.
#[derive(Debug, Default)]
struct Seen {
    fast: usize,
    /// Read with nothing to tell, the fast ones included.
    without_issues: usize,
    /// Refused, or read with something to tell.
    with_issues: usize,
}

impl Seen {
    fn count(&mut self, both: &Both) {
        self.fast += usize::from(both.is_fast());
        self.without_issues += usize::from(both.is_silent());
        self.with_issues += usize::from(!both.is_silent());
    }
}

/// Shows the first of many.
#[track_caller]
fn none(differences: &[String]) {
    let shown = &differences[..differences.len().min(20)];
    assert!(
        differences.is_empty(),
        "{}:\n{}",
        differences.len(),
        shown.join("\n")
    );
}
