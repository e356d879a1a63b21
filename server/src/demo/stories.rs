//! What happened today: field reports told again in our own words and values.

use std::time::Duration;

use serde_json::{Value, json};
use tallystick_domain::time::Timestamp;

/// Lines told so many minutes before the start.
struct Tale {
    now: Timestamp,
    lines: Vec<(Timestamp, Vec<u8>)>,
}

impl Tale {
    fn said(&mut self, minutes_ago: f64, event: &str, op: &str, more: &Value) {
        let ago = Duration::from_secs_f64(minutes_ago * 60.0);
        let micros = i64::try_from(ago.as_micros()).unwrap_or(0);
        let at = Timestamp::from_micros(self.now.as_micros() - micros);
        let mut line = json!({"ts": at.to_string(), "ev": event, "op": op});
        if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
            line.extend(more.clone());
        }
        self.lines.push((at, line.to_string().into_bytes()));
    }

    fn proposed(&mut self, minutes_ago: f64, op: &str, key: &str, tool: (&str, &str), args: &Value) {
        let more = json!({"key": key, "tool": tool.0, "dest": tool.1, "effect": "unsafe_write", "args": args});
        self.said(minutes_ago, "operation.proposed", op, &more);
        self.said(minutes_ago - 0.05, "operation.authorized", op, &json!({"by": "policy:standing"}));
    }

    /// A send that began `minutes_ago` and ended `seconds` later.
    #[expect(clippy::too_many_arguments, reason = "one line of a story, read like a table")]
    fn sent(&mut self, minutes_ago: f64, seconds: f64, op: &str, n: u32, owner: &str, key: Option<&str>, end: &Value) {
        let mut start = json!({"n": n, "owner": owner});
        if let (Some(start), Some(key)) = (start.as_object_mut(), key) {
            start.insert("dest_key".into(), json!(key));
        }
        self.said(minutes_ago, "attempt.started", op, &start);
        let mut told = json!({"n": n});
        if let (Some(told), Some(end)) = (told.as_object_mut(), end.as_object()) {
            told.extend(end.clone());
        }
        self.said(minutes_ago - seconds / 60.0, "attempt.ended", op, &told);
    }

    fn delivered(&mut self, minutes_ago: f64, source: &str, event: &str, kind: &str, receipt: &str, key: &str) {
        let more = json!({"source": source, "endpoint": "main", "event_id": event, "type": kind, "receipt": receipt, "metadata": {"key": key}});
        self.said(minutes_ago, "delivery.received", event, &more);
    }

    fn told(mut self) -> Vec<Vec<u8>> {
        self.lines.sort();
        self.lines.into_iter().map(|(_, line)| line).collect()
    }
}

const TIMEOUT: fn() -> Value = || json!({"outcome": "timeout"});
const REFUSED_CONNECTION: fn() -> Value = || json!({"outcome": "conn_lost", "phase": "connect"});

/// The stories, in the order in which they were told.
pub(super) fn lines(now: Timestamp) -> Vec<Vec<u8>> {
    let mut tale = Tale { now, lines: Vec::new() };
    money(&mut tale);
    sends_without_a_key(&mut tale);
    layers_and_claims(&mut tale);
    settled(&mut tale);
    declared_layers(&mut tale);
    tale.told()
}

/// What clients, engines and agents say that they retry: one owner here, two there, and one without any limit.
fn declared_layers(tale: &mut Tale) {
    let mut declared = |minutes_ago: f64, more: Value| tale.said(minutes_ago, "layer.declared", "", &more);
    declared(
        900.0,
        json!({"layer": "tool adapter", "tool": "payments.refund", "max_attempts": 4, "on": ["429", "503"], "timeout_s": 30}),
    );
    declared(900.0, json!({"layer": "agent", "tool": "payments.refund", "max_attempts": 2, "on": ["validation"]}));
    declared(
        890.0,
        json!({"layer": "adapter", "tool": "helpdesk.create", "max_attempts": 3, "on": ["429", "503"], "timeout_s": 20}),
    );
    declared(
        889.0,
        json!({"layer": "desk-sdk", "tool": "helpdesk.create", "max_attempts": 3, "on": ["429", "connect"], "timeout_s": 10}),
    );
    declared(888.0, json!({"layer": "workflow", "tool": "helpdesk.create", "max_attempts": 3, "on": ["restart"]}));
    declared(
        880.0,
        json!({"layer": "workflow engine", "tool": "inventory.change", "max_attempts": -1, "on": ["restart"], "timeout_s": 60}),
    );
    declared(870.0, json!({"layer": "stripe-sdk", "dest": "psp-us", "on": ["409", "503"], "timeout_s": 80}));
    declared(
        860.0,
        json!({"layer": "workflow engine", "tool": "seats.sync", "max_attempts": 5, "on": ["restart"], "timeout_s": 60}),
    );
}

