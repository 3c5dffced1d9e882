//! [`ChoiceHistories`]: records of the ended calls of each choice.

/// Record of the ended calls of a choice.
#[derive(Debug, Default)]
pub(crate) struct ChoiceHistory {
    choice: String,
    /// Whether a call was incomplete when it ended, or when another call began. A later call without a unique `index`
    /// may continue the incomplete call: some servers repeat the name and change the id with every piece.
    pub(crate) has_incomplete: bool,
    /// Whether calls have ended. Later calls may repeat their `index`.
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
    pub(crate) fn has_ended(&self, choice: &str, index: &str) -> bool {
        let mut histories = self.kept.iter();
        histories
            .any(|history| history.choice == choice && history.indexes.iter().any(|known| known == index))
    }
}

impl ChoiceHistory {
    /// Records the end of a call with this index.
    pub(crate) fn record_end(&mut self, index: Option<&str>) {
        if let Some(index) = index
            && self.indexes.len() < KEPT
            && !self.indexes.iter().any(|known| known == index)
        {
            self.indexes.push(index.to_owned());
        }
    }
}

/// Maximum number of kept choices, and of kept indexes of a choice. No real stream has more.
const KEPT: usize = 256;
