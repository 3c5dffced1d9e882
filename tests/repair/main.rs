//! The repair of text that is not JSON, held to its contract: valid JSON untouched, nothing damaged, the same in
//! every chunking, linear, whatever comes.

// What benches and this suite share, under the names that it has here.
use tests::{judge, written};

mod attacks;
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
mod soup;
mod spelt;
mod streams;
mod table;