/// Refunds, charges, payouts and invoices whose key is still, or no longer, of use.
fn money(tale: &mut Tale) {
    let refund = "refund:ord_1042:rr_7";
    let args = json!({"order": "ord_1042", "amount_minor": 124_000, "currency": "eur", "customer": "cus_7731", "ledger_row": 1_970_670_598_291_982_290_i64});
    tale.proposed(1_411.0, "run_71.refund", refund, ("payments.refund", "psp-eu"), &args);
    tale.sent(1_410.0, 30.0, "run_71.refund", 1, "tool adapter", Some(refund), &TIMEOUT());
    tale.sent(1_409.2, 0.2, "run_71.refund", 2, "tool adapter", Some(refund), &REFUSED_CONNECTION());
    tale.said(1_409.0, "reconcile.ended", "run_71.refund", &json!({"outcome": "not_found", "by": "metadata"}));
    tale.said(80.0, "reconcile.ended", "run_71.refund", &json!({"outcome": "not_found", "by": "metadata"}));

    let invoice = "invoice:cus_88:2026-11";
    tale.proposed(
        1_392.0,
        "wf_204.invoice",
        invoice,
        ("invoice.create", "ledger"),
        &json!({"customer": "cus_88", "amount_minor": 31_000, "currency": "usd"}),
    );
    tale.sent(1_391.0, 12.0, "wf_204.invoice", 1, "workflow", Some(invoice), &json!({"outcome": "abandoned"}));

    let cart = "credit_purchase:cart-77";
    tale.proposed(
        303.0,
        "web.cart-77",
        cart,
        ("payments.charge", "psp-us"),
        &json!({"cart": "cart-77", "amount_minor": 2_000, "currency": "usd", "customer": "cus_1190"}),
    );
    tale.sent(302.9, 30.0, "web.cart-77", 1, "web client", Some(cart), &TIMEOUT());
    tale.proposed(
        302.2,
        "web.cart-77.again",
        cart,
        ("payments.charge", "psp-us"),
        &json!({"cart": "cart-77", "amount_minor": 2_000, "currency": "usd", "customer": "cus_1190"}),
    );
    tale.delivered(302.1, "psp-us", "evt_5501", "payment.succeeded", "pi_A", cart);
    tale.delivered(301.9, "psp-us", "evt_5502", "payment.succeeded", "pi_B", cart);

    let payout = "payout:run_19:acct_3";
    tale.proposed(
        179.0,
        "run_19.acct_3",
        payout,
        ("payout.send", "bank"),
        &json!({"account": "acct_3", "amount_minor": 840_000, "currency": "gbp"}),
    );
    tale.sent(178.6, 30.0, "run_19.acct_3", 1, "adapter", Some(payout), &TIMEOUT());
    tale.sent(
        177.0,
        1.0,
        "run_19.acct_3",
        2,
        "adapter",
        Some(payout),
        &json!({"outcome": "rejected", "http": 409, "error": "704"}),
    );

    let stock = "stock:sku-9:recount-3";
    tale.proposed(
        1_561.0,
        "count.sku-9",
        stock,
        ("inventory.change", "shop"),
        &json!({"sku": "sku-9", "delta": 12, "people": 0}),
    );
    tale.sent(1_560.0, 30.0, "count.sku-9", 1, "tool", Some(stock), &TIMEOUT());
    tale.said(1_500.0, "reconcile.ended", "count.sku-9", &json!({"outcome": "unavailable"}));
    tale.said(
        20.0,
        "operator.action",
        "count.sku-9",
        &json!({"act": "act_retry_1", "verb": "retry", "by": "operator at the shop"}),
    );

    let charge = "charge:order-1042";
    tale.proposed(
        105.0,
        "agent.charge-1042",
        charge,
        ("create_payment", "psp-us"),
        &json!({"order": "order-1042", "amount_minor": 5_000, "currency": "usd", "customer": "cus_2040"}),
    );
    tale.sent(104.5, 2.0, "agent.charge-1042", 1, "agent", Some(charge), &json!({"outcome": "error", "http": 500}));
    tale.sent(
        104.0,
        1.0,
        "agent.charge-1042",
        2,
        "agent",
        Some(charge),
        &json!({"outcome": "error", "http": 500, "replayed": true}),
    );

    let changed = "charge:order-1107";
    tale.proposed(
        95.0,
        "agent.charge-1107",
        changed,
        ("create_payment", "psp-us"),
        &json!({"order": "order-1107", "amount_minor": 7_450, "currency": "usd"}),
    );
    tale.sent(94.5, 60.0, "agent.charge-1107", 1, "agent", Some("a1f0"), &TIMEOUT());
    tale.sent(93.0, 60.0, "agent.charge-1107", 2, "agent", Some("b27c"), &TIMEOUT());
}

