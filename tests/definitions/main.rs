//! What models are told: typed definitions, the seeds' definitions, and every wire format against golden files.

mod attributes;
mod declared;
mod types;
mod unions;
