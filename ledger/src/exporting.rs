//! A list of operations read to its end, or to a limit, a page at a time: whoever writes it out holds one page and no
//! transaction.

use tallystick_domain::permission::Actor;
use tallystick_domain::query::{OperationQuery, PAGE_LIMIT};
use tallystick_domain::time::Timestamp;

use crate::operations::Listed;
use crate::{Ledger, LedgerError};

/// How many pages are read at the most. Under filters a page of a search may have few rows, or none.
const PAGES: u32 = 500;

/// A list that is being read.
pub struct Export {
    ledger: Ledger,
    by: Actor,
    query: OperationQuery,
    rows_left: usize,
    pages_left: u32,
    is_over: bool,
}

/// The next rows of the list.
#[derive(Debug)]
pub struct Piece {
    /// In the order of the list.
    pub rows: Vec<Listed>,
    /// That there are more, and why they are left out. Only the last piece has it.
    pub cut: Option<Cut>,
    /// The record's clock when they were read.
    pub as_of: Timestamp,
}

/// Why a list ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It has as many rows as were asked for.
    Rows,
    /// So many keys were looked through that it was given up.
    Searched,
}

impl Ledger {
    /// The operations that a query finds, from the first on, at most `limit`. Whether the reader may is asked with every page.
    pub fn export_operations(&self, by: &Actor, query: &OperationQuery, limit: u32) -> Export {
        let query = OperationQuery { after: None, limit: Some(PAGE_LIMIT), ..query.clone() };
        Export {
            ledger: self.clone(),
            by: by.clone(),
            query,
            rows_left: limit as usize,
            pages_left: PAGES,
            is_over: false,
        }
    }
}

impl Export {
    /// The next rows; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<Piece>, LedgerError> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.ledger.operations(&self.by, &self.query).await?;
        let mut rows = page.rows;
        // A page that is full to the limit is followed by another look: whether there is more is read, not guessed.
        let is_too_long = rows.len() > self.rows_left;
        rows.truncate(self.rows_left);
        self.rows_left -= rows.len();
        self.pages_left = self.pages_left.saturating_sub(1);
        let cut = match (is_too_long, self.pages_left, &page.next) {
            (true, ..) => Some(Cut::Rows),
            (false, 0, Some(_)) => Some(Cut::Searched),
            (false, ..) => None,
        };
        self.is_over = cut.is_some() || page.next.is_none();
        self.query.after = page.next;
        Ok(Some(Piece { rows, cut, as_of: page.as_of }))
    }
}
