//! Deliveries: what a destination tells by itself, after its signature was verified at the edge (semantics 1.9, I22).
//!
//! One transaction keeps the delivery under its id, the names it can be found by, and its evidence with every operation
//! that it speaks of. A delivery that comes again changes nothing but its count. One that names no operation on record is
//! kept *unmatched*: whatever later brings a key or a receipt that it names (a dispatch, an outcome, a look-up, an import)
//! links it in its own transaction, because every desk looks for such deliveries when it is saved (see `desk/linking.rs`).
//!
//! The two meet without a gap: both sides take the lock of the name, *after* the rows of the operations, and look for the
//! other side after that. A crash leaves either nothing, and the sender sends again, or all of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use tallystick_domain::delivery::{Envelope, Scheme};
use tallystick_domain::evidence::LinkedBy;
use tallystick_domain::json::Json;
use tallystick_domain::name::{DeliveryId, DestinationName, OperationId, OperationKey, PrincipalId, WebhookName};
use tallystick_domain::permission::{Actor, Permission, Role};
use tallystick_domain::query::DeliveryFilter;
use tallystick_domain::sums::Repeat;
use tallystick_domain::time::Timestamp;

use crate::desk::Desk;
use crate::operations::Page;
use crate::port::Ids;
use crate::store::Tx;
use crate::store::delivery::{Kept, SEARCHED};
use crate::store::list::page_size;
use crate::{Ledger, LedgerError};

/// A delivery whose signature was verified.
#[derive(Debug, Clone)]
pub struct Inbound {
    /// Where it came to.
    pub webhook: WebhookName,
    /// How it was signed.
    pub scheme: Scheme,
    /// The destination that the webhook belongs to.
    pub destination: DestinationName,
    /// What it tells about itself.
    pub envelope: Envelope,
    /// The headers that belong to it, by their lower-case names.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// It is recorded; these operations hold its evidence. None: it is unmatched.
    New(Vec<OperationId>),
    /// It was there already. Nothing changed.
    Repeated,
}

/// A delivery as a list shows it.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Its row's id; sorts by the time of its receipt.
    pub row_id: String,
    /// Where it came to.
    pub webhook: WebhookName,
    /// Its own id.
    pub id: DeliveryId,
    /// How it was signed.
    pub scheme: Scheme,
    /// The destination that the webhook belongs to.
    pub destination: DestinationName,
    /// The type of its event.
    pub event: Option<String>,
    /// When it happened by the destination's clock.
    pub happened_at: Option<Timestamp>,
    /// When it was received first, by ours.
    pub received_at: Timestamp,
    /// How often it came again.
    pub repeats: u32,
    /// When it last came again.
    pub repeated_at: Option<Timestamp>,
    /// The operations that hold its evidence.
    pub matched: Vec<Matched>,
}

/// An operation that holds a delivery's evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// Its id.
    pub operation_id: OperationId,
    /// Its key.
    pub operation_key: OperationKey,
    /// How the delivery was linked to it.
    pub linked_by: LinkedBy,
}

/// Which deliveries.
#[derive(Debug, Clone, Default)]
pub struct DeliveryQuery {
    /// The row after which the page starts.
    pub after: Option<String>,
    /// How many; the usual number where nothing is said.
    pub limit: Option<u32>,
    /// Only these.
    pub only: Option<DeliveryFilter>,
}

impl DeliveryQuery {
    /// How many deliveries one page looks through for those that are looked for.
    pub const SEARCHED: u32 = SEARCHED;
}

impl Ledger {
    /// Records a delivery whose signature was verified by the caller; that is its permission.
    pub async fn receive_delivery(&self, inbound: Inbound) -> Result<Received, LedgerError> {
        let (ids, inbound) = (self.ids(), Arc::new(inbound));
        let received = self.store().write(move |tx| {
            let (ids, inbound) = (Arc::clone(&ids), Arc::clone(&inbound));
            Box::pin(async move { receive(tx, ids.as_ref(), &inbound).await })
        });
        let received = received.await?;
        self.note_change();
        Ok(received)
    }

