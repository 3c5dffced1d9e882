//! Times several ways of doing the same work side by side: in turn, round after round, so that whatever else the
//! machine does meets all of them alike. The clock counts processor time: on a machine that others use, too, the time
//! on the wall is theirs as much as ours.

use std::time::Duration;

use cpu_time::ThreadTime;

/// The time that one contender works in one round: so short that the machine mostly has the same clock for all of them.
const ROUND: Duration = Duration::from_millis(5);

/// Does the work so many times and says how long that took.
pub type Contender<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

/// A contender that runs here.
pub fn work<'a, T>(mut once: impl FnMut() -> T + 'a) -> Contender<'a> {
    Box::new(move |times| {
        let began = ThreadTime::now();
        for _ in 0..times {
            std::hint::black_box(once());
        }
        began.elapsed()
    })
}

/// The times of one contender for the work done once, in nanoseconds: one figure a round, in the rounds' order.
pub struct Timed(Vec<f64>);

/// Runs them all, `rounds` times.
pub fn side_by_side(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<Timed> {
    let times: Vec<u64> = contenders.iter_mut().map(often_enough).collect();
    let mut timed: Vec<Timed> = contenders.iter().map(|_| Timed(Vec::new())).collect();
    for _ in 0..rounds {
        for ((contender, times), timed) in contenders.iter_mut().zip(&times).zip(&mut timed) {
            timed.0.push(nanoseconds(contender(*times)) / *times as f64);
        }
    }
    timed
}

/// The number of rounds for a text of that size.
pub fn rounds(bytes: usize) -> usize {
    if bytes > 1_000_000 { 9 } else { 205 }
}

/// The number of repetitions that fill a round; counting them warms the work up, too.
fn often_enough(contender: &mut Contender<'_>) -> u64 {
    let mut times = 1;
    loop {
        let took = contender(times);
        if took * 2 >= ROUND {
            return times;
        }
        let grown = ROUND.as_nanos() / took.as_nanos().max(1) * u128::from(times);
        times = u64::try_from(grown)
            .unwrap_or(u64::MAX)
            .clamp(times * 2, times * 100);
    }
}

impl Timed {
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Megabytes a second, and in brackets those of the slower and the faster quarter of the rounds.
    pub fn rate(&self, bytes: usize) -> String {
        let rate = |share| bytes as f64 * 1e3 / self.quantile(share);
        spread([rate(0.5), rate(0.75), rate(0.25)])
    }

    /// The median, and in brackets the lower and the upper quartile.
    #[allow(dead_code, reason = "shown by `benches/peers`, which shares this file")]
    pub fn spread(&self) -> String {
        spread([0.5, 0.25, 0.75].map(|share| self.quantile(share)))
    }

    /// The speed relative to another contender: the median over the rounds.
    pub fn times_as_fast_as(&self, other: &Self) -> f64 {
        other.over(self).median()
    }

    /// The ratios to another's, round by round.
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
        let mut figures = self.0.clone();
        figures.sort_by(f64::total_cmp);
        let place = (figures.len() - 1) as f64 * share;
        figures[place.round() as usize]
    }
}

/// A median, and in brackets the quartiles.
fn spread([median, from, to]: [f64; 3]) -> String {
    format!("{} ({}–{})", short(median), short(from), short(to))
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

/// A figure with as many digits as it deserves.
pub fn short(figure: f64) -> String {
    if figure >= 100.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}
