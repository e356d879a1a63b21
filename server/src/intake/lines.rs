//! Cuts a stream of bytes into numbered lines, holding at most one line of the longest length in memory.

use std::mem;

use tallystick_ledger::intake::LINE_LIMIT_BYTES;

use super::LineTooLong;

/// One line with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutLine {
    /// From 1, blank lines counted.
    pub number: u64,
    /// Its bytes without the line break, or that it is too long to be kept.
    pub content: Result<Vec<u8>, LineTooLong>,
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    number: u64,
    begun: Vec<u8>,
    is_too_long: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(LINE_LIMIT_BYTES)
    }
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub const fn with_limit(limit: usize) -> Self {
        Self { limit, number: 1, begun: Vec::new(), is_too_long: false }
    }

    /// Takes a piece of the stream; gives the lines that are complete now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<CutLine> {
        let mut complete = Vec::new();
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.keep(line);
            complete.push(self.cut());
            rest = after.get(1..).unwrap_or_default();
        }
        self.keep(rest);
        complete
    }

    /// The last line, if the stream did not end with a line break.
    pub fn finish(mut self) -> Option<CutLine> {
        (!self.begun.is_empty() || self.is_too_long).then(|| self.cut())
    }

    fn keep(&mut self, part: &[u8]) {
        if self.is_too_long || self.begun.len() + part.len() > self.limit {
            self.is_too_long = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    fn cut(&mut self) -> CutLine {
        let mut line = mem::take(&mut self.begun);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let content = if mem::take(&mut self.is_too_long) { Err(LineTooLong) } else { Ok(line) };
        let number = self.number;
        self.number += 1;
        CutLine { number, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str], limit: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::with_limit(limit);
        let mut out: Vec<_> = pieces.iter().flat_map(|piece| lines.push(piece.as_bytes())).collect();
        out.extend(lines.finish());
        out.into_iter()
            .map(|line| (line.number, line.content.ok().map(|text| String::from_utf8(text).unwrap())))
            .collect()
    }

    #[test]
    fn lines_are_the_same_however_the_stream_is_cut() {
        let whole = cut(&["one\r\n\nthree\nfour"], 10);
        assert_eq!(
            whole,
            [(1, Some("one".into())), (2, Some(String::new())), (3, Some("three".into())), (4, Some("four".into()))]
        );
        assert_eq!(cut(&["o", "ne\r", "\n", "\nthr", "ee\nfour"], 10), whole);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_keeps_its_number() {
        assert_eq!(cut(&["0123", "4567", "89\nok\n"], 5), [(1, None), (2, Some("ok".into()))]);
    }

    #[test]
    fn a_final_line_break_makes_no_further_line() {
        assert_eq!(cut(&["one\n"], 5).len(), 1);
    }
}
