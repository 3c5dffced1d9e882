//! Medians and quartiles.

/// One value for each round, in order.
#[derive(Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the median, with the lower and the upper quartile in brackets.
    pub fn spread(&self) -> String {
        let [median, lower, upper] = [0.5, 0.25, 0.75].map(|share| short(self.quantile(share)));
        format!("{median} ({lower}–{upper})")
    }

    /// Returns the ratios to other samples by round.
    pub fn over(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(own, other)| own / other)
                .collect(),
        )
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * share).round() as usize]
    }
}

/// Writes a number with three digits, or with all digits before the point.
fn short(figure: f64) -> String {
    if figure >= 100.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}
