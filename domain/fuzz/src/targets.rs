//! The parsers of outside bytes, and what must hold of each whatever it is given. To add one, write its function and put it
//! into [`TARGETS`]; the corpus, the mutations and the report come by themselves.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use tallystick_domain::action::{Action, ActionInput};
use tallystick_domain::backoff::parse_retry_after;
use tallystick_domain::contract::Contract;
use tallystick_domain::contract::library::Declared;
use tallystick_domain::contract::mcp::{Annotations, class_of};
use tallystick_domain::difference::{Likeness, diff};
use tallystick_domain::evidence::Trust;
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::intake::{About, EVENTS, Line, Says};
use tallystick_domain::json::{Json, JsonProblem};
use tallystick_domain::name::{
    ActionKey, DestinationKey, DestinationName, OperationId, OperationKey, Receipt, SourceName, SourceOperation,
    ToolName, check_name,
};
use tallystick_domain::operation::{Fact, Mode, Reason, Severity, State};
use tallystick_domain::query::{OperationQuery, PAGE_LIMIT, QueueQuery};
use tallystick_domain::stream::Stream;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::{Class, Stake};
use tallystick_domain::view::arguments::redact;
use tallystick_domain::view::encoded;
use tallystick_domain::view::explained::{Explainer, Paint};

use crate::destination;

