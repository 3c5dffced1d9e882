//! What models are told: typed definitions, the seeds' definitions, and every wire format against golden files.

mod attributes;
mod declared;
mod golden;
mod random;
mod seeds;
mod six;
mod strict;
mod subset;
mod types;
mod unions;
