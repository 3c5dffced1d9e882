//! [`InvalidUpstream`]: the error of a base URL or an API key.

use std::error::Error;
use std::fmt;

/// Error of an invalid upstream configuration, with advice. Contains no credential.
#[derive(Debug)]
pub struct InvalidUpstream(pub(in crate::upstream) String);

impl fmt::Display for InvalidUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for InvalidUpstream {}
