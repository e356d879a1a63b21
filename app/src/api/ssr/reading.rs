//! The pages' reads: one use case each, said in `domain::view`'s types.

use tallystick_domain::action::{Action, ActionInput};
use tallystick_domain::decision::{ActionRuling, Verdict};
use tallystick_domain::difference::diff;
use tallystick_domain::evidence::Trust;
use tallystick_domain::json::Json;
use tallystick_domain::name::{ActionKey, DestinationName, OperationId, ToolName};
use tallystick_domain::operation::Record;
use tallystick_domain::permission::Permission;
use tallystick_domain::query::{DeliveryFilter, OperationQuery, PAGE_SIZE, QueryError, QueueQuery};
use tallystick_domain::request::{Names, Wire};
use tallystick_domain::transition::confirmation_text;
use tallystick_domain::view::action::{
    ActionLine, ActionPage, ActionParts, ActionsView, ArgumentsForm, FormView, PreviewView, RefusedView, SecondForm,
    Standing, Typed, action_line, changed_by_api, consequence, followed, request_preview, typed,
};
use tallystick_domain::view::arguments::{AtHand, DifferenceView, arguments_view, difference_view};
use tallystick_domain::view::decision::{decision_view, obstacle, row_name};
use tallystick_domain::view::deliveries::{
    DeliveriesView, DeliveryLine, MatchLine, came_in_words, late_in_words, scheme_words,
};
use tallystick_domain::view::lanes::lanes;
use tallystick_domain::view::list::{
    GroupParts, GroupView, OperationsView, PanelView, QueueView, capped, capped_sum, group_view, reason_chips, row_view,
};
use tallystick_domain::view::operation::{
    EntryView, OperationView, RelativeView, class_words, counts, effect_views, entry_view, key_protection, promises,
};
use tallystick_domain::view::outcomes::number;
use tallystick_domain::view::rules::rule_groups;
use tallystick_domain::view::state::state_badge;
use tallystick_domain::view::timeline::timeline;
use tallystick_domain::view::workspace::{FrameView, PersonView, SettingsView, SourceView, initials, permission_views};
use tallystick_domain::view::{Lens, stake_in_words, target_in_words};
use tallystick_ledger::actions::{ActionRecord, ActionStatus};
use tallystick_ledger::deliveries::{Delivery, DeliveryQuery};
use tallystick_ledger::operations::{Entry, Examined, Listed, QueueGroup};
use tallystick_ledger::restoring::Restore;
use tallystick_ledger::views::Place;

use super::zone::zone_names;
use super::{Reader, bad_name, not_found, set_status, told};
use crate::api::{ApiError, Pairs};

/// Rows of the audit log on a page.
const LOG_PAGE: u32 = 50;
/// Entries of an operation's journal on its page.
const JOURNAL_SHOWN: usize = 50;
/// Arguments that are longer are not given back to be corrected.
const TYPED_BYTES: usize = 64 * 1024;

impl Reader {
    /// What stands around every page.
    pub async fn frame(&self) -> Result<FrameView, ApiError> {
        let waiting = self.ledger.count_waiting(&self.actor).await.map_err(told)?;
        let names = std::collections::BTreeMap::new();
        let lens = self.lens(waiting.as_of, &names);
        let held = self.ledger.restore(&self.actor).await.map_err(told)?.filter(Restore::is_unread);
        Ok(FrameView {
            name: self.actor.name.clone(),
            initials: initials(&self.actor.name),
            role: self.actor.role.name().into(),
            zone: self.zone.name().into(),
            waiting: capped(waiting.count),
            sequence: waiting.sequence.to_string(),
            as_of: lens.moment(waiting.as_of),
            restored_from: held.map(|held| lens.moment(held.backup_at)),
        })
    }

