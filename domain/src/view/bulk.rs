//! Bulk actions for reading: choosing rows of a list, the page of one bulk action, and where each item stands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::action::{Reached, consequence};
use super::state::{StateBadge, state_badge};
use super::{Lens, Moment, counted, target_in_words};
use crate::action::{Action, ActionInput};
use crate::bulk::{Bulk, Counts, Filter, Item, Life, Origin, Skip, Standing};
use crate::decision::Verdict;
use crate::name::{DestinationName, PrincipalId, ToolName};
use crate::operation::{Head, Projection, Reason};
use crate::permission::{Actor, Permission};
use crate::refusal::Refusal;

/// Items on one page.
pub const ITEMS_SHOWN: usize = 100;

/// What of a list is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Row by row; all on the page to begin with, or none.
    Rows {
        /// Whether all on the page are chosen to begin with.
        all: bool,
    },
    /// All that match the filter: how many, or too many to be done at once.
    Matching {
        /// How many; nothing, if there are more than a bulk action may name.
        count: Option<u32>,
    },
}

/// What stands above a list for acting on many of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoosingView {
    /// `queue` or `operations`.
    pub list: String,
    /// The list's filter as it is sent along: name and value pairs as JSON.
    pub filter: String,
    /// The same in words; nothing, where the list is not filtered.
    pub filter_words: Vec<String>,
    /// Actions that this reader may do to many: name and label.
    pub actions: Vec<(String, String)>,
    /// People that operations can be assigned to: id and name.
    pub people: Vec<(String, String)>,
    /// The reader's own id.
    pub own_id: String,
    /// What is chosen.
    pub choice: Choice,
}

/// Actions that this reader may do to many; empty for those who only read.
pub fn actions_for_many(reader: &Actor) -> Vec<(String, String)> {
    let may = |action: &Action| action.is_for_many() && reader.role.allows(Permission::Act(*action));
    Action::ALL.iter().copied().filter(may).map(|action| (action.name().into(), action.label().into())).collect()
}

/// A filter in words, one line a condition.
pub fn filter_words(filter: &Filter, lens: &Lens<'_>) -> Vec<String> {
    let word = |(name, value): (&'static str, String)| match name {
        "reason" => format!("reason: {}", Reason::parse(&value).map_or(value.as_str(), |reason| reason.label())),
        "assignee" => format!("owner: {}", PrincipalId::parse(value.as_str()).map_or(value, |id| lens.name(&id))),
        "search" => format!("found by: {value}"),
        "without_key" => "without a key".to_owned(),
        _ => format!("{name}: {value}"),
    };
    filter.to_pairs().into_iter().map(word).collect()
}

/// One item as the record has it, in the parts that a line is made from.
pub struct ItemParts<'a> {
    /// As it was frozen.
    pub item: &'a Item,
    /// What of the operation is fixed.
    pub head: &'a Head,
    /// What its row shows now.
    pub row: &'a Projection,
    /// Where it stands.
    pub standing: Standing,
    /// Why its action was refused.
    pub refusal: Option<&'a Refusal>,
    /// The key of its action, once there is one.
    pub action_key: Option<&'a str>,
    /// What followed.
    pub reached: Reached,
}

/// One item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemLine {
    /// The operation's id.
    pub id: String,
    /// Its key.
    pub key: String,
    /// Tool → destination.
    pub target: String,
    /// Its state now.
    pub badge: StateBadge,
    /// Where the item stands.
    pub standing: Standing,
    /// Why it was left out or refused, or how far it came.
    pub why: Option<String>,
    /// The key of its action, once there is one.
    pub action_key: Option<String>,
}

/// How many items stand somewhere, as a filter of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingChip {
    /// Its value in the URL.
    pub name: String,
    /// What it says.
    pub label: String,
    /// How many.
    pub count: u32,
    /// Whether the list shows only these.
    pub is_chosen: bool,
}

/// What starting needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartForm {
    /// What is confirmed.
    pub hash: String,
    /// Whether a reason must be written.
    pub needs_reason: bool,
    /// Whether the reason is a remark that stays on each timeline.
    pub is_remark: bool,
    /// Until when it may be pressed.
    pub until: Moment,
    /// Why it may not be pressed by this reader, or not any more.
    pub obstacle: Option<String>,
}

