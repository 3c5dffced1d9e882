//! [`LineColumn`]: line and column of a byte, counted as editors do.

/// Position of a byte in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineColumn {
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// Number of the column in characters, from 1.
    pub(crate) column: usize,
    /// Offset of the character in bytes, from the start of the text.
    pub(crate) offset: usize,
    /// Offset of the start of the line.
    pub(crate) line_start: usize,
}

impl LineColumn {
    /// Returns the offset in the line.
    pub(crate) fn in_line(&self) -> usize {
        self.offset - self.line_start
    }

    /// Returns the line without its line break.
    pub(crate) fn line_in<'t>(&self, text: &'t str) -> &'t str {
        let rest = text.get(self.line_start..).unwrap_or_default();
        without_return(rest.split('\n').next().unwrap_or_default())
    }

    /// Returns the previous line without its line break, or `None` for the first line.
    pub(crate) fn line_before_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let before = text.get(..self.line_start)?.strip_suffix('\n')?;
        Some(without_return(before.rsplit('\n').next().unwrap_or_default()))
    }
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Finds the lines and columns of ascending offsets, so that the text is read only once.
#[derive(Debug)]
pub(crate) struct LineColumns<'a> {
    text: &'a str,
    last: LineColumn,
}

impl<'a> LineColumns<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            last: LineColumn {
                line: 1,
                column: 1,
                offset: 0,
                line_start: 0,
            },
        }
    }

    /// Returns the position of a byte.
    pub(crate) fn find(&mut self, offset: usize) -> LineColumn {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let between = self.text.get(self.last.offset..offset).unwrap_or_default();
        match between.rfind('\n') {
            Some(end) => {
                self.last.line += between.bytes().filter(|byte| *byte == b'\n').count();
                self.last.line_start = self.last.offset + end + 1;
                self.last.column = 1 + between.get(end + 1..).unwrap_or_default().chars().count();
            }
            None => self.last.column += between.chars().count(),
        }
        self.last.offset = offset.max(self.last.offset);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_columns_from_one() {
        let text = "a写\n\nb";
        let mut columns = LineColumns::new(text);
        let found: Vec<(usize, usize)> = [0, 1, 2, 4, 5, 6, 7, 99]
            .map(|offset| columns.find(offset))
            .map(|place| (place.line, place.column))
            .into();
        assert_eq!(
            found,
            [(1, 1), (1, 2), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2), (3, 2)]
        );
    }
}