    /// A page of the queue.
    pub async fn queue(&self, pairs: &Pairs) -> Result<QueueView, ApiError> {
        let query = QueueQuery::from_pairs(borrowed(pairs)).map_err(|error| bad_query(&error))?;
        let queue = self.ledger.queue(&self.actor, &query).await.map_err(told)?;
        let names = self.names().await;
        let lens = self.lens(queue.page.as_of, &names);
        let rows: Vec<_> = queue.page.rows.iter().map(|listed| listed_row(listed, &lens)).collect();
        let chosen_id = query.selected.clone().or_else(|| rows.first().map(|row| row.id.clone()));
        // Groups have no row beside which a decision could stand.
        let chosen = match chosen_id.filter(|_| !query.grouped) {
            Some(id) => self.panel(&id, &names).await?.map(|panel| {
                let position = rows.iter().position(|row| row.id == id).and_then(|index| u32::try_from(index + 1).ok());
                PanelView { position, ..panel }
            }),
            None => None,
        };
        let count = |reason| queue.counts.get(&reason).copied().unwrap_or(0);
        let groups = if query.grouped {
            let found = self.ledger.queue_groups(&self.actor, &query).await.map_err(told)?;
            Some((found.groups.iter().map(|group| group_line(group, &lens)).collect(), found.is_cut))
        } else {
            None
        };
        Ok(QueueView {
            total: capped_sum(queue.counts.values().copied()),
            chips: reason_chips(count, query.reason),
            oldest: queue.oldest_since.map(|since| lens.age(since)),
            losing_soon: queue.losing_soon,
            rows,
            next: queue.page.next.clone(),
            as_of: lens.moment(queue.page.as_of),
            sequence: queue.page.sequence.to_string(),
            chosen,
            choosing: self.choosing("queue", pairs, &lens).await?,
            order: query.order,
            groups,
            views: self.views(Place::Queue).await?,
        })
    }

    async fn panel(
        &self,
        id: &str,
        names: &std::collections::BTreeMap<String, String>,
    ) -> Result<Option<PanelView>, ApiError> {
        let Ok(id) = OperationId::parse(id) else { return Ok(None) };
        let Some(examined) = self.ledger.operation(&self.actor, &id).await.map_err(told)? else { return Ok(None) };
        let lens = self.lens(examined.now, names);
        let Some(row) = examined.record.row.as_ref() else { return Ok(None) };
        Ok(Some(PanelView {
            row: row_view(&examined.record.head, row, &lens),
            position: None,
            class: class_words(row.class).into(),
            decision: decision_view(&examined.record, &examined.ruling, &self.actor, &lens),
        }))
    }

    /// A page of all operations.
    pub async fn operations(&self, pairs: &Pairs) -> Result<OperationsView, ApiError> {
        let query = OperationQuery::from_pairs(borrowed(pairs)).map_err(|error| bad_query(&error))?;
        let page = self.ledger.operations(&self.actor, &query).await.map_err(told)?;
        let (tools, destinations) = self.ledger.filter_values(&self.actor).await.map_err(told)?;
        let names = self.names().await;
        let lens = self.lens(page.as_of, &names);
        Ok(OperationsView {
            rows: page.rows.iter().map(|listed| listed_row(listed, &lens)).collect(),
            // A page that is not full and not the last is where looking ended.
            is_partly_searched: page.next.is_some() && page.rows.len() < query.limit.unwrap_or(PAGE_SIZE) as usize,
            next: page.next.clone(),
            as_of: lens.moment(page.as_of),
            sequence: page.sequence.to_string(),
            tools: tools.iter().map(ToString::to_string).collect(),
            destinations: destinations.iter().map(ToString::to_string).collect(),
            narrowed: super::outcomes::narrowed(&query, &lens),
            choosing: self.choosing("operations", pairs, &lens).await?,
            views: self.views(Place::Operations).await?,
        })
    }

    async fn examine(&self, id: &str) -> Result<Examined, ApiError> {
        let id = OperationId::parse(id).map_err(|_| not_found("operation"))?;
        self.ledger.operation(&self.actor, &id).await.map_err(told)?.ok_or_else(|| not_found("operation"))
    }