/// One parser with its properties.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is fed, and what must hold.
    pub claim: &'static str,
    /// Executions are divided by this: for what takes a thousand times as long as reading a line.
    pub divisor: u64,
    /// Inputs of its own, beside the lines of the cases.
    pub seeds: &'static [&'static str],
    /// Tokens of its own.
    pub tokens: &'static [&'static str],
    /// Whether the lines of the cases are inputs too.
    pub reads_lines: bool,
    /// Runs one input: whether it was read, or what does not hold.
    pub run: fn(&[u8]) -> Result<bool, String>,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target {
        name: "line",
        claim: "an event line: what it says is written to the record and read back as the same fact",
        divisor: 1,
        seeds: LINES,
        tokens: EVENT_TOKENS,
        reads_lines: true,
        run: line,
    },
    Target {
        name: "json",
        claim: "strict JSON: printing and reading again gives the same value; nothing is read that is not JSON",
        divisor: 1,
        seeds: JSON,
        tokens: &[],
        reads_lines: true,
        run: json,
    },
    Target {
        name: "fingerprint",
        claim: "canonical form: order, space and spelling do not change a hash; equal hashes have no differences",
        divisor: 1,
        seeds: PAIRS,
        tokens: &[],
        reads_lines: true,
        run: fingerprint,
    },
    Target {
        name: "names",
        claim: "names and keys: 1 to the limit characters, none of control, the same after writing and reading",
        divisor: 1,
        seeds: &["op_101", "credit_purchase:cart-77", "é", "a\u{301}", "x y", "%2F", "~feed/op"],
        tokens: &["\u{85}", "\u{9f}", "\u{2028}", "%E9"],
        reads_lines: false,
        run: names,
    },
    Target {
        name: "query",
        claim: "filters of the lists: what is read is written as pairs that read back the same",
        divisor: 1,
        seeds: &[
            "state=uncertain&tool=pay&limit=20",
            "destination=psp&mode=observed&search=refund%3A&without_key=true&after=abc",
            "reason=timed_out&assignee=me&selected=op_1&limit=200",
        ],
        tokens: &["mode=", "guarded", "observed", "reason=", "key_expired", "without_key=true", "after=", "selected="],
        reads_lines: false,
        run: query,
    },
    Target {
        name: "time",
        claim: "RFC 3339: what is read prints as a time that reads as the same moment",
        divisor: 1,
        seeds: &["2026-10-05T09:00:00Z", "2026-10-05T11:00:00.5+02:00", "1969-12-31T23:59:59.999999Z"],
        tokens: &["T", "Z", ":", "-", "+", ".", "60", "24", "00", "9999", "0000", "23:59", "-23:59"],
        reads_lines: false,
        run: time,
    },
    Target {
        name: "retry_after",
        claim: "Retry-After: never earlier than its receipt, the same however it is padded, and any text of digits a delay",
        divisor: 1,
        seeds: &[
            "120",
            "0",
            "99999999999999999999",
            "Fri, 31 Dec 1999 23:59:60 GMT",
            "Friday, 31-Dec-99 23:59:59 GMT",
            "Fri Dec  1 23:59:59 1999",
        ],
        tokens: &["-1", "GMT", ", ", "Sunday", "Sun", "Feb", "29", ":60", "-00 ", "  ", "9999", "2026"],
        reads_lines: false,
        run: retry_after,
    },
    Target {
        name: "contract_file",
        claim: "contract files and MCP annotations: what is read is written and read back; a hint only ever lowers a class",
        divisor: 1,
        seeds: CONTRACT_FILES,
        tokens: &[
            "\"value\":",
            "\"verification\":\"claimed\"",
            "\"tested_live\"",
            "\"tested_stand_in\"",
            "\"source_url\":\"https://",
            "\"checked_at\":\"2026-10-05\"",
            "key_retention_s",
            "on_mismatch",
            "effect_identity",
            "\"readOnlyHint\":true",
            "\"idempotentHint\":true",
        ],
        reads_lines: false,
        run: contract_file,
    },
    Target {
        name: "delivery",
        claim: "deliveries: an id that can be kept, at most one object, whose claim names what it may be linked by",
        divisor: 1,
        seeds: &[
            r#"0{"id":"evt_1","created":1791190800,"type":"made","request":{"idempotency_key":"ts-1"},"data":{"object":{"id":"ch_1","amount":10,"metadata":{"operation_key":"refund:7"}}}}"#,
            r#"1{"action":"opened","data":{"object":{"id":9007199254740993,"status":"gone"}}}"#,
            r#"2{"type":"undone","timestamp":"2026-10-05T09:00:00Z","data":{"object":{"id":"ch_1","amount":11}}}"#,
            r#"3{"object":"v2.core.event","id":"evt_2","account":"acct_1","type":"made"}"#,
        ],
        tokens: &[
            "\"made\"",
            "\"undone\"",
            "\"account\":",
            "\"created\":",
            "9223372036854775807",
            "\"status\":\"gone\"",
        ],
        reads_lines: false,
        run: destination::delivery,
    },
    Target {
        name: "look_up",
        claim: "answers to look-ups: the same each time, never nothing, and absence only where all was understood",
        divisor: 1,
        seeds: &[
            "\0{\"data\":[{\"id\":\"re_1\",\"key\":\"ts-1\",\"amount\":10,\"status\":\"ok\"}],\"has_more\":false}",
            "\0{\"data\":[],\"has_more\":true}",
            "\u{1}gone",
            "\u{20}{\"data\":[{\"id\":7,\"key\":\"ts-1\",\"amount\":10.0,\"status\":\"failed\"}]}",
            "\u{12}{\"id\":\"re_1\"}",
        ],
        tokens: &[
            "\"data\"",
            "\"id\"",
            "\"key\"",
            "\"ts-1\"",
            "\"amount\"",
            "\"has_more\"",
            "\"failed\"",
            "[",
            "]",
            "{",
            "}",
        ],
        reads_lines: false,
        run: destination::look_up,
    },
    Target {
        name: "request",
        claim: "requests: arguments change no line of the head, lead nowhere else, and go out as they were proposed",
        divisor: 1,
        seeds: &[
            "{\"order\":\"order-7\",\"amount\":10.00}",
            "{\"order\":9007199254740993,\"metadata\":{\"a\":[1,{\"b\":null}]}}",
            "{\"order\":\"a/b?c=d&e#f\\r\\nx: y\",\"metadata\":null}",
            "{\"order\":\"..\",\"metadata\":\"x\"}",
        ],
        tokens: &["\"order\"", "\"metadata\"", "\\r\\n", "%0d", "..", "?", "#", "\\u0000", "\"ref\""],
        reads_lines: true,
        run: destination::request,
    },
    Target {
        name: "words",
        claim: "states, actions, reasons and the other words of URLs and bodies: read only as what they print",
        divisor: 1,
        seeds: &[
            "uncertain(timeout)",
            "failed.proven(attested_then_proved)",
            "succeeded.attested",
            "mark_succeeded",
            "uncertain timeout",
            "key_expired",
            "irreversible",
            "verified",
            "542e1ad7f33ff109c191595d6dfaeffb38379ba78b0d75917f6f2a4ee8c3fca9",
        ],
        tokens: &[
            "uncertain",
            "succeeded",
            "failed",
            "contradicted",
            "(",
            ")",
            ".proven",
            "duplicate",
            "lost",
            "ABCDEF",
        ],
        reads_lines: false,
        run: words,
    },
    Target {
        name: "bodies",
        claim: "contracts, stakes and inputs of actions: what is read is written and read back the same",
        divisor: 1,
        seeds: BODIES,
        tokens: &[
            "key_retention_s",
            "lookup",
            "consistency",
            "\"strong\"",
            "cancel_by_key",
            "\"action\":",
            "\"judged\"",
            "negative_signals",
            "\"http\":503",
            "volatile_fields",
            "receipt",
            "pick",
        ],
        reads_lines: false,
        run: bodies,
    },
    Target {
        name: "redaction",
        claim: "secret fields: no member that a rule names keeps its value, and what is shown is JSON",
        divisor: 1,
        seeds: &[
            "secret\n{\"secret\":\"s\",\"a\":{\"secret\":[1,{\"x\":2}]}}",
            "/card/number\n{\"card\":{\"number\":\"4242\"},\"number\":1}",
            "card.number\n{\"card\":{\"number\":\"4242\"},\"card.number\":1}",
        ],
        tokens: &["/", ".", "~0", "~1", "secret", "number"],
        reads_lines: false,
        run: redaction,
    },
    Target {
        name: "stream",
        claim: "whole streams: the rules answer for every line, and telling all of it again changes nothing",
        divisor: 1_000,
        seeds: CASES,
        tokens: EVENT_TOKENS,
        reads_lines: false,
        run: stream,
    },
];

