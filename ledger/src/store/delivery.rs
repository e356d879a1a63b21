//! Deliveries, the names they can be found by, and the operations they were linked to.

use std::collections::HashMap;

use sqlx::AssertSqlSafe;
use tallystick_domain::delivery::Scheme;
use tallystick_domain::evidence::LinkedBy;
use tallystick_domain::name::{DeliveryId, DestinationName, OperationId, OperationKey, WebhookName};
use tallystick_domain::query::{DeliveryFilter, LATE};
use tallystick_domain::time::Timestamp;

use super::table::{Table, text_keys};
use super::value::{Cells, known, to_json};
use super::{Tx, WORKSPACE};
use crate::LedgerError;
use crate::deliveries::{Delivery, Inbound, Matched};

/// How many deliveries one page looks through.
#[cfg(not(feature = "test-clock"))]
pub(crate) const SEARCHED: u32 = 2_000;
/// Tests need not receive thousands of deliveries to meet the end of what one page looks through.
#[cfg(feature = "test-clock")]
pub(crate) const SEARCHED: u32 = 20;

/// A delivery that is there already leaves everything as it is (I22).
static DELIVERY: Table = Table {
    name: "delivery",
    columns: &[
        "workspace_id",
        "row_id",
        "webhook",
        "delivery_id",
        "scheme",
        "destination",
        "event",
        "happened_at",
        "received_at",
        "headers",
        "body",
        "repeats",
    ],
    on_conflict: "ON CONFLICT (workspace_id, webhook, delivery_id) DO NOTHING",
};
static DELIVERY_NAME: Table = Table {
    name: "delivery_name",
    columns: &["workspace_id", "name", "row_id"],
    on_conflict: "ON CONFLICT (workspace_id, name, row_id) DO NOTHING",
};
static DELIVERY_MATCH: Table = Table {
    name: "delivery_match",
    columns: &["workspace_id", "row_id", "op_id", "linked_by", "matched_at"],
    on_conflict: "ON CONFLICT (workspace_id, row_id, op_id) DO NOTHING",
};
static RECEIPT_USE: Table = Table {
    name: "receipt_use",
    columns: &["workspace_id", "receipt", "op_id", "first_seen_at"],
    on_conflict: "ON CONFLICT (workspace_id, receipt, op_id) DO NOTHING",
};

/// Ids are hexadecimal: everything sorts before a tilde.
const FIRST: &str = "~";

/// Index: `delivery_once`.
const REPEAT: &str = "UPDATE delivery SET repeats = repeats + 1, repeated_at = $1
     WHERE workspace_id = $2 AND webhook = $3 AND delivery_id = $4";
/// Index: primary key of `delivery_name`.
pub(super) const ROWS_BY_NAME: &str = "SELECT DISTINCT row_id FROM delivery_name
     WHERE workspace_id = $1 AND row_id > $2 AND name IN ({keys}) ORDER BY row_id LIMIT $3";
/// Index: primary key of delivery.
pub(super) const KEPT: &str = "SELECT row_id, webhook, delivery_id, destination, event, happened_at, received_at, body
     FROM delivery WHERE workspace_id = $1 AND row_id IN ({keys}) ORDER BY row_id";
/// Index: `delivery_by_destination`.
pub(super) const OF_DESTINATION: &str =
    "SELECT row_id, webhook, delivery_id, destination, event, happened_at, received_at, body FROM delivery
     WHERE workspace_id = $1 AND destination = $2 AND row_id > $3 ORDER BY row_id LIMIT $4";
/// Index: primary key of `receipt_use`.
pub(super) const RECEIPT_USES: &str = "SELECT op_id FROM receipt_use
     WHERE workspace_id = $1 AND receipt IN ({keys}) ORDER BY receipt, op_id";
/// Index: primary key of delivery, from its end.
pub(super) const NEWEST: &str =
    "SELECT row_id, webhook, delivery_id, scheme, destination, event, happened_at, received_at, repeats, repeated_at
     FROM delivery WHERE workspace_id = $1 AND row_id < $2 ORDER BY row_id DESC LIMIT $3";
/// The last of those that one page looks through, if there are more. Index: primary key of delivery, from its end.
pub(super) const SEARCHED_TO: &str = "SELECT row_id FROM delivery WHERE workspace_id = $1 AND row_id < $2
     ORDER BY row_id DESC LIMIT 1 OFFSET $3";