/// Mails and tickets: nothing protects a repeat.
fn sends_without_a_key(tale: &mut Tale) {
    let ticket = "ticket:case_812:escalate";
    tale.proposed(
        201.0,
        "case_812.escalate",
        ticket,
        ("helpdesk.create", "desk"),
        &json!({"case": "case_812", "people": 1}),
    );
    for (n, owner) in [(1, "adapter"), (2, "adapter"), (3, "adapter"), (4, "agent"), (5, "agent"), (6, "agent")] {
        tale.sent(
            200.0 - f64::from(n),
            2.0,
            "case_812.escalate",
            n,
            owner,
            None,
            &json!({"outcome": "ok", "http": 200}),
        );
    }
    let mail = "mail:welcome:usr_5501";
    tale.proposed(49.0, "signup.5501", mail, ("mail.send", "smtp-api"), &json!({"template": "welcome", "people": 1}));
    tale.sent(48.8, 0.1, "signup.5501", 1, "adapter", None, &REFUSED_CONNECTION());
    tale.sent(48.5, 0.1, "signup.5501", 2, "adapter", None, &REFUSED_CONNECTION());
    tale.sent(48.2, 30.0, "signup.5501", 3, "adapter", None, &TIMEOUT());
    for (minutes, order) in [(22.0, "1077"), (20.0, "1078")] {
        let (op, key) = (format!("order-{order}.invoice"), format!("invoice:order-{order}:issue"));
        tale.proposed(
            minutes + 0.5,
            &op,
            &key,
            ("invoice.create", "ledger"),
            &json!({"order": format!("order-{order}"), "amount_minor": 12_000, "currency": "usd"}),
        );
        tale.sent(minutes, 30.0, &op, 1, "tool", Some(&key), &TIMEOUT());
    }
    let mailing = "mailing:autumn-fair";
    for (index, minutes) in [400.0, 339.0, 279.0, 218.0].into_iter().enumerate() {
        let more = json!({"key": mailing, "tool": "mail.send", "dest": "smtp-api", "claim": format!("c-{}", index + 1), "worker": "w-0", "lease_s": 3_600});
        tale.said(minutes, "claim.taken", "mailing.autumn", &more);
    }
    tale.said(187.0, "attempt.ended", "mailing.autumn", &json!({"n": 1, "claim": "c-1", "outcome": "ok"}));
}