/// Files of the library, and annotations of an MCP tool.
const CONTRACT_FILES: &[&str] = &[
    include_str!("../../contracts/adyen.json"),
    include_str!("../../contracts/google-aip-155.json"),
    include_str!("../../contracts/aws-ec2.json"),
    r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":null}"#,
];

macro_rules! cases {
    ($($name:literal)*) => {
        &[$(include_str!(concat!("../../tests/cases/", $name, ".ndjson")),)*]
    };
}

/// What happened to people, as event streams.
pub const CASES: &[&str] = cases! {
    "R01" "R02" "R03" "R04" "R05" "R06" "R07" "R08" "R09" "R10" "R11"
    "R12" "R13" "R14" "R15" "R16" "R17" "R18" "R19" "R20" "R21"
};

const EVENT_TOKENS: &[&str] = &[
    "operation.proposed",
    "operation.authorized",
    "claim.taken",
    "claim.refused",
    "attempt.started",
    "attempt.ended",
    "reconcile.ended",
    "compensation.proposed",
    "delivery.received",
    "operator.action",
    "layer.declared",
    "\"outcome\":\"ok\"",
    "timeout",
    "conn_lost",
    "throttled",
    "rejected",
    "abandoned",
    "not_found",
    "ambiguous",
    "\"http\":503",
    "\"replayed\":true",
    "\"phase\":\"connect\"",
    "\"n\":4294967295",
    "\"n\":0",
    "\"claim\":\"c\"",
    "\"lease_s\":18446744073709551615",
    "\"lease_s\":0",
    "\"budget\":1",
    "\"receipt\":\"r\"",
    "\"dest_key\":\"k\"",
    "\"dest_contract\":{",
    "\"key_retention_s\":",
    "\"max_arrival_delay_s\":0",
    "\"signature_ok\":false",
    "\"provider_time\":\"",
    "\"sent_at\":\"",
    "\"deadline\":\"",
    "\"compensates\":\"op_1601\"",
    "\"selection\":{\"ops\":[\"a\"]}",
];

/// Members that no case has.
const LINES: &[&str] = &[
    r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a","n":1,"outcome":"conn_lost","phase":"tls","error":"e","replayed":true,"reported_by":"w","provider_time":"2026-10-05T08:59:00Z","budget":3}"#,
    r#"{"ts":"2026-10-05T09:00:00Z","ev":"reconcile.ended","op":"a","outcome":"found","receipt":"r","by":"natural_key","sent_at":"2026-10-05T08:00:00Z"}"#,
    r#"{"ts":"2026-10-05T09:00:00Z","ev":"operator.action","act":"x","verb":"retry","selection":{"ops":["a","b"]}}"#,
    r#"{"ts":"2026-10-05T09:00:00Z","ev":"delivery.received","event_id":9000000000000000101,"delivery":1,"type":"payment.failed","receipt":"r","metadata":{"key":"k"},"signature_ok":false}"#,
];

