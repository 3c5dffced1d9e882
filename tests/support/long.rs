//! Switches for long test runs: `REPAIR_LONG=1` for the repair, `PROPERTIES_LONG=1` for arguments.

use std::env;
use std::ffi::OsStr;

/// Returns whether to test many more texts to repair.
pub fn long() -> bool {
    is_on(env::var_os("REPAIR_LONG").as_deref())
}

/// Returns whether to test many more schemas, types and arguments.
pub fn properties_long() -> bool {
    is_on(env::var_os("PROPERTIES_LONG").as_deref())
}

/// Returns whether a variable is set to a value other than `0`.
fn is_on(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_and_zero_are_off() {
        for (value, on) in [
            (None, false),
            (Some(""), false),
            (Some("0"), false),
            (Some("1"), true),
            (Some("yes"), true),
        ] {
            assert_eq!(is_on(value.map(OsStr::new)), on, "{value:?}");
        }
    }
}
