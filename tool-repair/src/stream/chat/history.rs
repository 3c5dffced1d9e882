//! What is remembered of each choice of a chat beside the calls that are under way.

/// What became of the calls of one choice.
#[derive(Debug, Default)]
pub(crate) struct ChoiceHistory {
    choice: String,
    /// A call was not complete when it ended, or when another one began. One after it that has no `index` of its own may
    /// be more of it, in a stream that says names and ids anew with every piece.
    pub(crate) doubtful: bool,
    /// Calls ended: an `index` may be one of theirs.
    pub(crate) ended: bool,
    /// The indexes of calls that ended.
    indexes: Vec<String>,
}

/// That of every choice.
#[derive(Debug, Default)]
pub(crate) struct ChoiceHistories {
    kept: Vec<ChoiceHistory>,
    /// Of all choices above the number that is kept.
    others: ChoiceHistory,
}

impl ChoiceHistories {
    /// That of a choice.
    pub(crate) fn of(&mut self, choice: &str) -> &mut ChoiceHistory {
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

    /// Whether a call of that choice had this index, and ended.
    pub(crate) fn knows(&self, choice: &str, index: &str) -> bool {
        let mut histories = self.kept.iter();
        histories
            .any(|history| history.choice == choice && history.indexes.iter().any(|known| known == index))
    }
}

impl ChoiceHistory {
    /// A call ended that had this index.
    pub(crate) fn note(&mut self, index: Option<&str>) {
        if let Some(index) = index
            && self.indexes.len() < KEPT
            && !self.indexes.iter().any(|known| known == index)
        {
            self.indexes.push(index.to_owned());
        }
    }
}

/// How many choices are kept, and how many indexes of each: more than a stream has.
const KEPT: usize = 256;