const JSON: &[&str] = &[
    r#"{"\ufb33":1,"\ud83d\ude02":2,"1":3,"\r":4,"\u20ac":5,"\u0080":6,"\u00f6":7}"#,
    "[1,-0,4.50,2e-3,1E30,333333333.33333329,9007199254740993,0.000000000000000000000000001]",
];

/// Two values, one a line, to be compared.
const PAIRS: &[&str] = &[
    "{\"a\":{\"b\":[{\"c\":[]}]},\"d\":null}\n{\"a\":{\"b\":[{\"c\":[1]}]},\"d\":\"e\\u0301\"}",
    "{\"a\":12345,\"b\":\"x\"}\n{\"b\":\"x\",\"a\":12345.0}",
    "[1,-0,4.50,2e-3,1E30]\n[1,0,4.5,0.002,1000000000000000000000000000000]",
];

const BODIES: &[&str] = &[
    r#"{"key_location":"header","key_retention_s":86400,"on_mismatch":"error","on_in_flight":"codes","stores":"any_once_started","lookup":{"by":"metadata","consistency":"strong","complete":true},"verification":"tested_live"}"#,
    r#"{"negative_signals":[{"http":503,"error":"x"}],"cancel_by_key":{"noop_on_absent":true},"compensation":{"tool":"refund","window_s":60},"volatile_fields":["a"],"layer_retries":"off"}"#,
    r#"{"action":"mark_succeeded","receipt":"r","reference":"t"}"#,
    r#"{"action":"pick_verdict","pick":"failed"}"#,
    r#"{"action":"judged","named":"look_up"}"#,
    r#"{"amount_minor":"amount","currency":"currency","people":"people"}"#,
];

fn source() -> Result<SourceName, String> {
    SourceName::parse("fuzz").map_err(|error| error.to_string())
}