    /// One operation. The pair `timeline` is how many of its newest entries are passed over.
    pub async fn operation(&self, id: &str, pairs: &Pairs) -> Result<OperationView, ApiError> {
        let examined = self.examine(id).await?;
        let names = self.names().await;
        let sources = self.ledger.sources(&self.actor).await.unwrap_or_default();
        let lens = self.lens(examined.now, &names);
        let (record, outcome) = (&examined.record, &examined.outcome);
        let row = record.row.as_ref().ok_or_else(|| not_found("operation"))?;
        let secrets = secret_fields(&examined);
        let declared = |name: &_| sources.iter().find(|source| source.name == *name).map(|source| source.trust);
        let trust = |name: &_| declared(name).or_else(|| Trust::of_own(name));
        let passed_over = value(pairs, "timeline").and_then(|count| count.parse().ok()).unwrap_or(0);
        let entries = examined.entries.len();
        Ok(OperationView {
            row: row_view(&record.head, row, &lens),
            version: record.version.to_string(),
            class: class_words(row.class).into(),
            tool: record.head.tool.as_ref().map(ToString::to_string),
            fold_rule: outcome.fold_rule.clone(),
            rules: rule_groups(outcome, &examined.ruling),
            counts: counts(row, outcome),
            effects: effect_views(outcome, &lens),
            findings: outcome.findings.iter().map(Into::into).collect(),
            decision: decision_view(record, &examined.ruling, &self.actor, &lens),
            lanes: lanes(&outcome.attempts, &lens),
            timeline: timeline(record, outcome, &secrets, &trust, passed_over, &lens),
            journal: examined
                .entries
                .iter()
                .rev()
                .take(JOURNAL_SHOWN)
                .map(|entry| journal_line(entry, &lens))
                .collect(),
            journal_note: (entries > JOURNAL_SHOWN)
                .then(|| format!("The newest {JOURNAL_SHOWN} of {entries} changes. The raw record has all of them.")),
            arguments: arguments_view(at_hand(&examined), record, &secrets, &lens),
            contract: promises(&outcome.contract),
            verification: tallystick_domain::view::operation::verification_words(&outcome.contract),
            key_protection: key_protection(outcome),
            relatives: examined
                .relatives
                .iter()
                .map(|relative| relative_view(relative.link, &relative.operation))
                .collect(),
            bulks: super::bulk::bulks_of(&examined.bulks, &lens),
            aliases: examined.aliases.iter().map(|(name, source)| format!("{name} in {source}")).collect(),
            as_of: lens.moment(examined.now),
            sequence: examined.sequence.to_string(),
        })
    }

    /// The form of one action.
    pub async fn form(&self, id: &str, action: &str, pairs: &Pairs) -> Result<FormView, ApiError> {
        let action = Action::parse(action).ok_or_else(|| not_found("action"))?;
        let examined = self.examine(id).await?;
        let names = self.names().await;
        let lens = self.lens(examined.now, &names);
        let (record, ruling) = (&examined.record, &examined.ruling);
        let row = record.row.as_ref().ok_or_else(|| not_found("operation"))?;
        let one = ruling.on(action).cloned().unwrap_or_else(|| not_concerned(action));
        let before = match value(pairs, "refused") {
            Some(key) => self.refused_press(key, record).await?,
            None => None,
        };
        let head = &record.head;
        let stake = stake_in_words(row.impact.as_ref());
        let confirm_text =
            matches!(one.verdict, Verdict::Confirm | Verdict::Dual).then(|| confirmation_text(&head.key).to_owned());
        let typed = before.as_ref().map_or_else(Typed::default, |press| typed(&press.act));
        let arguments = (action == Action::ChangeArguments)
            .then(|| arguments_form(&examined, &typed.arguments, confirm_text.is_some()));
        Ok(FormView {
            name: action.name().into(),
            label: action.label().into(),
            operation_id: head.id.to_string(),
            operation_key: head.key.to_string(),
            badge: state_badge(row.state),
            target: target_in_words(
                head.tool.as_ref().map(ToolName::as_str),
                head.destination.as_ref().map(DestinationName::as_str),
            ),
            stake: stake.into_iter().chain([class_words(row.class).to_owned()]).collect::<Vec<_>>().join(" · "),
            consequence: consequence(action, one.verdict),
            verdict: one.verdict,
            why: one.reason.clone(),
            grounds: grounds(&ruling.row, &one),
            obstacle: obstacle(&one, &self.actor),
            needs_reason: action.needs_reason(),
            confirm_text,
            action_key: super::acting::fresh_key()?,
            seen_version: record.version.to_string(),
            typed,
            refused: before.as_ref().map(|press| refused_view(press, &examined, &lens)),
            people: names.iter().map(|(id, name)| (id.clone(), name.clone())).collect(),
            receipts: examined.outcome.effects.iter().map(|effect| effect.receipt.to_string()).collect(),
            findings: findings(&examined),
            arguments,
            preview: matches!(action, Action::Approve | Action::Renew | Action::RerunSameKey)
                .then(|| self.preview(&examined)),
            own_id: self.actor.id.to_string(),
            as_of: lens.moment(examined.now),
        })
    }