    /// A page of deliveries, newest first. Where only some are looked for, a page may have fewer rows than asked for and still
    /// name the next one.
    pub async fn deliveries(&self, by: &Actor, query: &DeliveryQuery) -> Result<Page<Delivery>, LedgerError> {
        self.permit(by, Permission::Read, "deliveries").await?;
        let query = Arc::new(query.clone());
        self.store()
            .read(move |tx| {
                let query = Arc::clone(&query);
                Box::pin(async move {
                    let (sequence, as_of) = (tx.newest_sequence().await?, tx.now().await?);
                    let limit = page_size(query.limit);
                    let after = query.after.as_deref();
                    let rows = tx.deliveries_page(after, limit, query.only).await?;
                    let mut page = Page::cut(rows, limit, as_of, sequence, |delivery| delivery.row_id.clone());
                    if page.next.is_none() && query.only.is_some() {
                        page.next = tx.deliveries_searched_to(after).await?;
                    }
                    Ok(page)
                })
            })
            .await
    }
}

/// Who journal entries name that a delivery made.
fn webhook_actor(name: &WebhookName) -> Result<Actor, LedgerError> {
    let corrupt = |error: tallystick_domain::name::NameError| LedgerError::Corrupt { what: error.to_string() };
    let id = PrincipalId::parse("webhook").map_err(corrupt)?;
    Ok(Actor { id, name: format!("Webhook {name}"), role: Role::Automation })
}

async fn receive(tx: &mut Tx, ids: &dyn Ids, inbound: &Inbound) -> Result<Received, LedgerError> {
    let now = tx.now().await?;
    let row_id = ids.new_id(now);
    if !tx.delivery_insert(&row_id, inbound, now).await? {
        tx.delivery_repeat(inbound, now).await?;
        tx.note_repeat(&row_id, Repeat::Delivery, now).await?;
        return Ok(Received::Repeated);
    }
    let Envelope { id, event, happened_at } = inbound.envelope.clone();
    let kept = Kept {
        row_id,
        webhook: inbound.webhook.clone(),
        id,
        destination: inbound.destination.clone(),
        event,
        happened_at,
        received_at: now,
        body: inbound.body.clone(),
    };
    let mut names = BTreeSet::new();
    for tool in tx.tools().await? {
        if tool.destination.as_ref() == Some(&kept.destination) {
            names.extend(names_in(&tool, &kept));
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() {
        return Ok(Received::New(Vec::new()));
    }
    tx.delivery_names_insert(&kept.row_id, &names).await?;
    let actor = webhook_actor(&kept.webhook)?;
    let found = candidates(tx, &names).await?;
    let mut desk = Desk::open(tx, now, &actor).await?;
    desk.lay(&found).await?;
    // From here on nobody else gives one of these names to an operation without seeing this delivery.
    desk.tx.lock_names(names.iter().copied()).await?;
    let found = candidates(desk.tx, &names).await?;
    let matched = desk.link(&found, &[kept]).await?;
    desk.save().await?;
    Ok(Received::New(matched))
}

/// The names that a delivery has for a tool.
pub(crate) fn names_in(tool: &tallystick_domain::tool::Tool, kept: &Kept) -> Vec<String> {
    let named = tool.deliveries.as_ref().and_then(|template| {
        let body = Json::parse(&kept.body).ok()?;
        template.names_in(kept.event.as_deref(), &body)
    });
    named.map(|named| named.all().map(str::to_owned).collect()).unwrap_or_default()
}

/// Operations that one of these names may mean. Which of them are meant, their facts say.
async fn candidates(tx: &mut Tx, names: &[&str]) -> Result<Vec<OperationId>, LedgerError> {
    let mut found: BTreeSet<OperationId> = tx.key_uses(names).await?.into_iter().map(|used| used.op_id).collect();
    found.extend(tx.receipt_uses(names).await?);
    found.extend(tx.operation_ids_by_key(names).await?.into_values());
    // An id is its own name; one that is none is not found.
    found.extend(names.iter().filter_map(|name| OperationId::parse(*name).ok()));
    Ok(found.into_iter().collect())
}
