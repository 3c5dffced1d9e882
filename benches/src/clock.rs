//! Times several implementations of a work in turn, round by round, so that other load affects all of them equally. The clock counts
//! processor time, since elapsed time includes the time of other users of the machine.

use std::time::Duration;

use cpu_time::ThreadTime;

/// Working time of a contender in one round. In such a short time, the frequency of the processor rarely changes between contenders.
const ROUND: Duration = Duration::from_millis(5);

/// Function that repeats a work this many times, and returns the duration.
pub type Contender<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

/// Creates a contender in this process.
pub fn work<'a, T>(mut once: impl FnMut() -> T + 'a) -> Contender<'a> {
    Box::new(move |times| {
        let began = ThreadTime::now();
        for _ in 0..times {
            std::hint::black_box(once());
        }
        began.elapsed()
    })
}

/// Durations of one repetition of a contender in nanoseconds, one for each round.
pub struct Timed(Vec<f64>);

/// Runs all contenders for `rounds` rounds.
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

/// Returns the number of rounds for a text of this size.
pub fn rounds(bytes: usize) -> usize {
    if bytes > 1_000_000 { 9 } else { 205 }
}

/// Returns the number of repetitions that fill a round. Counting them also warms up the work.
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

    /// Returns megabytes per second, with the slower and the faster quartile in brackets.
    pub fn rate(&self, bytes: usize) -> String {
        let rate = |share| bytes as f64 * 1e3 / self.quantile(share);
        spread([rate(0.5), rate(0.75), rate(0.25)])
    }

    /// Returns the median, with the lower and the upper quartile in brackets.
    #[allow(dead_code, reason = "shown by `benches/peers`, which shares this file")]
    pub fn spread(&self) -> String {
        spread([0.5, 0.25, 0.75].map(|share| self.quantile(share)))
    }

    /// Returns the speed relative to another contender, as the median over the rounds.
    pub fn times_as_fast_as(&self, other: &Self) -> f64 {
        other.over(self).median()
    }

    /// Returns the ratios to another contender by round.
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

/// Writes a median with the quartiles in brackets.
fn spread([median, from, to]: [f64; 3]) -> String {
    format!("{} ({}–{})", short(median), short(from), short(to))
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

/// Writes a number with its significant digits.
pub fn short(figure: f64) -> String {
    if figure >= 100.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}
