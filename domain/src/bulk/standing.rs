//! Where each item stands, and how many stand where. Accepted, attempted and confirmed are three counts.

use serde::{Deserialize, Serialize};

use super::{Item, Life};
use crate::refusal::Refusal;
use crate::view::action::Reached;

/// Where one item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is to be done and was not begun yet.
    Waiting,
    /// Its action is on record.
    Accepted,
    /// Left out: the operation changed after the preview.
    Changed,
    /// Its action was refused; nothing was done.
    Refused,
    /// Left out at the preview.
    Skipped,
    /// It was to be done, and the bulk action was stopped before.
    NotBegun,
}

impl Standing {
    /// Every standing, in the order of reading.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Accepted, Self::Changed, Self::Refused, Self::Skipped, Self::NotBegun];

    /// Its name in URLs and bodies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Accepted => "accepted",
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
            Self::NotBegun => "not_begun",
        }
    }

    /// The standing with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standing| standing.name() == name)
    }

    /// What its badge says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Accepted => "accepted",
            Self::Changed => "skipped: changed",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
            Self::NotBegun => "not begun",
        }
    }

    /// Of an item with its answer: nothing while it has none, and then why it was refused, if it was.
    pub const fn of(item: &Item, answer: Option<Option<&Refusal>>, life: &Life) -> Self {
        match (answer, &item.skip) {
            (None, Some(_)) => Self::Skipped,
            (None, None) if life.is_over() => Self::NotBegun,
            (None, None) => Self::Waiting,
            (Some(None), _) => Self::Accepted,
            (Some(Some(Refusal::StaleVersion { .. })), _) => Self::Changed,
            (Some(Some(_)), _) => Self::Refused,
        }
    }
}

/// How many items stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// To be done, and not begun yet.
    pub waiting: u32,
    /// On record.
    pub accepted: u32,
    /// On record, and something was sent or asked after it.
    pub attempted: u32,
    /// On record, and there is evidence of an effect.
    pub confirmed: u32,
    /// Left out, because they changed after the preview.
    pub changed: u32,
    /// Refused.
    pub refused: u32,
    /// Left out at the preview.
    pub skipped: u32,
    /// Not begun before the stop.
    pub not_begun: u32,
}

impl Counts {
    /// Counts items.
    pub fn of(items: impl IntoIterator<Item = (Standing, Reached)>) -> Self {
        let mut counts = Self::default();
        for (standing, reached) in items {
            *counts.place(standing) += 1;
            if standing == Standing::Accepted {
                counts.attempted += u32::from(reached.is_attempted);
                counts.confirmed += u32::from(reached.is_confirmed);
            }
        }
        counts
    }

    /// How many stand there.
    pub fn standing(mut self, standing: Standing) -> u32 {
        *self.place(standing)
    }

    const fn place(&mut self, standing: Standing) -> &mut u32 {
        match standing {
            Standing::Waiting => &mut self.waiting,
            Standing::Accepted => &mut self.accepted,
            Standing::Changed => &mut self.changed,
            Standing::Refused => &mut self.refused,
            Standing::Skipped => &mut self.skipped,
            Standing::NotBegun => &mut self.not_begun,
        }
    }
}
