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

    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * share).round() as usize]
    }

    /// Returns the median, with the lower and the upper quartile in brackets.
    pub fn spread(&self) -> String {
        let [median, lower, upper] = [0.5, 0.25, 0.75].map(|share| short(self.quantile(share)));
        format!("{median} ({lower}–{upper})")
    }

    /// Returns the ratios to other samples by round.
    pub fn over(&self, other: &Self) -> Self {
        self.with(other, |own, other| own / other)
    }

    /// Returns the differences to other samples by round.
    pub fn minus(&self, other: &Self) -> Self {
        self.with(other, |own, other| own - other)
    }

    fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        Self(pairs.map(|(own, other)| combine(*own, *other)).collect())
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(figures: I) -> Self {
        Self(figures.into_iter().collect())
    }
}

/// Writes a number with three digits, or with all digits before the point.
pub fn short(figure: f64) -> String {
    match figure.abs() {
        100.0.. => format!("{figure:.0}"),
        10.0.. => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

/// Prints whether a value meets its target.
pub fn goal(is_met: bool, text: &str) {
    println!("- {}: {text}", if is_met { "met" } else { "**missed**" });
}
