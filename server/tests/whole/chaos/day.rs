//! What a caller and people do during a run: order, approve, renew, look up, and order again what the record has lost.

use std::time::Duration;

use serde_json::json;
use tallystick_domain::action::{Act, Action, ActionInput};
use tallystick_domain::decision::Verdict;
use tallystick_domain::name::{ActionKey, OperationId, OperationKey, ToolName};
use tallystick_domain::operation::{Failure, State};
use tallystick_domain::permission::Role;
use tallystick_ledger::LedgerError;
use tallystick_ledger::operations::{Examined, Listed, NewProposal};
use tokio::time::Instant;

use super::{Chaos, OUTSIDE, tools};
use crate::scene::actor;

/// For how long somebody tries again who finds the database away.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(100);

/// Asks again for as long as the store is away: the same call under the same key.
pub(super) async fn patiently<T>(ask: impl AsyncFn() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(LedgerError::StoreUnavailable { .. } | LedgerError::Contended) if Instant::now() < until => {
                tokio::time::sleep(AGAIN).await;
            }
            answer => return answer,
        }
    }
}

pub(super) fn tool_of(number: usize) -> &'static str {
    let all = tools();
    all.get(number % (all.len() + 1)).map_or(OUTSIDE, |(name, _)| name)
}

fn order(number: usize) -> NewProposal {
    let key = format!("order-{number}");
    NewProposal {
        key: OperationKey::parse(key.as_str()).unwrap(),
        tool: ToolName::parse(tool_of(number)).unwrap(),
        arguments: json!({"intent": key}).to_string().into_bytes(),
        deadline: None,
        tool_call_id: None,
        step: None,
    }
}

impl Chaos {
    /// The automation has another order.
    pub(super) async fn order(&mut self) {
        let id = self.propose(self.orders).await;
        self.scene.ids.push(id);
        self.orders += 1;
    }

    /// Proposes an order, for the first time or again, and a person approves it; its operation.
    pub(super) async fn propose(&mut self, number: usize) -> OperationId {
        let ledger = self.scene.ledger.clone();
        let robot = actor("robot", Role::Automation);
        let made = patiently(async || ledger.propose_operation(&robot, order(number)).await).await.unwrap();
        if made.operation.row.state == State::Proposed {
            self.press(&made.operation, ActionInput::Approve {}).await;
        }
        made.operation.head.id
    }

    /// As a person would; a refusal is an answer.
    async fn press(&mut self, on: &Listed, input: ActionInput) {
        self.presses += 1;
        let confirmation = on.head.key.as_str().rsplit(':').next().unwrap_or_default().to_owned();
        let act = Act {
            key: ActionKey::parse(format!("press {}", self.presses)).unwrap(),
            input,
            actor: actor("ida", Role::Approver),
            reason: "the order stands".into(),
            confirmation: Some(confirmation),
            seen_version: on.version,
        };
        let ledger = self.scene.ledger.clone();
        let _ = patiently(async || ledger.act(&on.head.id, act.clone()).await).await;
    }

    /// The operations that the record has of all that were ordered.
    pub(super) async fn rows(&self) -> Vec<Listed> {
        let ada = actor("ada", Role::Administrator);
        let mut rows = Vec::new();
        for ids in self.scene.ids.chunks(200) {
            rows.extend(patiently(async || self.scene.ledger.operations_by_id(&ada, ids).await).await.unwrap());
        }
        rows
    }

    pub(super) async fn examined(&self, id: &OperationId) -> Examined {
        let ida = actor("ida", Role::Approver);
        let found = patiently(async || self.scene.ledger.operation(&ida, id).await).await.unwrap();
        found.expect("it is on record")
    }

    /// What an operator would do at the end of the day: renew what ran out, repeat under the same key, look up, give more
    /// attempts once, where the rules offer it. How many are not settled.
    pub(super) async fn operate(&mut self) -> usize {
        let rows = self.rows().await;
        let open: Vec<Listed> = rows.into_iter().filter(|row| !self.is_settled(row)).collect();
        for row in &open {
            let examined = self.examined(&row.head.id).await;
            let may = |action| examined.ruling.on(action).is_some_and(|one| one.verdict <= Verdict::Confirm);
            let input = match row.row.state {
                State::Proposed if may(Action::Approve) => ActionInput::Approve {},
                State::ApprovalExpired if may(Action::Renew) => ActionInput::Renew {},
                State::Uncertain(_) if row.row.claim_at.is_none() && may(Action::Renew) => ActionInput::Renew {},
                // The attempts of one episode are used up, and the key still protects.
                State::Uncertain(_) if row.row.claim_at.is_none() && may(Action::RerunSameKey) => {
                    ActionInput::RerunSameKey {}
                }
                // Once: what the destination refuses for good is not worth more.
                State::Failed(Failure::Budget) | State::Uncertain(_)
                    if may(Action::GrantAttempts) && self.granted.insert(row.head.id.clone()) =>
                {
                    ActionInput::GrantAttempts { attempts: 2, deadline: None }
                }
                State::Uncertain(_) if row.row.look_up_at.is_none() && may(Action::LookUp) => ActionInput::LookUp {},
                State::Failed(Failure::Budget) => {
                    self.granted.insert(row.head.id.clone());
                    continue;
                }
                _ => continue,
            };
            self.press(row, input).await;
        }
        open.len()
    }

    fn is_settled(&self, row: &Listed) -> bool {
        match row.row.state {
            State::Succeeded(_) => true,
            State::Failed(failure) => failure != Failure::Budget || self.granted.contains(&row.head.id),
            _ => false,
        }
    }

    pub(super) async fn set_clock(&self) {
        let micros = i64::try_from(self.scene.offset.as_micros()).unwrap();
        patiently(async || self.scene.ledger.set_clock_offset(micros).await).await.unwrap();
    }
}
