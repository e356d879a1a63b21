use super::*;
use crate::attempt::ReceiptFault;
use crate::name::{DestinationKey, OperationId, OperationKey};

fn template() -> LookUpTemplate {
    serde_json::from_str(
        r#"{"path":"/charges?ref={operation_key}","items":"/data","receipt":"/id","more":"/has_more",
            "matches":[{"at":"/metadata/operation_key","value":"{operation_key}"}],
            "must_echo":[{"answer":"/amount","argument":"/amount_minor"}],
            "reversed":[{"at":"/status","value":"failed"}]}"#,
    )
    .unwrap()
}

fn read_by(template: &LookUpTemplate, status: u16, body: &str, by: LookUpBy) -> Vec<Claim> {
    let arguments = Json::parse(br#"{"amount_minor":10}"#).unwrap();
    let names = Names {
        key: Some(&DestinationKey::parse("ts-1").unwrap()),
        operation_key: &OperationKey::parse("refund:7").unwrap(),
        operation_id: &OperationId::parse("0190").unwrap(),
        receipt: None,
        arguments: &arguments,
        argument_bytes: b"",
    };
    template.read(Answer { status, body: body.as_bytes() }, &names, &Stake::default(), by)
}

fn read(status: u16, body: &str) -> Vec<Claim> {
    read_by(&template(), status, body, LookUpBy::Metadata)
}

fn receipt(text: &str) -> Receipt {
    Receipt::parse(text).unwrap()
}

fn object(id: &str, key: &str, amount: u32, status: &str) -> String {
    format!(r#"{{"id":"{id}","amount":{amount},"status":"{status}","metadata":{{"operation_key":"{key}"}}}}"#)
}

#[test]
fn what_is_ours_is_found_among_others() {
    let body =
        format!(r#"{{"data":[{},{}]}}"#, object("ch_0", "refund:8", 10, "ok"), object("ch_1", "refund:7", 10, "ok"));
    assert_eq!(read(200, &body), [Claim::Executed { receipt: receipt("ch_1") }]);
}

#[test]
fn two_objects_of_ours_are_two_effects() {
    let body = format!(
        r#"{{"data":[{},{}]}}"#,
        object("ch_1", "refund:7", 10, "ok"),
        object("ch_2", "refund:7", 10, "failed")
    );
    assert_eq!(
        read(200, &body),
        [Claim::Executed { receipt: receipt("ch_1") }, Claim::Reversed { receipt: receipt("ch_2") }]
    );
}

#[test]
fn an_object_of_another_amount_is_not_ours() {
    let body = format!(r#"{{"data":[{}]}}"#, object("ch_1", "refund:7", 11, "ok"));
    // The argument is called `amount_minor` in the stake's own default.
    assert_eq!(read(200, &body), [Claim::NotOurs { receipt: receipt("ch_1"), fault: ReceiptFault::OtherAmount }]);
}

#[test]
fn nothing_found_is_absent_only_where_the_whole_list_was_seen() {
    assert_eq!(read(200, r#"{"data":[]}"#), [Claim::Absent]);
    assert_eq!(read(200, r#"{"data":[],"has_more":false}"#), [Claim::Absent]);
    assert_eq!(read(200, r#"{"data":[],"has_more":true}"#), [Claim::Unavailable]);
    assert_eq!(read(200, r#"{"data":[],"has_more":"cursor"}"#), [Claim::Unavailable]);
}

#[test]
fn what_is_not_understood_is_never_absence() {
    for (status, body) in
        [(200, "<html>"), (200, "{}"), (200, r#"{"data":{}}"#), (404, ""), (204, ""), (500, "{}"), (301, "")]
    {
        assert_eq!(read(status, body), [Claim::Unavailable], "{status} {body}");
    }
}

#[test]
fn an_object_that_is_asked_for_by_its_name_is_absent_when_its_place_is_empty() {
    let single = LookUpTemplate { items: None, more: None, ..template() };
    for status in [404, 410] {
        assert_eq!(read_by(&single, status, "gone", LookUpBy::Key), [Claim::Absent]);
    }
    let body = object("ch_1", "refund:7", 10, "ok");
    assert_eq!(read_by(&single, 200, &body, LookUpBy::Key), [Claim::Executed { receipt: receipt("ch_1") }]);
    // An object without our name is somebody's, and says nothing of ours.
    let body = object("ch_1", "refund:8", 10, "ok");
    assert_eq!(read_by(&single, 200, &body, LookUpBy::Key), [Claim::Absent]);
}

#[test]
fn business_fields_find_at_most_what_is_likely() {
    let natural = LookUpTemplate { matches: Vec::new(), ..template() };
    let one = object("ch_1", "x", 10, "ok");
    for (body, claim) in [
        (r#"{"data":[]}"#.to_owned(), Claim::Absent),
        (format!(r#"{{"data":[{one}]}}"#), Claim::Likely),
        (format!(r#"{{"data":[{one},{one}]}}"#), Claim::Ambiguous),
    ] {
        assert_eq!(read_by(&natural, 200, &body, LookUpBy::NaturalKey), [claim]);
    }
}

#[test]
fn a_match_that_cannot_be_filled_in_finds_nothing_out() {
    let by_receipt =
        LookUpTemplate { matches: vec![Holds { at: "/id".into(), value: "{receipt}".into() }], ..template() };
    assert_eq!(read_by(&by_receipt, 200, r#"{"data":[{"id":"x"}]}"#, LookUpBy::Receipt), [Claim::Unavailable]);
}
