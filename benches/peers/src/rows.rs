//! All ways to call the tool, in the order of the tables.

use crate::row::Row;
use crate::{floors, ours};

/// Number of tools besides the called one.
pub const OTHERS: usize = 9;

pub fn all() -> Vec<Row> {
    let rows = [
        floors::direct(),
        floors::behind_a_map(OTHERS),
        ours::everything_on(OTHERS),
    ];
    rows.into_iter().chain(peers()).collect()
}

#[cfg(feature = "others")]
fn peers() -> Vec<Row> {
    crate::others::rows()
}

#[cfg(not(feature = "others"))]
fn peers() -> Vec<Row> {
    Vec::new()
}