/// Index: primary key of `delivery_match`.
pub(super) const MATCHES: &str = "SELECT m.row_id, m.op_id, o.operation_key, m.linked_by FROM delivery_match AS m
     JOIN operation AS o ON o.workspace_id = m.workspace_id AND o.op_id = m.op_id
     WHERE m.workspace_id = $1 AND m.row_id IN ({keys}) ORDER BY m.row_id, m.op_id";

/// Those of the newest that are looked for. Indexes: primary key of delivery, from its end, and of `delivery_match`.
pub(super) fn filtered(only: DeliveryFilter) -> String {
    let condition = match only {
        DeliveryFilter::Unmatched => {
            "NOT EXISTS (SELECT 1 FROM delivery_match AS m WHERE m.workspace_id = $1 AND m.row_id = newest.row_id)"
                .to_owned()
        }
        DeliveryFilter::Repeated => "repeats > 0".to_owned(),
        DeliveryFilter::Late => format!("received_at - happened_at >= {}", LATE.as_micros()),
    };
    let newest = NEWEST.replace("$3", "$4");
    format!("SELECT * FROM ({newest}) AS newest WHERE {condition} ORDER BY row_id DESC LIMIT $3")
}

/// A delivery as it is read again.
pub(crate) struct Kept {
    pub(crate) row_id: String,
    pub(crate) webhook: WebhookName,
    pub(crate) id: DeliveryId,
    pub(crate) destination: DestinationName,
    pub(crate) event: Option<String>,
    pub(crate) happened_at: Option<Timestamp>,
    pub(crate) received_at: Timestamp,
    pub(crate) body: Vec<u8>,
}

impl Tx {
    /// Keeps a delivery; false if one with its id is there.
    pub(crate) async fn delivery_insert(
        &mut self,
        row_id: &str,
        inbound: &Inbound,
        now: Timestamp,
    ) -> Result<bool, LedgerError> {
        let row = vec![
            WORKSPACE.into(),
            row_id.into(),
            inbound.webhook.as_str().into(),
            inbound.envelope.id.as_str().into(),
            inbound.scheme.name().into(),
            inbound.destination.as_str().into(),
            inbound.envelope.event.as_deref().into(),
            inbound.envelope.happened_at.into(),
            now.into(),
            to_json(&inbound.headers)?.into(),
            inbound.body.as_slice().into(),
            0_i64.into(),
        ];
        let is_new = self.insert(&DELIVERY, vec![row]).await? == 1;
        if is_new {
            self.tell("delivery", row_id, 1);
        }
        Ok(is_new)
    }

    /// Counts a delivery that came again.
    pub(crate) async fn delivery_repeat(&mut self, inbound: &Inbound, now: Timestamp) -> Result<(), LedgerError> {
        let id = inbound.envelope.id.as_str();
        let args = vec![now.into(), WORKSPACE.into(), inbound.webhook.as_str().into(), id.into()];
        if self.execute(REPEAT, args).await? != 1 {
            return Err(LedgerError::Corrupt { what: format!("the delivery {id} is known and not there") });
        }
        self.tell("delivery", id, 2);
        Ok(())
    }

    /// Keeps the names by which a delivery can be found.
    pub(crate) async fn delivery_names_insert(&mut self, row_id: &str, names: &[&str]) -> Result<(), LedgerError> {
        let row = |name: &&str| vec![WORKSPACE.into(), (*name).into(), row_id.into()];
        self.insert(&DELIVERY_NAME, names.iter().map(row).collect()).await.map(|_| ())
    }

    /// A batch of the deliveries that name one of these, the oldest first. As many names as are asked for at once.
    pub(crate) async fn deliveries_naming(
        &mut self,
        names: &[&str],
        after: &str,
        limit: u32,
    ) -> Result<Vec<Kept>, LedgerError> {
        let first = [WORKSPACE.into(), after.into(), limit.into()];
        let rows = self.fetch_for_keys(ROWS_BY_NAME, &first, &text_keys(names.iter().copied())).await?;
        let ids: Vec<String> = rows.into_iter().map(|mut cells| cells.text()).collect::<Result<_, _>>()?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = text_keys(ids.iter().map(String::as_str));
        read_kept(self.fetch_for_keys(KEPT, &[WORKSPACE.into()], &keys).await?)
    }