/// The page of one bulk action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkView {
    /// Its id.
    pub id: String,
    /// `Look up: 12 of 15 operations`.
    pub title: String,
    /// What is asked of each.
    pub label: String,
    /// `previewed`, `running`, `done` or `aborted`.
    pub state: String,
    /// Whether nothing was done yet.
    pub is_preview: bool,
    /// Whether items are being carried out.
    pub is_running: bool,
    /// What starting does, or did.
    pub consequence: Vec<String>,
    /// What becomes of the list: `12 will be looked up`, `3 are skipped`, each with why.
    pub outlook: Vec<String>,
    /// Where the list came from.
    pub origin: String,
    /// The filter, one line a condition; for reading only.
    pub filter_words: Vec<String>,
    /// Who made it, and when.
    pub by: String,
    /// When the preview was made.
    pub made_at: Moment,
    /// Why it was started.
    pub reason: Option<String>,
    /// When it was started.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// Why it was stopped.
    pub stopped: Option<String>,
    /// Figures: how many, and of what.
    pub figures: Vec<(String, String)>,
    /// How much has its answer, in per cent.
    pub percent: u32,
    /// What starting needs, while it is a preview.
    pub start: Option<StartForm>,
    /// Whether this reader may stop it now.
    pub may_abort: bool,
    /// Filters of the list.
    pub chips: Vec<StandingChip>,
    /// Items on this page.
    pub lines: Vec<ItemLine>,
    /// Where the next page starts.
    pub next: Option<usize>,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change that it shows.
    pub sequence: String,
}

/// One bulk action among others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkLine {
    /// Its id.
    pub id: String,
    /// `Look up: 12 of 15 operations`.
    pub title: String,
    /// `running`, `done` or `aborted`.
    pub state: String,
    /// Who started it.
    pub by: String,
    /// When it was started.
    pub at: Moment,
}

/// One bulk action among others; nothing for a preview, which is its maker's alone.
pub fn bulk_line(bulk: &Bulk, lens: &Lens<'_>) -> Option<BulkLine> {
    Some(BulkLine {
        id: bulk.id.to_string(),
        title: title(bulk),
        state: bulk.life.name().into(),
        by: bulk.by.name.clone(),
        at: lens.moment(bulk.life.started()?.at),
    })
}

fn title(bulk: &Bulk) -> String {
    format!("{}: {} of {}", bulk.input.action().label(), bulk.eligible, operations(bulk.items))
}

/// What of the list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// Only items that stand here.
    pub only: Option<Standing>,
    /// After so many of them.
    pub after: usize,
}

/// The page of one bulk action. `sequence` is the newest change that `items` show.
pub fn bulk_view(
    bulk: &Bulk,
    items: &[ItemParts<'_>],
    shown: Shown,
    reader: &Actor,
    sequence: i64,
    lens: &Lens<'_>,
) -> BulkView {
    let action = bulk.input.action();
    let counts = Counts::of(items.iter().map(|item| (item.standing, item.reached)));
    let chosen: Vec<&ItemParts<'_>> =
        items.iter().filter(|item| shown.only.is_none_or(|only| only == item.standing)).collect();
    let end = shown.after.saturating_add(ITEMS_SHOWN);
    let started = bulk.life.started();
    let is_preview = bulk.life == Life::Previewed;
    let (origin, filter) = origin_words(&bulk.origin);
    BulkView {
        id: bulk.id.to_string(),
        title: title(bulk),
        label: action.label().into(),
        state: bulk.life.name().into(),
        is_preview,
        is_running: matches!(bulk.life, Life::Running(_)),
        consequence: consequence(action, Verdict::Safe),
        outlook: outlook(bulk, items, lens),
        origin,
        filter_words: filter.map(|filter| filter_words(filter, lens)).unwrap_or_default(),
        by: bulk.by.name.clone(),
        made_at: lens.moment(bulk.made_at),
        reason: started.map(|started| started.reason.clone()).filter(|reason| !reason.is_empty()),
        started_at: started.map(|started| lens.moment(started.at)),
        ended_at: bulk.life.ended_at().map(|at| lens.moment(at)),
        stopped: match &bulk.life {
            Life::Aborted { why, .. } => Some(why.phrase()),
            Life::Previewed | Life::Running(_) | Life::Done { .. } => None,
        },
        figures: if is_preview { Vec::new() } else { figures(action, bulk, counts) },
        percent: percent(bulk, counts),
        start: is_preview.then(|| start_form(bulk, reader, lens)),
        may_abort: !bulk.life.is_over() && bulk.abort(reader, lens.now).is_ok(),
        chips: chips(counts, shown.only),
        lines: chosen.iter().skip(shown.after).take(ITEMS_SHOWN).map(|item| line(item, action)).collect(),
        next: (chosen.len() > end).then_some(end),
        as_of: lens.moment(lens.now),
        sequence: sequence.to_string(),
    }
}

fn operations(count: u32) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "operation", "operations")
}

