//! Definitions for models: typed definitions, and every wire format compared with golden files.

mod assert_definitions;
mod attributes;
mod declared;
mod dialects;
mod flat;
mod golden;
mod random;
mod sample_tools;
mod same_bytes;
mod shared_types;
mod strict;
mod strict_calls;
mod strict_examples;
mod subset;
mod types;
mod unions;
mod unreachable;