/// Who retries, who claims, who was never heard of again.
fn layers_and_claims(tale: &mut Tale) {
    let key = "invoice:cus_demo:oct";
    tale.proposed(
        260.0,
        "sdk.create",
        key,
        ("invoice.create", "ledger"),
        &json!({"customer": "cus_demo", "amount_minor": 8_800, "currency": "usd"}),
    );
    tale.sent(
        259.9,
        1.0,
        "sdk.create",
        1,
        "sdk",
        Some("K1"),
        &json!({"outcome": "ok", "http": 201, "receipt": "in_900"}),
    );
    tale.proposed(259.5, "sdk.pay", "pay:in_900", ("create_payment", "ledger"), &json!({"invoice": "in_900"}));
    tale.sent(
        259.4,
        1.0,
        "sdk.pay",
        1,
        "sdk",
        Some("K1"),
        &json!({"outcome": "rejected", "http": 400, "error": "idempotency_error"}),
    );

    tale.said(612.0, "claim.taken", "job-19.step-0", &json!({"key": "job-19:step-0", "tool": "namespace.create", "dest": "cluster", "claim": "c-1", "worker": "w-3", "lease_s": 300}));
    tale.said(
        611.5,
        "attempt.ended",
        "job-19.step-0",
        &json!({"n": 1, "claim": "c-1", "outcome": "ok", "receipt": "ns_0"}),
    );
    let deadline = Timestamp::from_micros(tale.now.as_micros() - 596 * 60_000_000);
    let step = json!({"key": "job-19:step-1", "tool": "namespace.create", "dest": "cluster", "effect": "unsafe_write", "args": {"from": "ns_0"}, "deadline": deadline.to_string()});
    tale.said(611.5, "operation.proposed", "job-19.step-1", &step);

    let seats = "wf-12:sync-seats:7";
    tale.proposed(
        141.0,
        "wf-12.seats",
        seats,
        ("seats.sync", "meter"),
        &json!({"workspace": "w7", "seats": 41, "people": 41}),
    );
    tale.said(140.9, "attempt.started", "wf-12.seats", &json!({"n": 1, "owner": "workflow engine", "worker": "w-a"}));
    tale.said(130.9, "attempt.ended", "wf-12.seats", &json!({"n": 1, "outcome": "timeout", "reported_by": "engine"}));
    tale.sent(130.8, 58.0, "wf-12.seats", 2, "workflow engine", None, &json!({"outcome": "ok", "receipt": "upd_2"}));
    tale.delivered(129.0, "meter", "evt_9", "seats.updated", "upd_1", seats);

    let queue = "export:books:2026-11-28";
    tale.proposed(81.0, "queue.1401", queue, ("namespace.create", "cluster"), &json!({"name": "books"}));
    tale.said(80.0, "attempt.started", "queue.1401", &json!({"n": 1, "owner": "queue", "budget": 3}));
    tale.said(79.0, "attempt.ended", "queue.1401", &json!({"n": 1, "outcome": "rejected", "http": 422}));
    tale.said(60.0, "attempt.started", "queue.1401", &json!({"n": 2, "owner": "queue", "budget": 3}));
    tale.said(30.0, "attempt.started", "queue.1401", &json!({"n": 3, "owner": "queue", "budget": 3}));
    tale.said(29.0, "attempt.ended", "queue.1401", &json!({"n": 3, "outcome": "rejected", "http": 422}));

    let wire = "wire:77";
    tale.proposed(
        34.0,
        "desk.wire-77",
        wire,
        ("payout.send", "bank"),
        &json!({"to": "acct-1", "amount_minor": 10_000, "currency": "gbp"}),
    );
    tale.said(
        33.0,
        "operation.authorized",
        "desk.wire-77",
        &json!({"by": "operator a", "args": {"to": "acct-1", "amount_minor": 10_000, "currency": "gbp"}}),
    );
    tale.said(32.0, "attempt.started", "desk.wire-77", &json!({"n": 1, "owner": "tool", "dest_key": wire, "args": {"to": "acct-1", "amount_minor": 1_000_000, "currency": "gbp"}}));

    let payment = "payment:pay_55:make";
    let first = json!({"payment_id": "pay_55", "amount_minor": 1_999, "currency": "eur"});
    tale.proposed(58.0, "shop.pay_55", payment, ("create_payment", "psp-us"), &first);
    tale.said(57.8, "attempt.ended", "shop.pay_55", &json!({"n": 1, "outcome": "conn_lost"}));
    let other = json!({"payment_id": "pay_55", "amount_minor": 2_999, "currency": "eur"});
    tale.proposed(57.0, "shop.pay_55.c", payment, ("create_payment", "psp-us"), &other);
}