    /// The request that goes out: the kept one, or the one that would be made now.
    fn preview(&self, examined: &Examined) -> PreviewView {
        let none = |note: &str| PreviewView { text: None, note: note.to_owned() };
        let secret = examined.outcome.contract.secret_fields.as_deref().unwrap_or_default();
        if let Some(wire) = examined.wire.as_deref().and_then(|bytes| Wire::from_bytes(bytes).ok()) {
            return request_preview(&wire, true, secret);
        }
        let Some(template) = &examined.tool.request else {
            return none("An executor outside builds and sends the request; it is not known here.");
        };
        let face = examined.tool.destination.as_ref().and_then(|name| self.faces.get(name.as_str()));
        let Some(face) = face else {
            return none("The destination is not configured in this process, so nothing can be sent from here.");
        };
        let Some(bytes) = &examined.arguments else { return none("The arguments are too large to show here.") };
        let Ok(arguments) = Json::parse(bytes) else { return none("The arguments do not read as JSON.") };
        let names = Names {
            key: examined.destination_key.as_ref(),
            operation_key: &examined.record.head.key,
            operation_id: &examined.record.head.id,
            receipt: None,
            arguments: &arguments,
            argument_bytes: bytes,
        };
        match template.render(&examined.tool.contract, &names, face) {
            Ok(wire) => request_preview(&wire, false, secret),
            Err(error) => none(&format!("No request can be made: {error}")),
        }
    }

    /// The refused press with this key, if it is one on this operation.
    async fn refused_press(&self, key: &str, record: &Record) -> Result<Option<ActionRecord>, ApiError> {
        let Ok(key) = ActionKey::parse(key) else { return Ok(None) };
        let press = self.ledger.action(&self.actor, &key).await.map_err(told)?;
        Ok(press.filter(|press| press.operation_id == record.head.id && press.status == ActionStatus::Refused))
    }

    /// A page of the audit log.
    pub async fn actions(&self, pairs: &Pairs) -> Result<ActionsView, ApiError> {
        let operation = value(pairs, "operation").and_then(|id| OperationId::parse(id).ok());
        let kind = value(pairs, "action").and_then(Action::parse);
        let page = self
            .ledger
            .actions(&self.actor, operation.as_ref(), kind, value(pairs, "after"), LOG_PAGE)
            .await
            .map_err(told)?;
        let names = self.names().await;
        let lens = self.lens(page.as_of, &names);
        Ok(ActionsView {
            operation: operation.map(|id| {
                let key = page.rows.first().map_or_else(|| id.to_string(), |row| row.operation_key.clone());
                (id.to_string(), key)
            }),
            kind: kind.map(|action| action.name().to_owned()),
            rows: page.rows.iter().map(|record| line(record, &lens)).collect(),
            next: page.next.clone(),
            as_of: lens.moment(page.as_of),
            bulks: if pairs.is_empty() { self.newest_bulks(&lens).await? } else { Vec::new() },
        })
    }