    /// A batch of the deliveries of a destination.
    pub(crate) async fn deliveries_of_destination(
        &mut self,
        destination: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Kept>, LedgerError> {
        let args = vec![WORKSPACE.into(), destination.into(), after.into(), limit.into()];
        read_kept(self.fetch(OF_DESTINATION, args).await?)
    }

    /// Remembers that a delivery speaks of an operation.
    pub(crate) async fn delivery_match_insert(
        &mut self,
        row_id: &str,
        op_id: &OperationId,
        linked_by: LinkedBy,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = vec![WORKSPACE.into(), row_id.into(), op_id.as_str().into(), linked_by.name().into(), now.into()];
        self.insert(&DELIVERY_MATCH, vec![row]).await.map(|_| ())
    }

    /// Remembers which operations hold which receipts.
    pub(crate) async fn receipt_uses_insert(
        &mut self,
        uses: &[(&str, &OperationId)],
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = |(receipt, id): &(&str, &OperationId)| {
            vec![WORKSPACE.into(), (*receipt).into(), id.as_str().into(), now.into()]
        };
        self.insert(&RECEIPT_USE, uses.iter().map(row).collect()).await.map(|_| ())
    }

    /// Operations that hold one of these receipts.
    pub(crate) async fn receipt_uses(&mut self, receipts: &[&str]) -> Result<Vec<OperationId>, LedgerError> {
        let rows = self.fetch_for_keys(RECEIPT_USES, &[WORKSPACE.into()], &text_keys(receipts.iter().copied())).await?;
        rows.into_iter().map(|mut cells| cells.parsed(OperationId::parse)).collect()
    }

    /// A page of deliveries, newest first, and perhaps one more.
    pub(crate) async fn deliveries_page(
        &mut self,
        after: Option<&str>,
        limit: u32,
        only: Option<DeliveryFilter>,
    ) -> Result<Vec<Delivery>, LedgerError> {
        let mut args = vec![WORKSPACE.into(), after.unwrap_or(FIRST).into(), (limit + 1).into()];
        let rows = match only {
            None => self.fetch(NEWEST, args).await?,
            Some(only) => {
                args.push((SEARCHED + 1).into());
                self.fetch(AssertSqlSafe(filtered(only)), args).await?
            }
        };
        let mut page: Vec<Delivery> = rows.into_iter().map(|mut cells| read(&mut cells)).collect::<Result<_, _>>()?;
        let keys = text_keys(page.iter().map(|delivery| delivery.row_id.as_str()));
        let mut matches: HashMap<String, Vec<Matched>> = HashMap::new();
        for mut cells in self.fetch_for_keys(MATCHES, &[WORKSPACE.into()], &keys).await? {
            let row_id = cells.text()?;
            let (operation_id, operation_key) = (cells.parsed(OperationId::parse)?, cells.parsed(OperationKey::parse)?);
            let linked_by = cells.parsed(known(LinkedBy::parse))?;
            matches.entry(row_id).or_default().push(Matched { operation_id, operation_key, linked_by });
        }
        for delivery in &mut page {
            delivery.matched = matches.remove(&delivery.row_id).unwrap_or_default();
        }
        Ok(page)
    }

    /// The delivery up to which one page looks, if there are more.
    pub(crate) async fn deliveries_searched_to(&mut self, after: Option<&str>) -> Result<Option<String>, LedgerError> {
        let args = vec![WORKSPACE.into(), after.unwrap_or(FIRST).into(), SEARCHED.into()];
        self.fetch_one(SEARCHED_TO, args).await?.map(|mut cells| cells.text()).transpose()
    }
}

fn read_kept(rows: Vec<Cells>) -> Result<Vec<Kept>, LedgerError> {
    rows.into_iter()
        .map(|mut cells| {
            Ok(Kept {
                row_id: cells.text()?,
                webhook: cells.parsed(WebhookName::parse)?,
                id: cells.parsed(DeliveryId::parse)?,
                destination: cells.parsed(DestinationName::parse)?,
                event: cells.text_opt()?,
                happened_at: cells.at_opt()?,
                received_at: cells.at()?,
                body: cells.bytes()?,
            })
        })
        .collect()
}

fn read(cells: &mut Cells) -> Result<Delivery, LedgerError> {
    Ok(Delivery {
        row_id: cells.text()?,
        webhook: cells.parsed(WebhookName::parse)?,
        id: cells.parsed(DeliveryId::parse)?,
        scheme: cells.parsed(known(Scheme::parse))?,
        destination: cells.parsed(DestinationName::parse)?,
        event: cells.text_opt()?,
        happened_at: cells.at_opt()?,
        received_at: cells.at()?,
        repeats: cells.count()?,
        repeated_at: cells.at_opt()?,
        matched: Vec::new(),
    })
}
