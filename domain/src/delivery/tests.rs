use super::*;
use crate::attempt::ReceiptFault;
use crate::contract::Contract;
use crate::evidence::{Evidence, Trust};
use crate::name::{DeliveryId, SourceName, WebhookName};
use crate::operation::Mode;
use crate::outcome::Surroundings;
use crate::rig::{Rig, made, receipt, timed_out};
use crate::tool::{Class, Tool};

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn template() -> DeliveryTemplate {
    serde_json::from_str(
        r#"{"events":[
              {"type":"charge.succeeded","means":"executed"},
              {"type":"charge.refunded","means":"reversed","where":[{"at":"/refunded","value":"true"}]},
              {"type":"charge.refunded","means":"ignored"},
              {"type":"charge.failed","means":"reversed"},
              {"type":"charge.captured","means":"ignored"}],
            "object":"/data/object","receipt":"/id","key":"/request/idempotency_key",
            "operation_key":"/metadata/operation_key","operation_id":"/metadata/operation_id",
            "natural_key":"/description","happened_at":"/data/object/created",
            "matches":[{"at":"/object","value":"charge"}],
            "must_echo":[{"answer":"/amount","argument":"/amount_minor"}]}"#,
    )
    .unwrap()
}

/// An event about `ch_1`, with these members of the object.
fn body(members: &str) -> Json {
    json(&format!(
        r#"{{"id":"evt_1","request":{{"idempotency_key":"k-1"}},
            "data":{{"object":{{"id":"ch_1","object":"charge","amount":10{members}}}}}}}"#
    ))
}

fn claim_with(event: &str, body: &Json, arguments: Option<&Json>) -> Option<Claim> {
    let none = Json::Null;
    let names = Names {
        key: None,
        operation_key: &OperationKey::parse("charge:7").unwrap(),
        operation_id: &OperationId::parse("0190").unwrap(),
        receipt: None,
        arguments: arguments.unwrap_or(&none),
        argument_bytes: b"",
    };
    template().claim(Some(event), body, &names, &Stake::default(), arguments.is_some()).unwrap()
}