/// What people have had to do with, and what is done.
fn settled(tale: &mut Tale) {
    let invoice = "invoice:cus_51:2026-10";
    tale.proposed(
        500.0,
        "wf_188.invoice",
        invoice,
        ("invoice.create", "ledger"),
        &json!({"customer": "cus_51", "amount_minor": 19_900, "currency": "usd"}),
    );
    tale.sent(499.0, 30.0, "wf_188.invoice", 1, "workflow", Some(invoice), &TIMEOUT());
    let payout = "payout:run_17:acct_9";
    tale.proposed(
        720.0,
        "run_17.acct_9",
        payout,
        ("payout.send", "bank"),
        &json!({"account": "acct_9", "amount_minor": 52_500, "currency": "gbp"}),
    );
    tale.sent(719.0, 30.0, "run_17.acct_9", 1, "adapter", Some(payout), &TIMEOUT());
    let charged = "saga-9:charge";
    let charge = json!({"saga": "saga-9", "key": charged, "tool": "payments.charge", "dest": "psp-us", "effect": "unsafe_write", "args": {"order": "ord_3300", "amount_minor": 90_000, "currency": "usd"}});
    tale.said(66.0, "operation.proposed", "saga-9.charge", &charge);
    let reserve = json!({"saga": "saga-9", "key": "saga-9:seats", "tool": "seats.sync", "dest": "meter", "effect": "unsafe_write", "args": {"order": "ord_3300", "seats": 40}});
    tale.said(64.8, "operation.proposed", "saga-9.seats", &reserve);
    tale.sent(
        65.0,
        1.0,
        "saga-9.charge",
        1,
        "workflow",
        Some(charged),
        &json!({"outcome": "ok", "http": 200, "receipt": "ch_9"}),
    );
    tale.sent(
        64.7,
        1.0,
        "saga-9.seats",
        1,
        "workflow",
        Some("saga-9:seats"),
        &json!({"outcome": "rejected", "http": 409}),
    );
    let back = json!({"saga": "saga-9", "key": "comp:saga-9:refund:ch_9", "tool": "payments.refund", "dest": "psp-us", "compensates": "saga-9.charge", "args": {"charge": "ch_9", "amount_minor": 90_000, "currency": "usd"}});
    tale.said(62.5, "compensation.proposed", "saga-9.refund", &back);
    tale.sent(62.2, 1.0, "saga-9.refund", 1, "workflow", Some("comp:saga-9:refund:ch_9"), &TIMEOUT());
    for (op, key) in [("crm.sync.1", "row:1970670598291982290"), ("crm.sync.2", "row:1970670598291982300")] {
        tale.proposed(15.0, op, key, ("namespace.create", "cluster"), &json!({"name": op}));
    }
    let running = json!({"n": 1, "owner": "workflow", "deadline": tale.now.plus(Duration::from_mins(25)).to_string()});
    tale.proposed(
        3.0,
        "wf_300.export",
        "export:ledger:2026-11-29",
        ("namespace.create", "cluster"),
        &json!({"name": "ledger"}),
    );
    tale.said(2.0, "attempt.started", "wf_300.export", &running);
}

/// What a source that people merely vouch for says: likely, never proved.
pub(super) fn hearsay(now: Timestamp) -> Vec<Vec<u8>> {
    let mut tale = Tale { now, lines: Vec::new() };
    let key = "invoice:partner-12:2026-11";
    tale.proposed(
        240.0,
        "partner.12",
        key,
        ("invoice.create", "ledger"),
        &json!({"partner": "12", "amount_minor": 66_000, "currency": "eur"}),
    );
    tale.sent(
        239.0,
        4.0,
        "partner.12",
        1,
        "partner",
        Some(key),
        &json!({"outcome": "ok", "http": 200, "receipt": "inv_p12"}),
    );
    tale.told()
}