    /// One action's life.
    pub async fn action(&self, key: &str, pairs: &Pairs) -> Result<ActionPage, ApiError> {
        let record = self.action_record(key).await?;
        let examined = self.ledger.operation(&self.actor, &record.operation_id).await.map_err(told)?;
        let names = self.names().await;
        let now = match &examined {
            Some(examined) => examined.now,
            None => self.ledger.now().await.map_err(told)?,
        };
        let lens = self.lens(now, &names);
        let second = match &examined {
            Some(examined) if record.status == ActionStatus::AwaitsSecondPerson => {
                Some(self.second_form(&record, examined)?)
            }
            _ => None,
        };
        let refused = match value(pairs, "refused") {
            Some(key) => self.action_record(key).await.ok().and_then(|press| press.refusal.map(|why| why.to_string())),
            None => None,
        };
        let done_at = record.settled_at.filter(|_| record.status == ActionStatus::Done);
        let followed = examined
            .as_ref()
            .zip(done_at)
            .map(|(examined, at)| followed(record.act.input.action(), at, &examined.record, &examined.outcome, &lens));
        Ok(ActionPage {
            followed,
            line: line(&record, &lens),
            now: examined.and_then(|examined| examined.record.row.map(|row| state_badge(row.state))),
            second,
            as_of: lens.moment(now),
            refused,
        })
    }

    pub(super) async fn action_record(&self, key: &str) -> Result<ActionRecord, ApiError> {
        let key = ActionKey::parse(key).map_err(|error| bad_name(&error))?;
        self.ledger.action(&self.actor, &key).await.map_err(told)?.ok_or_else(|| not_found("action"))
    }

    fn second_form(&self, record: &ActionRecord, examined: &Examined) -> Result<SecondForm, ApiError> {
        let action = record.act.input.action();
        let is_own = record.act.actor.id == self.actor.id;
        let obstacle = if is_own {
            Some("You asked for this. Somebody else must complete it; your tokens count as you.".to_owned())
        } else if self.actor.role.allows(Permission::Act(action)) {
            None
        } else {
            Some(format!("Your role, {}, does not admit this.", self.actor.role.name()))
        };
        Ok(SecondForm {
            seen_version: examined.record.version.to_string(),
            complete_key: super::acting::fresh_key()?,
            decline_key: super::acting::fresh_key()?,
            confirm_text: confirmation_text(&examined.record.head.key).to_owned(),
            obstacle,
            is_own,
        })
    }

    /// A page of deliveries.
    pub async fn deliveries(&self, pairs: &Pairs) -> Result<DeliveriesView, ApiError> {
        let only = DeliveryFilter::from_pairs(borrowed(pairs)).map_err(|error| bad_query(&error))?;
        let query = DeliveryQuery { after: value(pairs, "after").map(str::to_owned), limit: Some(LOG_PAGE), only };
        let page = self.ledger.deliveries(&self.actor, &query).await.map_err(told)?;
        let names = std::collections::BTreeMap::new();
        let lens = self.lens(page.as_of, &names);
        // A page that is not full and not the last is where looking ended.
        let is_partly = page.next.is_some() && page.rows.len() < LOG_PAGE as usize;
        Ok(DeliveriesView {
            searched: is_partly.then(|| number(DeliveryQuery::SEARCHED.into())),
            rows: page.rows.into_iter().map(|one| delivery(one, &lens)).collect(),
            next: page.next,
            only,
        })
    }

