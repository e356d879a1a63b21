use super::*;
use crate::contract::KeyQuoting;
use crate::fingerprint::Hash;
use crate::name::{DestinationKey, OperationId, OperationKey, Receipt};

const ARGUMENTS: &str =
    r#"{ "order":9007199254740993, "amount": 10.00, "note":"a/b & ü", "tags":["x"], "charge":"ch 1" }"#;

fn template(text: &str) -> RequestTemplate {
    serde_json::from_str(text).unwrap()
}

fn face() -> Face {
    Face {
        host: "psp.example:8443".into(),
        base_path: "/v1".into(),
        credential: Some(("Authorization".into(), "Bearer {env:PSP_KEY}".into())),
    }
}

fn rendered(template: &RequestTemplate, contract: &Contract) -> Result<Wire, RequestError> {
    let arguments = Json::parse(ARGUMENTS.as_bytes()).unwrap();
    let names = Names {
        key: Some(&DestinationKey::parse("ts-1").unwrap()),
        operation_key: &OperationKey::parse("refund:7").unwrap(),
        operation_id: &OperationId::parse("0190").unwrap(),
        receipt: Some(&Receipt::parse("re_1").unwrap()),
        arguments: &arguments,
        argument_bytes: ARGUMENTS.as_bytes(),
    };
    template.render(contract, &names, &face())
}

fn with_key(location: &str) -> Contract {
    Contract { key_location: Some(location.into()), ..Contract::default() }
}

