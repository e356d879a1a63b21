//! What the destination has made, what it keeps under keys, and how it is told to behave.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::{Request, Response};
use crate::webhooks::{Event, Order, Webhooks};

/// Which answers are kept under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stores {
    /// Every answer once execution began.
    #[default]
    Any,
    /// Successes only.
    Successes,
    /// None: a key means nothing.
    Nothing,
}

/// What a repeat with another body gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mismatch {
    /// Refused, 422.
    #[default]
    Error,
    /// The old answer.
    Replay,
    /// A second effect.
    Execute,
}

/// What look-ups see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookUps {
    /// Everything, at once.
    #[default]
    Strong,
    /// Everything that is so many milliseconds old.
    Eventual(u64),
    /// 503.
    Down,
}

/// What it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Contract {
    /// Which answers are kept under a key.
    pub stores: Stores,
    /// What a repeat with another body gets.
    pub mismatch: Mismatch,
    /// For how many milliseconds a key is kept; for ever, if nothing is said.
    pub retention_ms: Option<u64>,
    /// What look-ups see.
    pub look_ups: LookUps,
    /// Whether it answers 202 and decides at once, to be asked for later.
    pub accepts: bool,
}

/// One way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "failure")]
pub enum Failure {
    /// The connection is closed before anything is read.
    DropBeforeReading,
    /// The request is read and forgotten; the connection is closed.
    DropUnapplied,
    /// It happens; the connection is closed without an answer.
    ApplyThenDrop,
    /// It happens; the answer comes later.
    ApplyThenDelay {
        /// By so many milliseconds.
        ms: u64,
    },
    /// It happens; what happened is told and taken before the answer goes out.
    TellFirst,
    /// It happens later, whether or not anybody still listens.
    DelayBefore {
        /// By so many milliseconds.
        ms: u64,
    },
    /// It happens once a test lets it go on, whether or not anybody still listens.
    Hold,
    /// It happens; half of the answer's body arrives.
    CutBody,
    /// It happens; the answer is 500.
    ErrorAfterApplying,
    /// It does not happen; the answer is 500.
    ErrorBeforeApplying,
    /// It does not happen; a proxy answers 204.
    NoContent,
    /// It does not happen; 429 with `Retry-After: 1`.
    Throttle,
    /// It does not happen; 402.
    Decline,
    /// It does not happen; 409.
    Conflict,
    /// It does not happen; 503.
    Unavailable,
}

impl Failure {
    const RANDOM: [Self; 11] = [
        Self::DropBeforeReading,
        Self::DropUnapplied,
        Self::ApplyThenDrop,
        Self::ApplyThenDelay { ms: 1_500 },
        Self::DelayBefore { ms: 600 },
        Self::CutBody,
        Self::ErrorAfterApplying,
        Self::ErrorBeforeApplying,
        Self::NoContent,
        Self::Throttle,
        Self::Unavailable,
    ];
}

/// How to behave.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// What it promises.
    pub contract: Contract,
    /// What goes wrong with the next writes, in this order.
    pub failures: VecDeque<Failure>,
    /// Of a thousand writes, how many go wrong at random.
    pub permille: u32,
    /// Where chance begins.
    pub seed: u64,
    /// Whether requests are kept whole, for tests that look at bytes.
    pub keeps_requests: bool,
    /// Where it tells what happened; nowhere, if nothing is said.
    pub webhooks: Option<Webhooks>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

/// What was seen and done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Effects that stand, by intent: made and not cancelled.
    pub effects: BTreeMap<String, u32>,
    /// Effects ever made, by intent.
    pub made: BTreeMap<String, u32>,
    /// Writes that arrived.
    pub writes: u64,
    /// Look-ups that arrived.
    pub look_ups: u64,
    /// How often each event was sent and taken.
    pub told: BTreeMap<String, u32>,
    /// What nobody may ask for: other methods, other places.
    pub violations: Vec<String>,
}

