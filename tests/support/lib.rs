//! What several test suites share.

pub mod instances;
pub mod random;
pub mod schemas;
