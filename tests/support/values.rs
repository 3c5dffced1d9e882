//! Random values that do not depend on a schema.

use serde_json::{Number, Value, json};

use super::random::Random;

/// Names of declared properties. No two differ only in case, `_` or `-`, and none is a key of a map. The last name matches a pattern of
/// `patternProperties`.
pub const PROPERTIES: [&str; 6] = ["alpha", "beta_two", "gamma", "delta", "epsilon", "n_th"];

/// Keys that no schema declares. The first two match patterns of `patternProperties`.
pub const KEYS: [&str; 4] = ["n_1", "size", "key-one", "Other"];

/// Returns any value.
pub fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => json!(random.between(-6, 9)),
        1 => number(random),
        2 | 3 => text(random),
        4 => json!(random.one_in(2)),
        5 => Value::Null,
        6 => (0..random.below(4)).map(|_| any(random, depth - 1)).collect(),
        _ => {
            let keys = [PROPERTIES[0], PROPERTIES[2], KEYS[0], KEYS[2], KEYS[3]];
            let keys = keys.into_iter().filter(|_| random.one_in(2)).collect::<Vec<_>>();
            keys.into_iter()
                .map(|key| (key.to_owned(), any(random, depth - 1)))
                .collect()
        }
    }
}

/// Returns a number, usually with a fraction. A number without a fraction is an integer, and whether its point is kept is tested
/// separately.
pub fn number(random: &mut Random) -> Value {
    let quarters = f64::from(i32::try_from(random.between(-8, 12)).unwrap_or_default()) / 4.0;
    match Number::from_f64(quarters) {
        Some(number) if quarters.fract() != 0.0 => Value::Number(number),
        _ => json!(random.between(-2, 3)),
    }
}

/// Returns a number at the limit of a type.
pub fn edge_case_number(random: &mut Random) -> Value {
    let numbers = [
        json!(0.1),
        json!(2.0),
        json!(-0.0),
        json!(1e-7),
        json!(1e300),
        json!(9_007_199_254_740_993_u64),
        json!(9_007_199_254_740_992.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e19),
    ];
    random.pick(&numbers).clone()
}

/// Returns a short text, which may look like another value.
pub fn text(random: &mut Random) -> Value {
    json!(random.pick(&[
        "",
        "a",
        "be",
        "cab",
        "ünï",
        "😀😀",
        "123",
        "7",
        "2.5",
        "true",
        "red",
        "blue",
        "null",
        "[1]",
        "long text"
    ]))
}