pub(crate) fn hold(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// What is written as JSON reads back as the same.
fn survives_writing<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> Result<(), String> {
    let text = serde_json::to_string(value).map_err(|error| format!("{value:?} cannot be written: {error}"))?;
    let read: T = serde_json::from_str(&text).map_err(|error| format!("{text} does not read back: {error}"))?;
    if read == *value { Ok(()) } else { Err(format!("{text} reads back as {read:?}, not {value:?}")) }
}

fn line(bytes: &[u8]) -> Result<bool, String> {
    let source = source()?;
    let Ok(line) = Line::parse(bytes, &source) else { return Ok(false) };
    hold(EVENTS.contains(&line.event), "its event is not in the vocabulary")?;
    hold(matches!(Json::parse(bytes), Ok(Json::Object(_))), "it was read although it is no JSON object")?;
    survives_writing(&line.at)?;
    match line.says {
        Says::Operation { name, about, .. } => {
            survives_writing(&name)?;
            match about {
                About::Report(report) => survives_writing(&Fact::Report(report))?,
                About::Fact(fact) => survives_writing(&fact)?,
                About::Proposed(proposed) | About::CompensationProposed { proposed, .. } => {
                    if let Some((raw, json)) = &proposed.arguments {
                        hold(Json::parse(raw).as_ref() == Ok(json), "the bytes kept are not the arguments read")?;
                    }
                    survives_writing(&proposed.contract)?;
                }
            }
        }
        Says::Delivery { evidence, .. } => evidence.map_or(Ok(()), |one| survives_writing(&Fact::Evidence(one)))?,
        Says::Acted { names, fact } => {
            hold(!names.is_empty(), "an act on nothing")?;
            survives_writing(&fact)?;
        }
        Says::LayerDeclared(_) => {}
    }
    Ok(true)
}

fn json(bytes: &[u8]) -> Result<bool, String> {
    let read = match Json::parse(bytes) {
        Ok(read) => read,
        Err(error) => {
            // The other reader is laxer only in what is refused on purpose.
            let on_purpose =
                matches!(error.problem, JsonProblem::DuplicateName(_) | JsonProblem::TooDeep | JsonProblem::BadNumber);
            let lax = serde_json::from_slice::<serde_json::Value>(bytes);
            hold(on_purpose || lax.is_err(), &format!("refused without need: {error}"))?;
            return Ok(false);
        }
    };
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(bytes) {
        // Both stop at a depth; they count it from another end.
        hold(error.to_string().contains("recursion limit"), &format!("read although it is not JSON: {error}"))?;
    }
    let again = Json::parse(read.pretty().as_bytes());
    hold(again.as_ref() == Ok(&read), "what is shown does not read as the same value")?;
    if let Json::Object(members) = &read {
        let spans = Json::parse_members(bytes).map_err(|error| format!("its members are refused: {error}"))?;
        hold(spans.len() == members.len(), "it has other members than its spans")?;
        for (member, (name, value)) in spans.iter().zip(members) {
            hold(member.name == *name && member.value == *value, "a member differs from its span")?;
            hold(
                Json::parse(&bytes[member.span.clone()]).as_ref() == Ok(value),
                "the bytes of a span are not its value",
            )?;
        }
    } else {
        hold(Json::parse_members(bytes).is_err(), "something that is no object has members")?;
    }
    Ok(true)
}

fn fingerprint(bytes: &[u8]) -> Result<bool, String> {
    // Two values where a line break divides them, else one and itself turned round.
    let cut = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (first, second) = (&bytes[..cut], bytes.get(cut + 1..).unwrap_or_default());
    let Ok(one) = Json::parse(first) else { return Ok(false) };
    let canonical = one.canonical();
    let turned = turned_round(&one);
    hold(turned.canonical() == canonical, "the order of members changes the canonical form")?;
    hold(turned.hash() == one.hash(), "the order of members changes the hash")?;
    hold(diff(&one, &turned).is_empty(), "the order of members is a difference")?;
    hold(diff(&one, &one).is_empty(), "it differs from itself")?;
    hold(Hash::parse_hex(&one.hash().to_string()) == Some(one.hash()), "its hash does not read back")?;
    if let Ok(reread) = Json::parse(canonical.as_bytes()) {
        hold(reread.canonical() == canonical, "the canonical form of the canonical form is another")?;
    } else {
        hold(canonical.contains('#'), "a canonical form without exact digits is not JSON")?;
    }
    if let Json::Object(members) = &one
        && let Some((dropped, _)) = members.first()
    {
        let rest = members.iter().filter(|(name, _)| name != dropped).cloned().collect();
        let without = one.hash_without(std::slice::from_ref(dropped));
        hold(without == Json::Object(rest).hash(), "leaving a member out is not the same as not having it")?;
    }
    if let Ok(two) = Json::parse(second) {
        let differences = diff(&one, &two);
        if differences.is_empty() {
            hold(one.hash() == two.hash(), "no differences, and yet two hashes")?;
        } else if one.hash() == two.hash() {
            let is_spelling = differences.iter().all(|one| one.note == Some(Likeness::Spelling));
            hold(is_spelling, "the same hash, and yet differences that are not of spelling")?;
        }
    }
    Ok(true)
}

fn turned_round(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            Json::Object(members.iter().rev().map(|(name, value)| (name.clone(), turned_round(value))).collect())
        }
        Json::Array(items) => Json::Array(items.iter().map(turned_round).collect()),
        plain => plain.clone(),
    }
}

fn names(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    let mut any = false;
    macro_rules! each {
        ($($name:ident)*) => {$(
            if let Ok(name) = $name::parse(text) {
                any = true;
                hold(name.as_str() == text && name.to_string() == text, "a name is not as it was written")?;
                hold((1..=$name::LIMIT).contains(&text.chars().count()), "a name breaks its limit")?;
                hold(!text.chars().any(char::is_control), "a name holds a control character")?;
                survives_writing(&name)?;
            } else {
                hold(check_name("name", text, $name::LIMIT).is_err(), "a good name is refused")?;
            }
        )*};
    }
    each!(OperationId OperationKey SourceOperation ToolName DestinationName DestinationKey ActionKey SourceName Receipt);
    if let (Ok(name), source) = (SourceOperation::parse(text), source()?) {
        survives_writing(&OperationId::of_name(&name))?;
        survives_writing(&OperationKey::of_name(&source, &name))?;
    }
    let encoded = encoded(text);
    let is_plain = encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte));
    hold(is_plain && decoded(&encoded) == bytes, "an address does not carry the text")?;
    Ok(any)
}

fn decoded(encoded: &str) -> Vec<u8> {
    let mut parts = encoded.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2.min(part.len()));
        out.extend(u8::from_str_radix(digits, 16));
        out.extend_from_slice(rest.as_bytes());
    }
    out
}

