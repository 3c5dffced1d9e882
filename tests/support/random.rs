//! Deterministic pseudo-random numbers.

/// `SplitMix64`: a small generator, good enough to select test cases.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
    /// Numbers that are returned first.
    choices: std::collections::VecDeque<u8>,
}

impl Random {
    /// Creates a generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed,
            choices: [].into(),
        }
    }

    /// Creates a generator that returns these numbers first, so that they determine the generated values.
    pub fn of(choices: &[u8]) -> Self {
        Self {
            state: 0,
            choices: Vec::from(choices).into(),
        }
    }

    /// Returns any number.
    pub fn draw(&mut self) -> u64 {
        if let Some(choice) = self.choices.pop_front() {
            return choice.into();
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.draw() % limit as u64).unwrap_or_default()
    }

    /// Returns a number from `least` to `most`, inclusive.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        let width = most.abs_diff(least) + 1;
        least.saturating_add_unsigned(self.draw() % width)
    }

    /// Returns `true` once in `times` calls, on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the choices.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