    /// The settings.
    pub async fn settings(&self) -> Result<SettingsView, ApiError> {
        let settings = self.ledger.settings().await.map_err(told)?;
        let people = self.ledger.principals(&self.actor).await.map_err(told)?;
        let sources = self.ledger.sources(&self.actor).await.map_err(told)?;
        let names = std::collections::BTreeMap::new();
        let now = self.ledger.now().await.map_err(told)?;
        let lens = self.lens(now, &names);
        let person = |person: &tallystick_ledger::people::Principal| PersonView {
            name: person.name.clone(),
            login: person.login.clone(),
            role: person.role.name().into(),
            since: lens.moment(person.created_at),
            is_reader: person.id == self.actor.id,
        };
        let source = |source: &tallystick_ledger::tools::Source| SourceView {
            name: source.name.to_string(),
            trust: source.trust.name().into(),
            cap: source.trust.cap().name().into(),
            declared_by: source.declared_by.clone(),
            declared_at: lens.moment(source.declared_at),
        };
        Ok(SettingsView {
            zone: settings.zone,
            version: settings.version.to_string(),
            zones: zone_names(),
            people: people.iter().map(person).collect(),
            sources: sources.iter().map(source).collect(),
            role: self.actor.role.name().into(),
            may_administer: self.actor.role.allows(Permission::Administer),
            permissions: permission_views(self.actor.role),
            as_of: lens.moment(now),
        })
    }
}