fn query(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    let pairs = || text.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let operations = OperationQuery::from_pairs(pairs());
    if let Ok(query) = &operations {
        let written = query.to_pairs();
        let again = OperationQuery::from_pairs(written.iter().map(|(name, value)| (*name, value.as_str())));
        hold(again.as_ref() == Ok(query), "a query of operations does not read back")?;
        hold(query.limit.is_none_or(|limit| (1..=PAGE_LIMIT).contains(&limit)), "a page breaks its limit")?;
        survives_writing(query)?;
    }
    let queue = QueueQuery::from_pairs(pairs());
    if let Ok(query) = &queue {
        let written = query.to_pairs();
        let again = QueueQuery::from_pairs(written.iter().map(|(name, value)| (*name, value.as_str())));
        hold(again.as_ref() == Ok(query), "a query of the queue does not read back")?;
        survives_writing(query)?;
    }
    Ok(operations.is_ok() || queue.is_ok())
}

fn time(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    let Some(at) = Timestamp::parse_rfc3339(text) else { return Ok(false) };
    let printed = at.to_string();
    let again = Timestamp::parse_rfc3339(&printed);
    hold(again == Some(at), &format!("{at:?} prints as {printed}, which reads as {again:?}"))?;
    hold(printed.ends_with('Z'), "a time is not printed in UTC")?;
    survives_writing(&at)?;
    Ok(true)
}

fn retry_after(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    // 2026-10-05T09:00:00Z, and the edges of time.
    let moments = [1_791_190_800_000_000, 0, i64::MAX].map(Timestamp::from_micros);
    let read = moments.map(|now| parse_retry_after(text, now));
    for (now, read) in moments.iter().zip(&read) {
        hold(read.as_ref().map_or(true, |at| at >= now), "it asks to be called before it was received")?;
        let padded = parse_retry_after(&format!(" {text}\t"), *now);
        hold(padded.is_ok() == read.is_ok() && (padded == *read || read.is_err()), "blanks around it change it")?;
    }
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    hold(!is_number || read[0].is_ok(), "a number of seconds is refused")?;
    Ok(read[0].is_ok())
}

fn contract_file(bytes: &[u8]) -> Result<bool, String> {
    let mut any = false;
    if let Ok(declared) = Declared::parse(bytes) {
        any = true;
        survives_writing(&declared.contract)?;
        hold(!declared.name.is_empty() && !declared.title.is_empty(), "a contract without a name")?;
        let of_parts = declared.contract.provenance.is_some();
        hold(of_parts, "a promise of which nobody knows where it is from")?;
    }
    if let Ok(json) = Json::parse(bytes) {
        let annotations = Annotations::read(&json);
        let class = class_of(annotations, true);
        hold(
            class == Class::Irreversible || annotations.is_read_only(),
            "a hint lowers a class that it does not name",
        )?;
        any |= annotations.is_read_only();
        hold(class_of(annotations, false) == Class::Irreversible, "a hint of an untrusted server counts")?;
    }
    Ok(any)
}

fn words(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    let mut any = false;
    macro_rules! each {
        ($($enum:ident)*) => {$(
            if let Some(word) = $enum::parse(text) {
                any = true;
                hold(word.name() == text, "a word reads as another")?;
                survives_writing(&word)?;
            }
        )*};
    }
    each!(Action Mode Reason Severity Trust Class);
    let quoted = serde_json::Value::String(text.to_owned());
    if let Ok(state) = State::deserialize(quoted) {
        any = true;
        hold(state.to_string() == text, "a state reads as another")?;
        hold(State::WORDS.contains(&state.word()), "a state has no word for filters")?;
    }
    let (word, detail) = text.split_once(' ').map_or((text, None), |(word, detail)| (word, Some(detail)));
    if let Some(state) = State::from_parts(word, detail) {
        any = true;
        hold((state.word(), state.detail()) == (word, detail), "the parts of a state read as another's")?;
        survives_writing(&state)?;
    }
    if let Some(hash) = Hash::parse_hex(text) {
        any = true;
        hold(hash.to_string() == text.to_ascii_lowercase(), "a hash prints as another")?;
        survives_writing(&hash)?;
    }
    Ok(any)
}

