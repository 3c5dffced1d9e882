//! The seeds' tables, one test per row; `rows.txt` lists the rows and `counted.rs` holds the two together.

mod counted;
mod warnings;
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
