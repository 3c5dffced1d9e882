//! Stack of open containers, one bit per level.

/// Kind of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Array,
    Object,
}

/// Open containers, innermost last.
#[derive(Debug, Clone, Default)]
pub(super) struct Stack {
    depth: usize,
    /// Innermost 64 levels, one bit each. The bit of an object is set; the lowest bit is the innermost level.
    word: u64,
    /// Levels outside of `word`, 64 in each item.
    outer: Vec<u64>,
}

impl Stack {
    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    pub(super) fn push(&mut self, container: Container) {
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.outer.push(self.word);
        }
        self.word = self.word << 1 | u64::from(container == Container::Object);
        self.depth += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.word >>= 1;
        if self.depth.is_multiple_of(64) {
            self.word = self.outer.pop().unwrap_or_default();
        }
    }

    /// Returns the innermost container.
    #[inline]
    pub(super) fn top(&self) -> Option<Container> {
        (self.depth > 0).then(|| container(self.word, 0))
    }

    /// Iterates over the containers from the outermost to the innermost.
    pub(super) fn iter(&self) -> impl Iterator<Item = Container> + '_ {
        let words = self.outer.iter().copied().chain([self.word]);
        words.enumerate().flat_map(|(index, word)| {
            let levels = (self.depth - 64 * index).min(64);
            (0..levels).rev().map(move |level| container(word, level))
        })
    }
}

#[inline]
fn container(word: u64, level: usize) -> Container {
    if word >> level & 1 == 1 {
        Container::Object
    } else {
        Container::Array
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterates_from_the_outermost_container() {
        let kind = |level: usize| [Container::Array, Container::Object][level * level / 3 % 2];
        let mut stack = Stack::default();
        for depth in (0..200).chain((0..200).rev()).chain(0..70) {
            while stack.depth() > depth {
                assert_eq!(stack.top(), Some(kind(stack.depth() - 1)));
                stack.pop();
            }
            while stack.depth() < depth {
                stack.push(kind(stack.depth()));
            }
            assert!(stack.iter().eq((0..depth).map(kind)), "{depth}");
        }
        for _ in 0..100 {
            stack.pop();
        }
        assert_eq!((stack.depth(), stack.top(), stack.iter().count()), (0, None, 0));
    }
}
