//! Which containers are open: one bit a level.

/// What a level is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Array,
    Object,
}

/// The open containers, the innermost last.
#[derive(Debug, Clone, Default)]
pub(super) struct Stack {
    words: Vec<u64>,
    depth: usize,
}

impl Stack {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn push(&mut self, container: Container) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.words.len() {
            self.words.push(0);
        }
        if let Some(word) = self.words.get_mut(word) {
            match container {
                Container::Object => *word |= 1 << bit,
                Container::Array => *word &= !(1 << bit),
            }
        }
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The innermost container.
    pub(super) fn top(&self) -> Option<Container> {
        self.get(self.depth.checked_sub(1)?)
    }

    /// The containers from the outermost to the innermost.
    pub(super) fn iter(&self) -> impl Iterator<Item = Container> + '_ {
        (0..self.depth).filter_map(|level| self.get(level))
    }

    fn get(&self, level: usize) -> Option<Container> {
        let word = *self.words.get(level / 64)?;
        Some(if word >> (level % 64) & 1 == 1 {
            Container::Object
        } else {
            Container::Array
        })
    }
}