struct Object {
    id: String,
    intent: String,
    key: Option<String>,
    body: Value,
    made_at: Instant,
    is_cancelled: bool,
}

struct Kept {
    body: Vec<u8>,
    response: Option<Response>,
    at: Instant,
    retention: Option<Duration>,
}

pub(crate) struct World {
    plan: Plan,
    chance: u64,
    objects: Vec<Object>,
    kept: HashMap<String, Kept>,
    report: Report,
    seen: Vec<Seen>,
    /// How many events there were.
    events: usize,
    /// Events that are to be sent by themselves.
    due: Vec<Event>,
    /// Events that wait for a test's word, or were not taken.
    waiting: Vec<Event>,
    /// Where requests are held.
    gate: Arc<Notify>,
}

/// What a write asks for.
enum Wish<'a> {
    Make,
    Cancel(&'a str),
    TakeBack,
}

/// What a request that begins meets.
pub(crate) struct Answering {
    pub(crate) failure: Option<Failure>,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        let chance = plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self {
            plan,
            chance,
            objects: Vec::new(),
            kept: HashMap::new(),
            report: Report::default(),
            seen: Vec::new(),
            events: 0,
            due: Vec::new(),
            waiting: Vec::new(),
            gate: Arc::default(),
        }
    }

    pub(crate) fn gate(&self) -> Arc<Notify> {
        Arc::clone(&self.gate)
    }

    pub(crate) fn set_plan(&mut self, plan: Plan) {
        self.plan = plan;
    }

    pub(crate) fn report(&self) -> Report {
        let mut report = self.report.clone();
        for object in &self.objects {
            *report.made.entry(object.intent.clone()).or_default() += 1;
            *report.effects.entry(object.intent.clone()).or_default() += u32::from(!object.is_cancelled);
        }
        report
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.clone()
    }

    /// Notes an event, where anybody is told of it.
    fn tell(&mut self, kind: &str, object: &Value, key: Option<&str>) {
        let Some(webhooks) = &self.plan.webhooks else { return };
        self.events += 1;
        let event = webhooks.event(self.events, kind, object, key);
        if webhooks.wait().is_some() { self.due.push(event) } else { self.waiting.push(event) }
    }

    /// Events that are to be sent now, with where.
    pub(crate) fn take_due(&mut self) -> Option<(Webhooks, Vec<Event>)> {
        let due = std::mem::take(&mut self.due);
        self.plan.webhooks.clone().filter(|_| !due.is_empty()).map(|webhooks| (webhooks, due))
    }

    /// Events that wait, with where they go.
    pub(crate) fn take_waiting(&mut self, order: Order) -> Option<(Webhooks, Vec<Event>)> {
        let mut waiting = std::mem::take(&mut self.waiting);
        if order == Order::Reversed {
            waiting.reverse();
        }
        self.plan.webhooks.clone().map(|webhooks| (webhooks, waiting))
    }

    /// How many events wait.
    pub(crate) fn waits(&self) -> usize {
        self.waiting.len()
    }

    /// An event was sent: taken, or to be sent again.
    pub(crate) fn sent(&mut self, event: Event, is_taken: bool) {
        if is_taken {
            *self.report.told.entry(event.id).or_default() += 1;
        } else if self.waiting.iter().all(|waiting| waiting.id != event.id) {
            self.waiting.push(event);
        }
    }

    /// xorshift64*: the same seed, the same run, as far as requests come in the same order.
    fn draw(&mut self, below: u64) -> u64 {
        self.chance ^= self.chance >> 12;
        self.chance ^= self.chance << 25;
        self.chance ^= self.chance >> 27;
        (self.chance.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % below.max(1)
    }

    /// Whether the next connection is closed unread.
    pub(crate) fn failure_before_reading(&mut self) -> bool {
        let is_next = self.plan.failures.front() == Some(&Failure::DropBeforeReading);
        if is_next {
            self.plan.failures.pop_front();
        }
        is_next
    }

    pub(crate) fn begin(&mut self, request: &Request) -> Answering {
        if self.plan.keeps_requests {
            self.seen.push(Seen { bytes: request.raw.clone() });
        }
        if request.method != "POST" {
            return Answering { failure: None };
        }
        let planned = self.plan.failures.pop_front();
        let goes_wrong = planned.is_none() && self.draw(1_000) < u64::from(self.plan.permille);
        let drawn = if goes_wrong { Failure::RANDOM.get(usize::try_from(self.draw(11)).unwrap_or(0)) } else { None };
        Answering { failure: planned.or(drawn.copied()) }
    }

    /// What happens, and the answer to it; none where the request is forgotten.
    pub(crate) fn carry_out(&mut self, request: &Request, failure: Option<Failure>) -> Option<Response> {
        let path = request.path().to_owned();
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("POST", ["objects"]) => self.write(request, failure, &Wish::Make),
            ("POST", ["objects", id, "cancel"]) => self.write(request, failure, &Wish::Cancel(id)),
            ("POST", ["cancellations"]) => self.write(request, failure, &Wish::TakeBack),
            ("GET", ["objects"]) => Some(self.look_up(request)),
            (method, _) => {
                self.report.violations.push(format!("{method} {}", request.target));
                Some(Response::json(404, &json!({"error": {"code": "no_such_place"}})))
            }
        }
    }

    fn write(&mut self, request: &Request, failure: Option<Failure>, wish: &Wish<'_>) -> Option<Response> {
        self.report.writes += 1;
        let error = |code: &str| json!({"error": {"code": code}});
        match failure {
            Some(Failure::DropBeforeReading | Failure::DropUnapplied) => return None,
            // Before the key layer: nothing is kept.
            Some(Failure::Throttle) => {
                return Some(Response::json(429, &error("too_many")).with("retry-after", "1"));
            }
            Some(Failure::NoContent) => return Some(Response::empty(204)),
            Some(Failure::Unavailable) => return Some(Response::json(503, &error("unavailable"))),
            Some(Failure::Conflict) => return Some(Response::json(409, &error("conflict"))),
            _ => {}
        }
        let key = request.header("idempotency-key").map(str::to_owned);
        if let Some(answer) = key.as_deref().and_then(|key| self.kept_answer(key, &request.body)) {
            return Some(answer);
        }
        let response = match failure {
            Some(Failure::ErrorBeforeApplying) => Response::json(500, &error("failed")),
            Some(Failure::Decline) => Response::json(402, &error("declined")),
            _ => {
                let made = match wish {
                    Wish::Make => self.make(request, key.as_deref()),
                    Wish::Cancel(id) => self.cancel(id),
                    Wish::TakeBack => self.take_back(request),
                };
                if failure == Some(Failure::ErrorAfterApplying) { Response::json(500, &error("failed")) } else { made }
            }
        };
        if let Some(key) = key {
            let is_kept = match self.plan.contract.stores {
                Stores::Any => true,
                Stores::Successes => response.status < 300,
                Stores::Nothing => false,
            };
            if is_kept {
                let retention = request.header("key-kept-ms").and_then(|text| text.parse().ok());
                let retention = retention.map(Duration::from_millis);
                let (body, at) = (request.body.clone(), Instant::now());
                let kept = Kept { body, response: Some(response.clone()), at, retention };
                self.kept.insert(key, kept);
            }
        }
        Some(response)
    }

    fn kept_answer(&mut self, key: &str, body: &[u8]) -> Option<Response> {
        let kept = self.kept.get(key)?;
        let retention = kept.retention.or_else(|| self.plan.contract.retention_ms.map(Duration::from_millis));
        if retention.is_some_and(|retention| kept.at.elapsed() > retention) {
            self.kept.remove(key);
            return None;
        }
        let response = kept.response.clone()?;
        let replayed = || Some(response.clone().with("idempotent-replayed", "true"));
        match self.plan.contract.mismatch {
            _ if kept.body == body => replayed(),
            Mismatch::Replay => replayed(),
            Mismatch::Error => Some(Response::json(422, &json!({"error": {"code": "key_mismatch"}}))),
            Mismatch::Execute => None,
        }
    }

    fn make(&mut self, request: &Request, key: Option<&str>) -> Response {
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return Response::json(400, &json!({"error": {"code": "not_json"}}));
        };
        let intent = body["intent"].as_str().unwrap_or("none").to_owned();
        let id = format!("ob_{}", self.objects.len() + 1);
        let object =
            Object { id, intent, key: key.map(str::to_owned), body, made_at: Instant::now(), is_cancelled: false };
        let shown = shown(&object);
        self.objects.push(object);
        self.tell("object.created", &shown, key);
        if self.plan.contract.accepts {
            return Response::json(202, &json!({"handle": shown["id"]}));
        }
        Response::json(201, &shown)
    }

    fn cancel(&mut self, id: &str) -> Response {
        match self.objects.iter_mut().find(|object| object.id == id) {
            Some(object) if !object.is_cancelled => {
                object.is_cancelled = true;
                let (shown, key) = (shown(object), object.key.clone());
                self.tell("object.cancelled", &shown, key.as_deref());
                Response::json(200, &json!({"id": format!("un_{id}"), "cancels": id}))
            }
            Some(_) => Response::json(409, &json!({"error": {"code": "cancelled_already"}})),
            None => Response::json(404, &json!({"error": {"code": "no_such_object"}})),
        }
    }

    /// Cancels whatever stands of the intent that `undoes` names; where nothing does, that is no fault.
    fn take_back(&mut self, request: &Request) -> Response {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let intent = body["undoes"].as_str().unwrap_or_default();
        let standing = self.objects.iter().filter(|object| object.intent == intent && !object.is_cancelled);
        let ids: Vec<String> = standing.map(|object| object.id.clone()).collect();
        for id in &ids {
            self.cancel(id);
        }
        Response::json(200, &json!({"id": format!("un_{intent}"), "cancels": ids}))
    }

    fn look_up(&mut self, request: &Request) -> Response {
        self.report.look_ups += 1;
        let settled = match self.plan.contract.look_ups {
            LookUps::Down => return Response::json(503, &json!({"error": {"code": "unavailable"}})),
            LookUps::Strong => Duration::ZERO,
            LookUps::Eventual(ms) => Duration::from_millis(ms),
        };
        let (key, reference) = (request.parameter("key"), request.parameter("ref"));
        let fits = |object: &&Object| {
            let by_key = key.as_ref().is_none_or(|key| object.key.as_ref() == Some(key));
            let named = object.body["metadata"]["operation_key"].as_str();
            let by_reference = reference.as_deref().is_none_or(|reference| named == Some(reference));
            by_key && by_reference && object.made_at.elapsed() >= settled
        };
        let found: Vec<Value> = self.objects.iter().filter(fits).map(shown).collect();
        Response::json(200, &json!({"data": found, "has_more": false}))
    }

    /// `GET /control`: the report; `PUT /control`: a new plan.
    pub(crate) fn control(&mut self, request: &Request) -> Response {
        if request.method == "PUT" {
            return match serde_json::from_slice(&request.body) {
                Ok(plan) => {
                    self.set_plan(plan);
                    Response::json(200, &json!({}))
                }
                Err(error) => Response::json(400, &json!({"error": error.to_string()})),
            };
        }
        serde_json::to_value(self.report()).map_or_else(|_| Response::empty(500), |report| Response::json(200, &report))
    }
}

fn shown(object: &Object) -> Value {
    let status = if object.is_cancelled { "cancelled" } else { "succeeded" };
    let mut shown = object.body.clone();
    if let Some(members) = shown.as_object_mut() {
        members.insert("id".into(), json!(object.id));
        members.insert("status".into(), json!(status));
    }
    shown
}
