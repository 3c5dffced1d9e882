use tool_runtime::tool;

/// Does a thing.
#[tool]
async fn act(
    /// A number.
    n0: u8,
    /// A number.
    n1: u8,
    /// A number.
    n2: u8,
    /// A number.
    n3: u8,
    /// A number.
    n4: u8,
    /// A number.
    n5: u8,
    /// A number.
    n6: u8,
    /// A number.
    n7: u8,
    /// A number.
    n8: u8,
    /// A number.
    n9: u8,
    /// A number.
    n10: u8,
    /// A number.
    n11: u8,
    /// A number.
    n12: u8,
    /// A number.
    n13: u8,
    /// A number.
    n14: u8,
    /// A number.
    n15: u8,
    /// A number.
    n16: u8,
    /// A number.
    n17: u8,
    /// A number.
    n18: u8,
    /// A number.
    n19: u8,
    /// A number.
    n20: u8,
) {
    let _ = (n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15, n16, n17, n18, n19, n20);
}

fn main() {}
