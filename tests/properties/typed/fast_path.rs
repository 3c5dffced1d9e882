//! Values, warnings and errors are equal with and without the fast path.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::random::Random;
use tool_runtime::{Policy, RawArguments};

use crate::properties::typed::probe::{Probe, Read};
use crate::properties::typed::{TEXTS, arguments, random_type_count, random_types, texts, types};

/// Types that may always use the tree: enums with data, types that several keys of an object decide together, maps with number keys, keys
/// with escapes, sets, raw text and bytes.
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
            // Half of the texts are valid, the other half contain an error.
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

/// An outer type may hide the error of an inner type. Then an unnecessary rejection of the inner type, or an incomplete read, is not
/// visible.
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

/// `serde_json` 1.0.154 removes the first byte of a key that should be a boolean, even if the rest is not UTF-8.
#[test]
fn reports_rejected_boolean_keys_completely() {
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

/// Returns differences between the readings, from text and from a value, under each policy.
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

/// Readings of one input with and without the fast path.
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

    /// Returns whether the fast path was used, which changes only the deserializer.
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

/// Numbers of texts by their way of reading.
#[derive(Debug, Default)]
struct Seen {
    fast: usize,
    /// Read without warnings, including fast reads.
    without_issues: usize,
    /// Rejected, or read with warnings.
    with_issues: usize,
}

impl Seen {
    fn count(&mut self, both: &Both) {
        self.fast += usize::from(both.is_fast());
        self.without_issues += usize::from(both.is_silent());
        self.with_issues += usize::from(!both.is_silent());
    }
}

/// Shows the first of many differences.
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
