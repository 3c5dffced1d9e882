//! Traces the `Deserialize` implementation of a type to find facts that its schema lacks: the order of an enum's
//! variants, and the keys of maps with boolean or character keys.
//!
//! schemars puts documented variants after undocumented variants, and describes only the values of such maps. serde has the declared order
//! and the keys. A type is therefore deserialized from a tracer, which records names and always returns an error, so no value is created.

mod enums;
mod trace_error;
mod findings;
mod key_tracer;
mod tracer;

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::findings::{Findings, RecordFindings};
use self::trace_error::TraceError;
use self::tracer::Tracer;
use super::location::Location;

pub(crate) use enums::{Enums, KeyType, Names, Unreachable};

/// Traces `T`, whose schema is in `root` at a JSON Pointer.
pub(crate) fn find<T: DeserializeOwned>(root: &Value, pointer: &str) -> Enums {
    trace_all(root, pointer, |tracer| T::deserialize(tracer).err())
}

/// Follows every path through a type. `trace` deserializes the type from a tracer, and returns the error at the end of the path. The
/// function is not generic, since generic code is compiled again for each type of a user.
fn trace_all(root: &Value, pointer: &str, trace: fn(Tracer<'_>) -> Option<TraceError>) -> Enums {
    let findings = RefCell::new(Findings::default());
    let mut next = 0;
    let mut paths = vec![Vec::new()];
    while let Some(path) = paths.get(next).cloned() {
        // The result is always an error; the findings are the output.
        let error = trace(Tracer {
            path: &path,
            location: Location::new(root, Some(pointer.to_owned())),
            is_optional: false,
            findings: &findings,
        });
        findings.record_result(error);
        paths.extend((0..findings.take_branches()).map(|branch| [path.as_slice(), &[branch]].concat()));
        next += 1;
    }
    findings.into_inner().enums
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;

    use serde::de::DeserializeOwned;

    use super::{Enums, Names};

    /// Traces a type without a schema.
    fn trace<T: DeserializeOwned>() -> Enums {
        super::find::<T>(&serde_json::Value::Null, "/nowhere")
    }

    fn values_of<T: DeserializeOwned>() -> Vec<Names> {
        trace::<T>().values
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    enum Outer {
        B,
        A(Inner),
        C {
            id: u8,
            list: Vec<Option<Deep>>,
            again: Box<Outer>,
        },
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Inner {
        text: String,
        map: HashMap<String, Letter>,
        next: Option<Box<Inner>>,
    }

    #[derive(Deserialize, PartialEq, Eq, Hash)]
    enum Letter {
        #[serde(rename = "ypsilon")]
        Y,
        X,
    }

    #[derive(Deserialize)]
    enum Deep {
        Two,
        One,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Pair<A, B> {
        one: Wrapped<A>,
        other: Wrapped<B>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Wrapped<T> {
        value: T,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only deserialized")]
    enum StructVariants {
        First { value: Letter },
        Second { value: Deep },
    }

    #[test]
    fn distinguishes_generic_types_and_struct_variants() {
        assert_eq!(
            values_of::<Pair<Letter, Deep>>(),
            [["ypsilon", "X"], ["Two", "One"]]
        );
        assert_eq!(
            values_of::<StructVariants>(),
            [["First", "Second"], ["ypsilon", "X"], ["Two", "One"]]
        );
    }

    /// A type that ignores errors of `T`.
    struct IgnoresErrors<T>(Option<T>);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for IgnoresErrors<T> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(Self(T::deserialize(deserializer).ok()))
        }
    }

    #[test]
    fn visits_types_that_ignore_errors_once() {
        assert_eq!(values_of::<Vec<IgnoresErrors<Letter>>>(), [["ypsilon", "X"]]);
        assert_eq!(
            values_of::<HashMap<String, IgnoresErrors<Letter>>>(),
            [["ypsilon", "X"]]
        );
        assert_eq!(
            values_of::<(IgnoresErrors<Letter>, IgnoresErrors<Deep>)>(),
            [["ypsilon", "X"]]
        );
        assert_eq!(
            values_of::<Wrapped<IgnoresErrors<Vec<IgnoresErrors<Deep>>>>>(),
            [["Two", "One"]]
        );
    }

    #[test]
    fn finds_enums_at_any_depth() {
        let found = values_of::<Option<Outer>>();
        assert_eq!(found, [&["B", "A", "C"][..], &["ypsilon", "X"], &["Two", "One"]]);
        assert!(values_of::<serde_json::Value>().is_empty());
        assert!(values_of::<Vec<(String, u8)>>().is_empty());
    }

    #[test]
    fn separates_enums_of_map_keys() {
        #[derive(Deserialize, PartialEq, Eq, Hash)]
        struct Wrapped(Letter);

        type Map<K> = HashMap<K, Vec<Deep>>;

        let found = trace::<(Vec<Map<Letter>>,)>();
        assert_eq!(found.keys, [["ypsilon", "X"]]);
        assert_eq!(found.values, [["Two", "One"]]);
        assert_eq!(trace::<Map<Wrapped>>().keys, [["ypsilon", "X"]]);
        assert!(trace::<Map<String>>().keys.is_empty());
        assert!(trace::<Outer>().keys.is_empty());
    }

    #[test]
    fn terminates_on_recursive_types() {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only deserialized")]
        struct List(Vec<List>);

        #[derive(Deserialize)]
        #[serde(transparent)]
        #[expect(dead_code, reason = "only deserialized")]
        struct Map {
            map: HashMap<bool, Option<Map>>,
        }

        assert!(values_of::<List>().is_empty() && trace::<Map>().maps.is_empty());
    }

    #[test]
    fn finds_enums_in_maps_with_numeric_and_boolean_keys() {
        assert_eq!(
            values_of::<HashMap<u8, HashMap<bool, Vec<Letter>>>>(),
            [["ypsilon", "X"]]
        );
    }
}