fn origin_words(origin: &Origin) -> (String, Option<&Filter>) {
    let list = |filter: &Filter| match filter {
        Filter::Queue(_) => "in the queue",
        Filter::Operations(_) => "among all operations",
    };
    match origin {
        Origin::Matching { filter } => (format!("All that matched {}", list(filter)), Some(filter)),
        Origin::Chosen { from: Some(filter) } => (format!("Chosen one by one {}", list(filter)), Some(filter)),
        Origin::Chosen { from: None } => ("Named one by one".into(), None),
    }
}

/// What becomes of each eligible operation, after "will be" or "to be".
fn will_be(input: &ActionInput, lens: &Lens<'_>) -> String {
    match input.action() {
        Action::LookUp => "looked up".into(),
        Action::RerunSameKey => "ordered to be sent once more under the same key".into(),
        Action::Assign => format!("assigned to {}", owner(input, lens)),
        Action::Deny => "denied".into(),
        Action::Revoke => "without an approval".into(),
        Action::Cancel => "cancelled".into(),
        Action::Escalate => "escalated".into(),
        Action::Comment => "commented on".into(),
        Action::Approve
        | Action::Renew
        | Action::RerunNew
        | Action::Adopt
        | Action::MarkSucceeded
        | Action::MarkFailed
        | Action::ChangeArguments
        | Action::GrantAttempts
        | Action::AttachEvidence
        | Action::PickVerdict
        | Action::Compensate
        | Action::Waive
        | Action::DismissFinding => format!("acted on ({})", input.action().label()),
    }
}

fn owner(input: &ActionInput, lens: &Lens<'_>) -> String {
    if let ActionInput::Assign { to: Some(to) } = input { lens.name(to) } else { "nobody".into() }
}

/// What the preview says: how many are done, and how many are skipped for each reason.
fn outlook(bulk: &Bulk, items: &[ItemParts<'_>], lens: &Lens<'_>) -> Vec<String> {
    let mut skipped: BTreeMap<String, u32> = BTreeMap::new();
    for skip in items.iter().filter_map(|item| item.item.skip.as_ref()) {
        *skipped.entry(skip.phrase()).or_default() += 1;
    }
    let eligible = items.iter().filter(|item| item.item.skip.is_none()).count();
    let tense = if bulk.life == Life::Previewed { "will be" } else { "to be" };
    let mut lines = vec![format!("{eligible} {tense} {}.", will_be(&bulk.input, lens))];
    let mut skipped: Vec<(String, u32)> = skipped.into_iter().collect();
    skipped.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let verb = |count: u32| if count == 1 { "is" } else { "are" };
    lines.extend(skipped.into_iter().map(|(why, count)| format!("{count} {} skipped. {why}", verb(count))));
    lines
}

/// Accepted, attempted and confirmed are three figures; the last two only where something can follow at a destination.
fn figures(action: Action, bulk: &Bulk, counts: Counts) -> Vec<(String, String)> {
    let mut figures = vec![("Accepted".to_owned(), format!("{} of {}", counts.accepted, bulk.eligible))];
    if action.leads_to_destination() {
        let attempted = if action == Action::LookUp { "Attempted: asked" } else { "Attempted: sent" };
        figures.push((attempted.to_owned(), format!("{} of {}", counts.attempted, counts.accepted)));
        figures.push(("Confirmed by evidence".to_owned(), format!("{} of {}", counts.confirmed, counts.accepted)));
    }
    let others = [
        ("Waiting", counts.waiting),
        ("Skipped: changed since the preview", counts.changed),
        ("Refused", counts.refused),
        ("Skipped at the preview", counts.skipped),
        ("Not begun", counts.not_begun),
    ];
    figures.extend(
        others.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.into(), count.to_string())),
    );
    figures
}