pub(super) fn borrowed(pairs: &Pairs) -> impl Iterator<Item = (&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The value of one pair; nothing where it is absent or empty.
pub(super) fn value<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    borrowed(pairs).find(|(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value)
}

pub(super) fn bad_query(error: &QueryError) -> ApiError {
    let answer = ApiError::BadAddress { text: format!("{error}.") };
    set_status(&answer);
    answer
}

fn group_line(group: &QueueGroup, lens: &Lens<'_>) -> GroupView {
    let parts = GroupParts {
        tool: group.tool.as_deref(),
        destination: group.destination.as_deref(),
        reason: group.reason,
        cause: group.cause.as_deref(),
        count: group.count,
        span: (group.first, group.last),
    };
    group_view(&parts, lens)
}

fn listed_row(listed: &Listed, lens: &Lens<'_>) -> tallystick_domain::view::list::RowView {
    row_view(&listed.head, &listed.row, lens)
}

fn relative_view(link: &str, operation: &Listed) -> RelativeView {
    RelativeView {
        link: link.into(),
        id: operation.head.id.to_string(),
        key: operation.head.key.to_string(),
        badge: state_badge(operation.row.state),
    }
}

/// What both the declared tool and the stream's own contract hide.
fn secret_fields(examined: &Examined) -> Vec<String> {
    let declared = examined.tool.contract.secret_fields.iter().flatten();
    let told = examined.outcome.contract.secret_fields.iter().flatten();
    declared.chain(told).cloned().collect()
}

fn journal_line(entry: &Entry, lens: &Lens<'_>) -> EntryView {
    entry_view((entry.version, entry.at), &entry.actor, &entry.command, &entry.rules, (entry.from, entry.to), lens)
}

fn refused_view(press: &ActionRecord, examined: &Examined, lens: &Lens<'_>) -> RefusedView {
    let seen = press.act.seen_version;
    let since = examined.entries.iter().filter(|entry| entry.version > seen);
    RefusedView {
        text: press.refusal.as_ref().map_or_else(|| "Refused. Nothing was done.".to_owned(), ToString::to_string),
        is_stale: examined.record.version > seen,
        seen_version: seen.to_string(),
        changes: since.map(|entry| journal_line(entry, lens)).collect(),
        difference: match &press.act.input {
            ActionInput::ChangeArguments { arguments } => typed_difference(examined, arguments),
            _ => None,
        },
    }
}

/// How typed arguments differ from those in force; nothing where one of them cannot be compared here.
fn typed_difference(examined: &Examined, typed: &str) -> Option<DifferenceView> {
    let typed = Json::parse(typed.as_bytes()).ok().filter(|_| typed.len() <= TYPED_BYTES)?;
    let in_force = Json::parse(examined.arguments.as_deref()?).ok()?;
    let mut view = difference_view(&diff(&in_force, &typed), &secret_fields(examined));
    if view.lines.is_empty() {
        view.sentences.push("No field differs.".to_owned());
    }
    Some(view)
}

fn not_concerned(action: Action) -> ActionRuling {
    ActionRuling {
        action,
        verdict: Verdict::NotOffered,
        reason: "It does not concern the state that this operation is in.".into(),
        forbidden_by: Vec::new(),
        overlays: Vec::new(),
        expires_at: None,
    }
}

fn grounds(row: &str, one: &ActionRuling) -> Vec<String> {
    let forbidding = one.forbidden_by.iter().filter(|other| *other != row).map(|other| row_name(other));
    let overlays = one.overlays.iter().map(|overlay| format!("overlay {overlay}"));
    std::iter::once(row_name(row)).chain(forbidding).chain(overlays).collect()
}

fn line(record: &ActionRecord, lens: &Lens<'_>) -> ActionLine {
    let created = record.created.as_ref().map(ToString::to_string);
    let parts = ActionParts {
        key: record.key.as_str(),
        operation_id: record.operation_id.as_str(),
        operation_key: &record.operation_key,
        act: &record.act,
        standing: match record.status {
            ActionStatus::Refused => Standing::Refused,
            ActionStatus::AwaitsSecondPerson => Standing::Awaits,
            ActionStatus::Declined => Standing::Declined,
            ActionStatus::Done => Standing::Done,
        },
        second: record.second.as_ref(),
        refusal: record.refusal.as_ref(),
        at: record.at,
        settled_at: record.settled_at,
        from: record.from,
        to: record.to,
        made_version: record.made_version,
        created: created.as_deref(),
    };
    action_line(&parts, lens)
}

fn delivery(one: Delivery, lens: &Lens<'_>) -> DeliveryLine {
    let (late, is_late) = late_in_words(one.received_at, one.happened_at);
    let matched = one.matched.iter();
    let matched =
        matched.map(|one| MatchLine::new(one.operation_id.as_str(), one.operation_key.as_str(), one.linked_by));
    DeliveryLine {
        webhook: one.webhook.to_string(),
        destination: one.destination.to_string(),
        id: one.id.to_string(),
        event: one.event,
        verified: scheme_words(one.scheme).into(),
        received_at: lens.moment(one.received_at),
        happened_at: one.happened_at.map(|at| lens.moment(at)),
        late,
        is_late,
        came: came_in_words(one.repeats),
        repeated_at: one.repeated_at.map(|at| lens.moment(at)),
        matched: matched.collect(),
    }
}

fn findings(examined: &Examined) -> Vec<(String, String)> {
    examined.outcome.findings.iter().map(|finding| (finding.code.clone(), finding.text.clone())).collect()
}

fn at_hand(examined: &Examined) -> AtHand<'_> {
    let start = || examined.arguments_start.as_deref().map_or(AtHand::Nothing, AtHand::Start);
    examined.arguments.as_deref().map_or_else(start, AtHand::Whole)
}

/// Arguments to be edited: whole and as they are, or not at all. What the tool hides would be lost by editing what is shown.
fn arguments_form(examined: &Examined, typed: &str, needs_confirmation: bool) -> ArgumentsForm {
    let by_api = |why: &str| {
        let record = &examined.record;
        changed_by_api(why, &record.head.id, record.version, needs_confirmation)
    };
    if !secret_fields(examined).is_empty() {
        return by_api("The tool hides fields of these arguments, so they cannot be edited here.");
    }
    let in_force = examined.arguments.clone().and_then(|bytes| String::from_utf8(bytes).ok());
    let typed = Some(typed).filter(|text| !text.is_empty() && text.len() <= TYPED_BYTES).map(str::to_owned);
    // What was typed over arguments that are too large here can only have been a part of them.
    match in_force.map(|text| typed.unwrap_or(text)) {
        Some(text) => ArgumentsForm::Field(text),
        None => by_api("These arguments are too large to be edited here."),
    }
}
