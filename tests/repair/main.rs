//! Contract of the repair: valid JSON stays unchanged, no text gets a wrong value, results do not depend on chunks, and the time is linear
//! for any input.

// Modules that benches and this suite share, with the names used here.
use tests::{exact_json, written};

mod attacks;
mod calls;
mod calls_random;
mod chunks;
mod corpus;
mod deviations;
mod habits;
mod honest;
mod identity;
mod json5;
mod literal;
mod mutations;
mod oracle;
mod packaging;
mod pieces;
mod python;
mod random;
mod shapes;
mod slips;
mod sloppy;
mod random_tokens;
mod json_spellings;
mod streams;
mod table;