fn percent(bulk: &Bulk, counts: Counts) -> u32 {
    let answered = u64::from(counts.accepted + counts.changed + counts.refused);
    u32::try_from(answered * 100 / u64::from(bulk.eligible.max(1))).unwrap_or(100)
}

fn start_form(bulk: &Bulk, reader: &Actor, lens: &Lens<'_>) -> StartForm {
    let action = bulk.input.action();
    // A reason is typed only later; any one shows what else is in the way.
    let refused = bulk.start(reader, bulk.hash, "a reason", lens.now).err();
    let permission = Permission::Act(action);
    let not_permitted =
        (!reader.role.allows(permission)).then_some(Refusal::NotPermitted { role: reader.role, permission });
    StartForm {
        hash: bulk.hash.to_string(),
        needs_reason: action.needs_reason(),
        is_remark: action == Action::Comment,
        until: lens.moment(bulk.expires_at()),
        obstacle: refused.or(not_permitted).map(|refusal| refusal.to_string()),
    }
}

fn chips(counts: Counts, chosen: Option<Standing>) -> Vec<StandingChip> {
    let chip = |standing: Standing| StandingChip {
        name: standing.name().into(),
        label: standing.label().into(),
        count: counts.standing(standing),
        is_chosen: chosen == Some(standing),
    };
    Standing::ALL.into_iter().map(chip).filter(|chip| chip.count > 0 || chip.is_chosen).collect()
}

fn line(parts: &ItemParts<'_>, action: Action) -> ItemLine {
    let followed = match parts.reached {
        Reached { is_confirmed: true, is_attempted: true } => Some("Attempted, and confirmed by evidence."),
        Reached { is_confirmed: true, is_attempted: false } => Some("Confirmed by evidence; nothing followed it yet."),
        Reached { is_attempted: true, .. } => Some("Attempted; nothing is confirmed yet."),
        Reached { .. } if action.leads_to_destination() => Some("Nothing followed it yet."),
        Reached { .. } => None,
    };
    let followed = followed.filter(|_| parts.standing == Standing::Accepted).map(str::to_owned);
    ItemLine {
        id: parts.item.operation.to_string(),
        key: parts.head.key.to_string(),
        target: target_in_words(
            parts.head.tool.as_ref().map(ToolName::as_str),
            parts.head.destination.as_ref().map(DestinationName::as_str),
        ),
        badge: state_badge(parts.row.state),
        standing: parts.standing,
        why: parts.refusal.map(ToString::to_string).or_else(|| parts.item.skip.as_ref().map(Skip::phrase)).or(followed),
        action_key: parts.action_key.map(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::lens;
    use super::*;
    use crate::permission::Role;
    use crate::query::QueueQuery;

    #[test]
    fn only_those_who_act_are_offered_actions_for_many() {
        let actor = |role| Actor { id: PrincipalId::parse("p").unwrap(), name: "P".into(), role };
        assert!(actions_for_many(&actor(Role::Viewer)).is_empty());
        let operator = actions_for_many(&actor(Role::Operator));
        assert!(operator.contains(&("look_up".into(), "Look up".into())));
        assert!(!operator.iter().any(|(name, _)| name == "deny" || name == "approve"), "{operator:?}");
    }

    #[test]
    fn a_filter_is_told_in_the_words_of_the_page() {
        let names = BTreeMap::from([("olga".to_owned(), "Olga Osei".to_owned())]);
        let query =
            QueueQuery { reason: Some(Reason::TimedOut), assignee: Some("olga".into()), ..QueueQuery::default() };
        let words = filter_words(&Filter::Queue(query), &lens(&names));
        assert_eq!(words, [format!("reason: {}", Reason::TimedOut.label()), "owner: Olga Osei".to_owned()]);
    }

    #[test]
    fn every_action_for_many_says_what_its_operations_will_be() {
        let names = BTreeMap::new();
        for &action in Action::ALL.iter().filter(|action| action.is_for_many()) {
            let input = crate::bulk::input_for_many(action, None).unwrap();
            assert!(!will_be(&input, &lens(&names)).starts_with("acted on"), "{action}");
        }
    }
}