fn bodies(bytes: &[u8]) -> Result<bool, String> {
    let mut any = false;
    if let Ok(contract) = serde_json::from_slice::<Contract>(bytes) {
        any = true;
        survives_writing(&contract)?;
        // Numbers of any size must not stop the clockwork.
        let spans = [contract.settle(), contract.watch(), contract.key_window().unwrap_or_default()];
        for span in spans {
            let _ = Timestamp::from_micros(i64::MAX - 1).plus(span);
        }
        hold(contract.clone().or(&Contract::default()) == contract, "silence changes a contract")?;
    }
    if let Ok(input) = serde_json::from_slice::<ActionInput>(bytes) {
        any = true;
        survives_writing(&input)?;
        hold(Action::parse(input.action().name()) == Some(input.action()), "an input of no action")?;
    }
    if let Ok(stake) = serde_json::from_slice::<Stake>(bytes) {
        any = true;
        survives_writing(&stake)?;
    }
    Ok(any)
}

fn redaction(bytes: &[u8]) -> Result<bool, String> {
    let cut = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let Ok(rule) = std::str::from_utf8(&bytes[..cut]) else { return Ok(false) };
    let Ok(mut shown) = Json::parse(bytes.get(cut + 1..).unwrap_or_default()) else { return Ok(false) };
    redact(&mut shown, &[rule.to_owned()]);
    let again = Json::parse(shown.pretty().as_bytes());
    hold(again.as_ref() == Ok(&shown), "what is shown does not read as JSON")?;
    hold(is_hidden(&shown, rule.trim_start_matches('/')), "a member that the rule names keeps its value")?;
    Ok(true)
}

/// Whether every member of this name, at any depth, holds a text that is the same for all.
fn is_hidden(json: &Json, name: &str) -> bool {
    match json {
        Json::Object(members) => members.iter().all(|(own, value)| {
            let hidden = own != name || value.as_str() == Some(tallystick_domain::contract::REDACTED);
            hidden && is_hidden(value, name)
        }),
        Json::Array(items) => items.iter().all(|item| is_hidden(item, name)),
        _ => true,
    }
}

fn stream(bytes: &[u8]) -> Result<bool, String> {
    let source = source()?;
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    // More lines find nothing new, and cost their square.
    let lines = &lines[..lines.len().min(24)];
    let mut explainer = Explainer::new(Stream::new(source.clone(), Trust::Verified), None);
    for (line, number) in lines.iter().zip(1..) {
        if let Some(explained) = explainer.tell(number, line) {
            serde_json::to_string(&explained).map_err(|error| format!("it cannot be written: {error}"))?;
            hold(!explained.text(Paint::Plain).contains('\u{1b}'), "a source wrote to the terminal")?;
        }
    }
    let end = explainer.end();
    serde_json::to_string(&end).map_err(|error| format!("it cannot be written: {error}"))?;

    let mut told = Stream::new(source.clone(), Trust::Verified);
    let read: Vec<Line> = lines.iter().filter_map(|line| Line::parse(line, &source).ok()).collect();
    for line in &read {
        told.tell(line).map_err(|refusal| format!("a line is refused: {refusal}"))?;
    }
    let versions = |stream: &Stream| -> Vec<_> {
        stream.records().map(|record| (record.head.id.clone(), record.version, record.facts.len())).collect()
    };
    let before = versions(&told);
    for line in &read {
        told.tell(line).map_err(|refusal| format!("a repeated line is refused: {refusal}"))?;
    }
    let after = versions(&told);
    let grown = before.iter().zip(&after).find(|(before, after)| before.2 != after.2);
    hold(before.len() == after.len(), "telling it again makes operations")?;
    if let Some((before, after)) = grown {
        return Err(format!("telling it again adds facts: {before:?} → {after:?}"));
    }
    Ok(!read.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_holds_and_most_of_each_target_are_read_by_it() {
        for target in TARGETS {
            let mut read = 0;
            for seed in target.seeds {
                let is_read = (target.run)(seed.as_bytes());
                read += usize::from(is_read.unwrap_or_else(|problem| panic!("{}: {seed}: {problem}", target.name)));
            }
            assert!(read * 2 > target.seeds.len(), "{}: {read} of {}", target.name, target.seeds.len());
        }
        for line in CASES.iter().flat_map(|case| case.lines()) {
            for target in TARGETS.iter().filter(|target| target.reads_lines) {
                assert_eq!((target.run)(line.as_bytes()).err(), None, "{}: {line}", target.name);
            }
        }
    }
}
