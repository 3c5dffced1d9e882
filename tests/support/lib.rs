//! Support code of several test suites.

pub mod clock;
pub mod long;
pub mod runtime;
pub mod dynamic_tool;
pub mod random;
pub mod exact_json;
pub mod written;
pub mod deviations;
pub mod values;
pub mod schemas;
pub mod subscriber;
pub mod warnings;
pub mod instances;
pub mod corpus;
pub mod tests_of;
pub mod fault_row;