#[test]
fn what_an_event_says_is_told_by_its_type_and_by_what_its_object_holds() {
    let executed = Some(Claim::Executed { receipt: receipt("ch_1") });
    let reversed = Some(Claim::Reversed { receipt: receipt("ch_1") });
    let not_ours = |fault| Some(Claim::NotOurs { receipt: receipt("ch_1"), fault });
    let ours = json(r#"{"amount_minor":10}"#);
    let table = [
        ("charge.succeeded", "", Some(&ours), executed.clone()),
        ("charge.failed", "", Some(&ours), reversed.clone()),
        // A part that is given back reverses nothing.
        ("charge.refunded", r#","refunded":true"#, Some(&ours), reversed),
        ("charge.refunded", r#","refunded":false"#, Some(&ours), None),
        ("charge.refunded", "", Some(&ours), None),
        ("charge.captured", "", Some(&ours), None),
        ("charge.updated", "", Some(&ours), None),
        // Not of this tool, whatever its type.
        ("charge.succeeded", r#","object":"refund""#, Some(&ours), None),
        // 7.18: under our name, and not ours.
        ("charge.succeeded", r#","amount":11"#, Some(&ours), not_ours(ReceiptFault::OtherAmount)),
        // Where the arguments are not on record nothing can be compared.
        ("charge.succeeded", "", None, Some(Claim::Likely)),
    ];
    for (event, members, arguments, expected) in table {
        // The last of equal members would not be read: the strict reader refuses them.
        let text = format!(r#"{{"data":{{"object":{{"id":"ch_1"{}}}}}}}"#, with_defaults(members));
        assert_eq!(claim_with(event, &json(&text), arguments), expected, "{event} {members}");
    }
}

/// The members, with those that they leave out.
fn with_defaults(members: &str) -> String {
    let defaults = [("object", r#""charge""#), ("amount", "10")];
    let left_out = defaults.iter().filter(|(name, _)| !members.contains(&format!(r#""{name}":"#)));
    let left_out: Vec<String> = left_out.map(|(name, value)| format!(r#","{name}":{value}"#)).collect();
    [members, &left_out.concat()].concat()
}

#[test]
fn without_an_object_or_an_id_a_delivery_names_nothing() {
    let template = template();
    let named = |event: Option<&str>, text: &str| template.names_in(event, &json(text)).map(|named| named.receipt);
    assert_eq!(named(Some("charge.succeeded"), r#"{"data":{"object":{"id":"ch_1"}}}"#), Some(receipt("ch_1")));
    // Exact, also where a double would round.
    let exact = Some(receipt("9007199254740993"));
    assert_eq!(named(Some("charge.succeeded"), r#"{"data":{"object":{"id":9007199254740993}}}"#), exact);
    for (event, text) in [
        (Some("charge.succeeded"), r#"{"data":{"object":{}}}"#),
        (Some("charge.succeeded"), r#"{"data":{"object":{"id":null}}}"#),
        (Some("charge.succeeded"), r#"{"data":{"object":{"id":""}}}"#),
        // A thin event has no object, and is not read as if it had.
        (Some("charge.succeeded"), r#"{"object":"v2.core.event","related_object":{"id":"ch_1"}}"#),
        (Some("charge.captured"), r#"{"data":{"object":{"id":"ch_1"}}}"#),
        (Some("other"), r#"{"data":{"object":{"id":"ch_1"}}}"#),
        (None, r#"{"data":{"object":{"id":"ch_1"}}}"#),
    ] {
        assert_eq!(named(event, text), None, "{event:?} {text}");
    }
}

#[test]
fn every_name_of_a_delivery_can_be_found_by() {
    let body = body(r#","description":"order-7","metadata":{"operation_key":"charge:7","operation_id":"0190"}"#);
    let named = template().names_in(Some("charge.succeeded"), &body).unwrap();
    assert_eq!(named.all().collect::<Vec<_>>(), ["ch_1", "k-1", "charge:7", "0190", "order-7"]);
    assert_eq!(template().happened_at(&body), None);
}

/// Names nothing but the receipt.
fn only_receipt() -> Named {
    Named { receipt: receipt("ch_1"), key: None, operation_key: None, operation_id: None, natural_key: None }
}

#[test]
fn the_surest_name_links_and_business_fields_alone_stay_likely() {
    let mut rig = Rig::uncertain(Class::Reversible, Contract::default());
    let id = rig.newest();
    let key = rig.key_of(&id).unwrap();
    let ours = rig.record(&id).head.key.clone();
    let other = || Some(OperationKey::parse("another").unwrap());
    let table = [
        (Named { key: Some(key.clone()), operation_key: Some(ours.clone()), ..only_receipt() }, Some(LinkedBy::Key)),
        (Named { key: DestinationKey::parse(ours.as_str()).ok(), ..only_receipt() }, Some(LinkedBy::Key)),
        (Named { operation_key: Some(ours.clone()), natural_key: other(), ..only_receipt() }, Some(LinkedBy::Metadata)),
        (Named { operation_id: OperationId::parse(&*id).ok(), ..only_receipt() }, Some(LinkedBy::Metadata)),
        (Named { natural_key: Some(ours.clone()), ..only_receipt() }, Some(LinkedBy::NaturalKey)),
        (Named { key: DestinationKey::parse("k-2").ok(), operation_key: other(), ..only_receipt() }, None),
        (only_receipt(), None),
    ];
    for (named, expected) in table {
        assert_eq!(named.link_to(rig.record(&id)), expected, "{named:?}");
    }
    // Once the receipt is known it links, too.
    rig.receipt(&id, "ch_1");
    assert_eq!(only_receipt().link_to(rig.record(&id)), Some(LinkedBy::Receipt));
}

#[test]
fn a_receipt_that_is_only_likely_ours_links_nothing() {
    for (linked_by, links) in [
        (LinkedBy::Key, true),
        (LinkedBy::Metadata, true),
        (LinkedBy::Receipt, true),
        (LinkedBy::NaturalKey, false),
        (LinkedBy::Manual, false),
    ] {
        let rig = Rig::uncertain(Class::Reversible, Contract::default());
        let id = rig.newest();
        let mut record = rig.record(&id).clone();
        record.facts.push(Fact::Evidence(evidence(linked_by, Claim::Executed { receipt: receipt("ch_1") })));
        assert_eq!(only_receipt().link_to(&record).is_some(), links, "{linked_by:?}");
    }
    let rig = Rig::uncertain(Class::Reversible, Contract::default());
    let mut record = rig.record(&rig.newest()).clone();
    let others = Claim::NotOurs { receipt: receipt("ch_1"), fault: ReceiptFault::OtherAmount };
    record.facts.push(Fact::Evidence(evidence(LinkedBy::Key, others)));
    assert_eq!(only_receipt().link_to(&record), None);
}

#[test]
fn an_answer_links_by_its_receipt_and_a_refusal_does_not() {
    use crate::attempt::End;
    let refused = End { receipt: Some(receipt("ch_1")), ..crate::rig::refused(409) };
    for (end, links) in [(made("ch_1"), true), (made("ch_2"), false), (timed_out(), false), (refused, false)] {
        let mut rig = Rig::approved(Class::Reversible, Contract::default());
        let id = rig.newest();
        rig.send_and_end(&id, end.clone());
        assert_eq!(only_receipt().link_to(rig.record(&id)).is_some(), links, "{end:?}");
    }
}

fn evidence(linked_by: LinkedBy, claim: Claim) -> Evidence {
    let at = Timestamp::parse_rfc3339(crate::rig::START).unwrap();
    let source = SourceName::webhook(&WebhookName::parse("psp").unwrap());
    let id = "webhook psp evt_1".into();
    Evidence { id, source, claim, object: None, linked_by, key: None, at, provider_time: None, sent_at: None }
}

#[test]
fn only_what_came_to_a_webhook_is_believed_for_its_name() {
    let around = Surroundings::of_tool(Tool::undeclared(crate::name::ToolName::unnamed()));
    for (source, trust) in [
        ("tallystick/webhook/psp", Trust::Verified),
        ("tallystick/webhook", Trust::Unknown),
        ("webhook/psp", Trust::Unknown),
        ("psp", Trust::Unknown),
    ] {
        let source = SourceName::parse(source).unwrap();
        assert_eq!((around.trust(&source), source.is_webhook()), (trust, trust == Trust::Verified), "{source}");
    }
    assert!(SourceName::webhook(&WebhookName::parse("psp").unwrap()).is_own());
}

#[test]
fn nobody_takes_the_id_of_a_delivery_away() {
    let mut rig = Rig::uncertain(Class::Reversible, Contract::default());
    let id = rig.newest();
    let told =
        Evidence { key: rig.key_of(&id), ..evidence(LinkedBy::Key, Claim::Executed { receipt: receipt("ch_1") }) };
    let hearsay = Evidence { source: SourceName::parse("somebody").unwrap(), ..told.clone() };
    rig.tell(&id, Fact::Evidence(hearsay.clone()));
    assert!(rig.state(&id).starts_with("uncertain"), "{}", rig.state(&id));
    rig.tell(&id, Fact::Evidence(told.clone()));
    assert_eq!(rig.state(&id), "succeeded");
    // I22: told again by either, it is the fact that is there.
    let facts = rig.record(&id).facts.len();
    for again in [told, hearsay] {
        rig.tell(&id, Fact::Evidence(again));
    }
    assert_eq!(rig.record(&id).facts.len(), facts);
}

#[test]
fn an_observed_operation_is_linked_as_a_guarded_one() {
    let mut rig = Rig::new(Class::Reversible, Contract::default());
    let head = rig.head("seen", Mode::Observed, "charge:7");
    rig.propose_as(head, None);
    let named = Named { operation_key: OperationKey::parse("charge:7").ok(), ..only_receipt() };
    assert_eq!(named.link_to(rig.record("seen")), Some(LinkedBy::Metadata));
    // A key that nobody gave is a name that we made up.
    let mut record = rig.record("seen").clone();
    record.head.key_given = false;
    assert_eq!(named.link_to(&record), None);
}

const GUID: &str = "58474f00-0000-11eb-0000-0e4f3503ccbe";

fn told(scheme: Scheme, headers: &[(&str, &'static str)], bytes: &str) -> (String, Option<String>, Option<String>) {
    let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let body = Json::parse(bytes.as_bytes()).ok();
    let Envelope { id, event, happened_at } = scheme.envelope(header, bytes.as_bytes(), body.as_ref());
    (id.to_string(), event, happened_at.map(|at| at.to_string()))
}

#[test]
fn each_scheme_tells_its_id_its_type_and_its_time_in_its_own_place() {
    let at = "2026-10-05T09:00:00Z";
    let owned = |text: &str| Some(text.to_owned());
    let github = [("x-github-delivery", GUID), ("x-github-event", "issues")];
    let standard = [("webhook-id", "msg_1")];
    let table = [
        (
            told(Scheme::Stripe, &[], r#"{"id":"evt_1","created":1791190800,"type":"charge.succeeded"}"#),
            ("evt_1".to_owned(), owned("charge.succeeded"), owned(at)),
        ),
        (told(Scheme::Stripe, &[], r#"{"id":"evt_1","account":"acct_2"}"#), ("acct_2/evt_1".into(), None, None)),
        (told(Scheme::Stripe, &[], r#"{"id":"e","created":"soon"}"#), ("e".into(), None, None)),
        (told(Scheme::Stripe, &[], r#"{"id":"e","created":9223372036854775807}"#), ("e".into(), None, None)),
        (told(Scheme::Github, &github, r#"{"action":"opened"}"#), (GUID.into(), owned("issues.opened"), None)),
        (told(Scheme::Github, &github, "payload=x"), (GUID.into(), owned("issues"), None)),
        (
            told(Scheme::Standard, &standard, r#"{"type":"invoice.created","timestamp":"2026-10-05T11:00:00+02:00"}"#),
            ("msg_1".into(), owned("invoice.created"), owned(at)),
        ),
    ];
    for (read, expected) in table {
        assert_eq!(read, expected);
    }
}

#[test]
fn a_delivery_without_an_id_is_known_again_by_its_bytes() {
    for scheme in Scheme::ALL.iter().copied() {
        for bytes in ["not json", "{}", r#"{"id":""}"#] {
            let (id, event, at) = told(scheme, &[], bytes);
            assert_eq!(id, DeliveryId::of_body(&crate::fingerprint::Hash::of(bytes.as_bytes())).to_string());
            assert_eq!((event, at), (None, None));
        }
        assert!(scheme.headers().iter().all(|header| header.chars().all(|c| !c.is_ascii_uppercase())));
    }
    let long = format!(r#"{{"id":"{}","type":"{}"}}"#, "x".repeat(300), "y".repeat(121));
    let (id, event, _) = told(Scheme::Stripe, &[], &long);
    assert!(id.starts_with("sha256:") && event.is_none());
}

#[test]
fn a_template_is_read_strictly() {
    let wrong =
        [r#"{"events":[],"receipt":"/id","recipt":"x"}"#, r#"{"events":[{"type":"a","means":"done"}],"receipt":""}"#];
    for text in wrong {
        assert!(serde_json::from_str::<DeliveryTemplate>(text).is_err(), "{text}");
    }
    let text = serde_json::to_string(&template()).unwrap();
    assert_eq!(serde_json::from_str::<DeliveryTemplate>(&text).unwrap(), template());
}