#[test]
fn arguments_go_out_byte_for_byte_with_the_key_in_its_header() {
    let contract = Contract { key_quoting: Some(KeyQuoting::StructuredString), ..with_key("Idempotency-Key") };
    let wire = rendered(&template(r#"{"method":"POST","path":"/charges/{/charge}/refunds"}"#), &contract).unwrap();
    let expected = format!(
        "POST /v1/charges/ch%201/refunds HTTP/1.1\r\nhost: psp.example:8443\r\naccept: application/json\r\n\
         authorization: Bearer {{env:PSP_KEY}}\r\nidempotency-key: \"ts-1\"\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{ARGUMENTS}",
        ARGUMENTS.len(),
    );
    assert_eq!(String::from_utf8(wire.to_bytes()).unwrap(), expected);
    assert_eq!(Wire::from_bytes(&wire.to_bytes()).unwrap(), wire);
    assert_eq!(wire.hash(), Hash::of(expected.as_bytes()));
}

#[test]
fn what_is_written_into_the_body_keeps_every_number_as_it_was() {
    let text = r#"{"method":"POST","path":"/x","write":[{"to":"/metadata/operation_key","value":"{operation_key}"}]}"#;
    let wire = rendered(&template(text), &with_key("/idempotency_key")).unwrap();
    assert_eq!(
        String::from_utf8(wire.body().to_vec()).unwrap(),
        r#"{"order":9007199254740993,"amount":10.00,"note":"a/b & ü","tags":["x"],"charge":"ch 1","metadata":{"operation_key":"refund:7"},"idempotency_key":"ts-1"}"#
    );
}

#[test]
fn a_form_names_members_in_brackets_and_a_key_may_be_a_parameter() {
    let text =
        r#"{"method":"POST","path":"/x?a=1","body":"form","write":[{"to":"/metadata/ref","value":"{receipt}"}]}"#;
    let wire = rendered(&template(text), &with_key("?requestId")).unwrap();
    assert_eq!(wire.target(), "/v1/x?a=1&requestId=ts-1");
    assert_eq!(
        String::from_utf8(wire.body().to_vec()).unwrap(),
        "order=9007199254740993&amount=10.00&note=a%2Fb%20%26%20%C3%BC&tags[0]=x&charge=ch%201&metadata[ref]=re_1"
    );
}

#[test]
fn a_request_without_a_body_says_so() {
    let wire = rendered(&template(r#"{"method":"DELETE","path":"/x","body":"none"}"#), &Contract::default()).unwrap();
    assert!(String::from_utf8(wire.to_bytes()).unwrap().ends_with("content-length: 0\r\n\r\n"));
    assert_eq!(wire.method(), Method::Delete);
}

#[test]
fn what_cannot_be_made_is_refused_with_what_is_wrong() {
    let no_key = Contract::default();
    let cases = [
        (
            r#"{"method":"POST","path":"/x/{/nobody}"}"#,
            &no_key,
            "the path: {/nobody} has no value here. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x/{/tags}"}"#,
            &no_key,
            "the path: {/tags} is an array, which cannot stand in a text. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x/{what}"}"#,
            &no_key,
            "the path: {what} is no name that a template knows. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x/{key"}"#,
            &no_key,
            "the path: the template \"/x/{key\" has a brace too many or too few. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x","headers":{"x-note":"{/note}"}}"#,
            &no_key,
            "the header x-note holds a character that a request cannot carry there. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x y"}"#,
            &no_key,
            "the path holds a character that a request cannot carry there. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x","write":[{"to":"/note/deep","value":"1"}]}"#,
            &no_key,
            "the arguments hold something else where /note/deep should be written. Nothing was sent.",
        ),
        (
            r#"{"method":"POST","path":"/x"}"#,
            &with_key("@idempotent(key:)"),
            "the key travels in \"@idempotent(key:)\", which this edition cannot write. Nothing was sent.",
        ),
    ];
    for (text, contract, expected) in cases {
        assert_eq!(rendered(&template(text), contract).unwrap_err().to_string(), expected, "{text}");
    }
    let short = Contract { key_max_len: Some(3), ..with_key("Idempotency-Key") };
    let error = rendered(&template(r#"{"method":"POST","path":"/x"}"#), &short).unwrap_err();
    assert!(matches!(error, RequestError::Key(UnfitKey::TooLong { length: 4, limit: 3 })), "{error}");
}

#[test]
fn a_value_cannot_add_a_header() {
    let text = r#"{"method":"POST","path":"/x","headers":{"x-ref":"{/ref}"}}"#;
    let arguments = Json::parse(br#"{"ref":"a\r\nx-admin: 1"}"#).unwrap();
    let names = Names {
        key: None,
        operation_key: &OperationKey::parse("k").unwrap(),
        operation_id: &OperationId::parse("i").unwrap(),
        receipt: None,
        arguments: &arguments,
        argument_bytes: b"",
    };
    let error = template(text).render(&Contract::default(), &names, &face()).unwrap_err();
    assert_eq!(error, RequestError::Malformed { part: "the header x-ref".into() });
}

#[test]
fn kept_bytes_that_are_no_request_are_not_sent() {
    for bytes in [
        &b""[..],
        b"GET / HTTP/1.1\r\n",
        b"GET x HTTP/1.1\r\n\r\n",
        b"TRACE / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad\r\n\r\n",
    ] {
        assert_eq!(Wire::from_bytes(bytes), Err(WireError));
    }
}

#[test]
fn a_body_of_what_is_written_alone_leaves_the_arguments_out() {
    let write = r#""only_written":true,"write":[{"to":"/payment_intent","value":"{/charge}"},
        {"to":"/metadata/operation_key","value":"{operation_key}"}]"#;
    for (form, body) in [
        ("form", "payment_intent=ch%201&metadata[operation_key]=refund%3A7"),
        ("json", r#"{"payment_intent":"ch 1","metadata":{"operation_key":"refund:7"}}"#),
    ] {
        let text = format!(r#"{{"method":"POST","path":"/refunds","body":"{form}",{write}}}"#);
        let wire = rendered(&template(&text), &with_key("Idempotency-Key")).unwrap();
        assert_eq!(String::from_utf8(wire.body().to_vec()).unwrap(), body);
    }
    let nothing = r#"{"method":"POST","path":"/x","only_written":true}"#;
    assert_eq!(rendered(&template(nothing), &Contract::default()).unwrap().body(), b"{}");
}
