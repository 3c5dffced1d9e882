//! [`NotTaken`]: what a type says against a value that is known to conform, without its words.

use std::fmt::Display;

use serde::de::Error;

use crate::arguments::tokens::{ExpectedToken, LoneSurrogate};

/// The type does not take the value, or the text was not what it was known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not taken")]
pub(in crate::arguments) struct NotTaken;

pub(super) type Taken<T> = Result<T, NotTaken>;

impl Error for NotTaken {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

impl From<ExpectedToken> for NotTaken {
    fn from(_: ExpectedToken) -> Self {
        Self
    }
}

impl From<LoneSurrogate> for NotTaken {
    fn from(_: LoneSurrogate) -> Self {
        Self
    }
}
