//! What several test suites share.

pub mod clock;
pub mod random;
pub mod values;
pub mod schemas;
pub mod instances;
