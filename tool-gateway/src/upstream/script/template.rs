//! Texts that differ between responses only in their ids.

use bytes::Bytes;

/// A text with positions for ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Template {
    text: Bytes,
    /// Positions in the text, with the indexes of the blocks whose ids belong there.
    ids: Vec<(usize, usize)>,
}

impl Template {
    /// Returns the text for one response. A text without ids is not copied.
    pub(super) fn fill(&self, response: u64) -> Bytes {
        if self.ids.is_empty() {
            return self.text.clone();
        }
        let mut filled = Vec::with_capacity(self.text.len() + 32 * self.ids.len());
        let mut start = 0;
        for &(place, block) in &self.ids {
            filled.extend_from_slice(self.text.get(start..place).unwrap_or_default());
            filled.extend_from_slice(tool_use_id(response, block).as_bytes());
            start = place;
        }
        filled.extend_from_slice(self.text.get(start..).unwrap_or_default());
        filled.into()
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }
}

fn tool_use_id(response: u64, block: usize) -> String {
    format!("toolu_script_{response:04}_{block}")
}

/// Writes a template.
#[derive(Debug, Default)]
pub(super) struct TemplateWriter {
    text: String,
    ids: Vec<(usize, usize)>,
}

impl TemplateWriter {
    pub(super) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends the id of the block with this index.
    pub(super) fn push_id(&mut self, block: usize) {
        self.ids.push((self.text.len(), block));
    }

    pub(super) fn finish(self) -> Template {
        Template {
            text: self.text.into(),
            ids: self.ids,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_the_ids_of_a_response() {
        let mut writer = TemplateWriter::default();
        writer.push_id(0);
        writer.push_str(" and ");
        writer.push_id(2);
        let template = writer.finish();
        assert_eq!(template.fill(7), "toolu_script_0007_0 and toolu_script_0007_2");
        assert_eq!(
            template.fill(12345),
            "toolu_script_12345_0 and toolu_script_12345_2"
        );
    }

    #[test]
    fn copies_nothing_without_ids() {
        let mut writer = TemplateWriter::default();
        writer.push_str("text");
        let template = writer.finish();
        assert_eq!(template.fill(1).as_ptr(), template.fill(2).as_ptr());
    }
}
