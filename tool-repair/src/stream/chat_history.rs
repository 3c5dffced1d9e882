//! What is remembered of each choice of a chat beside the calls that are under way.

/// What became of the calls of one choice.
#[derive(Debug, Default)]
pub(super) struct Past {
    choice: String,
    /// A call was not complete when it ended, or when another one began. One after it that has no `index` of its own may
    /// be more of it, in a stream that says names and ids anew with every piece.
    pub(super) doubtful: bool,
    /// Calls ended: an `index` may be one of theirs.
    pub(super) ended: bool,
    /// The indexes of calls that ended.
    indexes: Vec<String>,
}

/// That of every choice.
#[derive(Debug, Default)]
pub(super) struct Pasts {
    kept: Vec<Past>,
    /// Of all choices above the number that is kept.
    others: Past,
}

impl Pasts {
    /// That of a choice.
    pub(super) fn of(&mut self, choice: &str) -> &mut Past {
        if self.kept.len() < KEPT && self.kept.iter().all(|past| past.choice != choice) {
            self.kept.push(Past {
                choice: choice.to_owned(),
                ..Past::default()
            });
        }
        let mut kept = self.kept.iter_mut();
        kept.find(|past| past.choice == choice)
            .unwrap_or(&mut self.others)
    }

    /// Whether a call of that choice had this index, and ended.
    pub(super) fn knows(&self, choice: &str, index: &str) -> bool {
        let mut pasts = self.kept.iter();
        pasts.any(|past| past.choice == choice && past.indexes.iter().any(|known| known == index))
    }
}

impl Past {
    /// A call ended that had this index.
    pub(super) fn note(&mut self, index: Option<&str>) {
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
