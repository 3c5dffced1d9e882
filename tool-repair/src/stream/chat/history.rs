//! History of each choice of a chat, except for its open calls.

/// Outcomes of the calls of a choice.
#[derive(Debug, Default)]
pub(crate) struct ChoiceHistory {
    choice: String,
    /// Whether a call was incomplete when it ended, or when another call began. A later call without a unique `index`
    /// may continue it, in a stream that repeats names and changes ids with every piece.
    pub(crate) doubtful: bool,
    /// Whether calls have ended, whose `index` may be repeated.
    pub(crate) ended: bool,
    /// Indexes of calls that ended.
    indexes: Vec<String>,
}

/// Histories of all choices.
#[derive(Debug, Default)]
pub(crate) struct ChoiceHistories {
    kept: Vec<ChoiceHistory>,
    /// Common history of all choices beyond the maximum number.
    others: ChoiceHistory,
}

impl ChoiceHistories {
    /// Returns the history of a choice.
    pub(crate) fn get_mut(&mut self, choice: &str) -> &mut ChoiceHistory {
        if self.kept.len() < KEPT && self.kept.iter().all(|history| history.choice != choice) {
            self.kept.push(ChoiceHistory {
                choice: choice.to_owned(),
                ..ChoiceHistory::default()
            });
        }
        let mut kept = self.kept.iter_mut();
        kept.find(|history| history.choice == choice)
            .unwrap_or(&mut self.others)
    }

    /// Returns whether a call of this choice with this index has ended.
    pub(crate) fn knows(&self, choice: &str, index: &str) -> bool {
        let mut histories = self.kept.iter();
        histories
            .any(|history| history.choice == choice && history.indexes.iter().any(|known| known == index))
    }
}

impl ChoiceHistory {
    /// Records the end of a call with this index.
    pub(crate) fn note(&mut self, index: Option<&str>) {
        if let Some(index) = index
            && self.indexes.len() < KEPT
            && !self.indexes.iter().any(|known| known == index)
        {
            self.indexes.push(index.to_owned());
        }
    }
}

/// Maximum number of kept choices, and of indexes of each, more than a stream has.
const KEPT: usize = 256;
