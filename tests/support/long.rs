//! Whether the long runs are asked for: `REPAIR_LONG=1` for the repair, `PROPERTIES_LONG=1` for arguments.

use std::env;
use std::ffi::OsStr;

/// Whether to try many more texts to repair than every day.
pub fn long() -> bool {
    is_on(env::var_os("REPAIR_LONG").as_deref())
}

/// Whether to try many more schemas, types and arguments than every day.
pub fn properties_long() -> bool {
    is_on(env::var_os("PROPERTIES_LONG").as_deref())
}

/// Nothing and `0` mean no, whatever else means yes.
fn is_on(said: Option<&OsStr>) -> bool {
    said.is_some_and(|said| !said.is_empty() && said != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_and_zero_are_off() {
        for (said, on) in [
            (None, false),
            (Some(""), false),
            (Some("0"), false),
            (Some("1"), true),
            (Some("yes"), true),
        ] {
            assert_eq!(is_on(said.map(OsStr::new)), on, "{said:?}");
        }
    }
}
