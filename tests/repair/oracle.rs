//! Runs a program in another language, which parses the repaired texts, too.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Deserialize;
use tests::long::long;
use tool_runtime::repair::{Status, repair};

/// Last line of the oracle: the number of cases of each outcome, the shortest wrong cases, and the shortest unrepaired cases.
#[derive(Deserialize)]
pub struct Judged {
    counts: BTreeMap<String, usize>,
    wrong: Vec<(String, String, String)>,
    #[serde(default)]
    refused: Vec<String>,
}

impl Judged {
    pub fn nothing_is_wrong(&self) {
        let shown: Vec<String> = self
            .wrong
            .iter()
            .map(|(text, status, result)| format!("{status}:\n  {text:?}\n  {result:?}"))
            .collect();
        assert!(
            !self.counts.contains_key("wrong"),
            "{:?}\n{}",
            self.counts,
            shown.join("\n")
        );
    }

    pub fn are_read(&self, least: f64) {
        let read = self.share(&["repaired", "valid"]);
        assert!(
            read >= least,
            "only {read:.3} are read: {:?}; not, among others: {:#?}",
            self.counts,
            self.refused
        );
    }

    /// Writes the counts and the share of repaired texts of a long run directly to standard error, since the test harness captures printed
    /// output.
    pub fn report(&self, label: &str) {
        if long() {
            let read = self.share(&["repaired", "valid"]);
            let counts = format!("{label}: {read:.4} are read: {:?}\n", self.counts);
            std::io::stderr().write_all(counts.as_bytes()).unwrap();
        }
    }

    /// Returns the repaired share of the cases that are not excluded.
    #[allow(clippy::cast_precision_loss, reason = "counts of cases")]
    pub fn share(&self, outcomes: &[&str]) -> f64 {
        let of = |outcome: &&str| self.counts.get(*outcome).copied().unwrap_or_default();
        let counted = self
            .counts
            .iter()
            .filter(|(outcome, _)| !outcome.starts_with("excluded"));
        let all: usize = counted.map(|(_, count)| count).sum();
        outcomes.iter().map(of).sum::<usize>() as f64 / all as f64
    }
}

/// Outcome of a text, with the resulting text.
pub type Answer = (Status, String);

pub fn answer_of_the_repair(text: &str) -> Answer {
    let repaired = repair(text);
    (repaired.status, repaired.text.into_owned())
}

/// Writes to standard error that a test is skipped, or fails if no test may be skipped.
pub fn ignored(label: &str) {
    let ignored = format!("\nIGNORED: {label}\n");
    assert!(
        std::env::var_os("REPAIR_TESTS").is_none_or(|said| said != "required"),
        "{ignored}"
    );
    std::io::stderr().write_all(ignored.as_bytes()).unwrap();
}
