//! BLAKE3, for short suffixes of names: <https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf>. The crate
//! `blake3` is much faster, but would add its dependencies for a few hundred bytes at registration.

/// Returns the first four bytes of the hash, in hexadecimal digits.
pub(crate) fn short_hash(input: &[u8]) -> String {
    let root = HashNode::new(input, 0);
    let [first, ..] = compress(
        &root.chaining_value,
        &root.block,
        0,
        root.length,
        root.flags | ROOT,
    );
    format!("{:08x}", first.swap_bytes())
}

const CHUNK_LENGTH: usize = 1024;
const BLOCK_LENGTH: usize = 64;
const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const IV: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

/// The last compression of a chunk or of a pair of subtrees, before its flags are known.
struct HashNode {
    chaining_value: [u32; 8],
    block: [u32; 16],
    counter: u64,
    length: u32,
    flags: u32,
}

impl HashNode {
    /// Hashes a subtree that begins with this chunk.
    fn new(input: &[u8], counter: u64) -> Self {
        if input.len() <= CHUNK_LENGTH {
            return Self::chunk(input, counter);
        }
        // The left subtree is complete: the largest power of two of chunks that leaves a byte for the right one.
        let chunks = (input.len() - 1) / CHUNK_LENGTH;
        let left_chunks = 1 << chunks.ilog2();
        let (left, right) = input.split_at(left_chunks * CHUNK_LENGTH);
        let left = Self::new(left, counter).chaining_value();
        let right = Self::new(right, counter + left_chunks as u64).chaining_value();
        let mut block = [0; 16];
        for (word, value) in block.iter_mut().zip(left.into_iter().chain(right)) {
            *word = value;
        }
        Self {
            chaining_value: IV,
            block,
            counter: 0,
            length: 64,
            flags: PARENT,
        }
    }

    fn chunk(input: &[u8], counter: u64) -> Self {
        let mut node = Self {
            chaining_value: IV,
            block: [0; 16],
            counter,
            length: 0,
            flags: CHUNK_START,
        };
        let mut rest = input;
        while rest.len() > BLOCK_LENGTH {
            let (block, next) = rest.split_at(BLOCK_LENGTH);
            node.fill(block);
            node.chaining_value = node.chaining_value();
            node.flags = 0;
            rest = next;
        }
        node.fill(rest);
        node.flags |= CHUNK_END;
        node
    }

    /// Sets the block, with zeros after the end of the input.
    fn fill(&mut self, bytes: &[u8]) {
        self.block = [0; 16];
        for (word, bytes) in self.block.iter_mut().zip(bytes.chunks(4)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        self.length = u32::try_from(bytes.len()).unwrap_or_default();
    }

    fn chaining_value(&self) -> [u32; 8] {
        compress(
            &self.chaining_value,
            &self.block,
            self.counter,
            self.length,
            self.flags,
        )
    }
}

#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "all indices are constants below 16, and the counter is split into its halves"
)]
fn compress(chaining_value: &[u32; 8], block: &[u32; 16], counter: u64, length: u32, flags: u32) -> [u32; 8] {
    let [c0, c1, c2, c3, c4, c5, c6, c7] = *chaining_value;
    let [i0, i1, i2, i3, ..] = IV;
    let (low, high) = (counter as u32, (counter >> 32) as u32);
    let mut state = [
        c0, c1, c2, c3, c4, c5, c6, c7, i0, i1, i2, i3, low, high, length, flags,
    ];
    let mut words = *block;
    let mut mix = |[a, b, c, d]: [usize; 4], x: u32, y: u32| {
        state[a] = state[a].wrapping_add(state[b]).wrapping_add(x);
        state[d] = (state[d] ^ state[a]).rotate_right(16);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_right(12);
        state[a] = state[a].wrapping_add(state[b]).wrapping_add(y);
        state[d] = (state[d] ^ state[a]).rotate_right(8);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_right(7);
    };
    for _ in 0..7 {
        for column in 0..4 {
            let rows = [column, 4 + column, 8 + column, 12 + column];
            mix(rows, words[2 * column], words[2 * column + 1]);
        }
        for column in 0..4 {
            let diagonal = [
                column,
                4 + (column + 1) % 4,
                8 + (column + 2) % 4,
                12 + (column + 3) % 4,
            ];
            mix(diagonal, words[8 + 2 * column], words[9 + 2 * column]);
        }
        words = PERMUTATION.map(|index| words[index]);
    }
    let [low @ .., _, _, _, _, _, _, _, _] = state;
    let [_, _, _, _, _, _, _, _, high @ ..] = state;
    let mut output = low;
    for (word, high) in output.iter_mut().zip(high) {
        *word ^= high;
    }
    output
}

#[cfg(test)]
mod tests {
    use super::short_hash;

    /// The vectors of the specification have these inputs: bytes that count to 250, of every interesting length.
    #[test]
    fn hashes_the_official_vectors() {
        assert_eq!(short_hash(b""), "af1349b9");
        assert_eq!(short_hash(b"abc"), "6437b3ac");
        for length in [
            1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 3073, 5121, 31_744,
        ] {
            let input: Vec<u8> = (0..=250).cycle().take(length).collect();
            let expected = blake3::hash(&input).to_hex();
            assert_eq!(short_hash(&input), expected[..8], "{length} bytes");
        }
    }
}
