//! Runs a program in another language, which reads the repaired texts as well.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Deserialize;
use tests::long::long;
use tool_runtime::repair::{Status, repair};

/// The last line of the oracle: how many cases had which outcome, the shortest that are wrong, and the
/// shortest that are not read.
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

    /// Writes the counts and the share that is read of a long run to stderr: the harness hides what a passing test prints.
    pub fn report(&self, what: &str) {
        if long() {
            let read = self.share(&["repaired", "valid"]);
            let counts = format!("{what}: {read:.4} are read: {:?}\n", self.counts);
            std::io::stderr().write_all(counts.as_bytes()).unwrap();
        }
    }

    /// The part of what is not excluded.
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

/// Outcome of a text, and the resulting text.
pub type Answer = (Status, String);

pub fn answer_of_the_repair(text: &str) -> Answer {
    let repaired = repair(text);
    (repaired.status, repaired.text.into_owned())
}

/// Writes to stderr that something is left out, which is a failure where nothing may be.
pub fn ignored(what: &str) {
    let ignored = format!("\nIGNORED: {what}\n");
    assert!(
        std::env::var_os("REPAIR_TESTS").is_none_or(|said| said != "required"),
        "{ignored}"
    );
    std::io::stderr().write_all(ignored.as_bytes()).unwrap();
}
