use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::cases;
use crate::intake::{Line, Says};
use crate::name::{DestinationName, SourceName, ToolName};
use crate::operation::{Finding, Severity};
use crate::proof::{proofs, prove, prove_that};
use crate::time::Timestamp;
use crate::tool::Class;

fn named(name: &str) -> LayerName {
    LayerName::parse(name).unwrap()
}

fn layer(name: &str, attempts: Option<Attempts>, on: &[&str]) -> Layer {
    Layer { name: named(name), attempts, on: on.iter().map(ToString::to_string).collect(), timeout: None }
}

fn fixed(name: &str, attempts: u64, on: &[&str]) -> Layer {
    layer(name, Some(Attempts::Fixed(attempts)), on)
}

fn audited(class: Class, layers: &[Layer], practices: &[Practice], observed_sends: u64) -> Audit {
    audit(&Stack { class, layers, owners: &BTreeMap::new(), practices, observed_sends })
}

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn declarations(case: &str) -> Vec<Declaration> {
    let source = SourceName::parse("test").unwrap();
    let says = case.lines().map(|line| Line::parse(line.as_bytes(), &source).unwrap().says);
    says.map(|says| match says {
        Says::LayerDeclared(declaration) => declaration,
        other => panic!("not a declaration: {other:?}"),
    })
    .collect()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse_rfc3339(text).unwrap()
}

proofs! {
    fn r06_two_layers_multiply_until_one_is_switched_off() {
        let declared = declarations(cases::R06);
        let llm = DestinationName::parse("llm").unwrap();
        let in_force = |time: &str| layers_in_force(&declared, Some(&llm), None, at(time));

        let both = in_force("2026-10-05T13:00:00Z");
        let first = audited(Class::Irreversible, &both, &[], 0);
        prove!("4.5", first.worst_case.to_string(), "12");
        prove!("4.5", first.timeout, Some(Duration::from_hours(2)));
        let texts: Vec<_> = first.findings.iter().map(|finding| finding.text.as_str()).collect();
        prove!("4.5", texts, ["Two owners for 429 and for timeout: app, sdk. Leave one and switch the others off."]);
        prove!("4.5", first.owners, BTreeMap::from([(RetryClass::Temporary, vec![named("app"), named("sdk")])]));
        prove_that!("4.5", !first.is_clean());
        // A refused connection that app reports may describe the second try of sdk.
        prove!("4.5", retries_beside(&both, Some(&named("app"))), Some(LayerRetries::On));

        let one = in_force("2026-10-05T13:05:00Z");
        let second = audited(Class::Irreversible, &one, &[], 0);
        prove!("4.5", second.worst_case.to_string(), "4");
        prove!("4.5", second.timeout, Some(Duration::from_mins(40)));
        prove!("4.5", second.owners, BTreeMap::from([(RetryClass::Temporary, vec![named("app")])]));
        prove_that!("4.5", second.is_clean() && second.findings.is_empty());
        prove!("4.5", retries_beside(&one, Some(&named("app"))), Some(LayerRetries::Off));

        prove!("4.5", in_force("2026-10-05T12:59:59Z"), vec![], "not declared yet");
        let other = DestinationName::parse("bank").unwrap();
        prove!("4.5", layers_in_force(&declared, Some(&other), None, at("2026-10-06T00:00:00Z")), vec![]);
    }

    fn declarations_read_alike_in_any_order() {
        let lines: Vec<&str> = cases::R06.lines().collect();
        let llm = DestinationName::parse("llm").unwrap();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let text = order.map(|index| lines[index]).join("\n");
            let layers = layers_in_force(&declarations(&text), Some(&llm), None, at("2026-10-06T00:00:00Z"));
            prove!("4.5", WorstCase::of(&layers).to_string(), "4", "{order:?}");
        }
    }

    fn the_narrower_declaration_wins_and_of_two_at_once_the_more_cautious() {
        let line = |tool: &str, attempts: i64| {
            format!(
                r#"{{"ts":"2026-10-05T13:00:00Z","ev":"layer.declared","dest":"psp",{tool}"layer":"sdk","max_attempts":{attempts}}}"#
            )
        };
        let text = [line("", 3), line("", 5), line(r#""tool":"refund","#, 1), line(r#""tool":"refund","#, -1)].join("\n");
        let (psp, refund) = (DestinationName::parse("psp").unwrap(), ToolName::parse("refund").unwrap());
        let declared = declarations(&text);
        let sends = |declared: &[Declaration], tool| {
            WorstCase::of(&layers_in_force(declared, Some(&psp), tool, at("2026-10-06T00:00:00Z"))).to_string()
        };
        prove!("4.5", sends(&declared, None), "5");
        prove!("4.5", sends(&declared, Some(&refund)), "∞");
        prove!("4.5", sends(&declared[..3], Some(&refund)), "1");
    }

    fn the_worst_case_is_the_product_over_all_layers() {
        let unknown = layer("queue", None, &[]);
        let endless = layer("temporal", Some(Attempts::Unlimited), &[]);
        for (layers, sends) in [
            (vec![], "1"),
            (vec![fixed("a", 3, &[]), fixed("b", 3, &[]), fixed("c", 3, &[])], "27"),
            (vec![fixed("a", 4, &[]), fixed("b", 4, &[]), fixed("c", 4, &[])], "64"),
            (vec![fixed("a", 4, &[]), fixed("b", 1, &[])], "4"),
            (vec![fixed("a", 4, &[]), unknown.clone()], "≥ 4"),
            (vec![fixed("a", 4, &[]), endless.clone()], "∞"),
            (vec![unknown, endless], "∞"),
            (vec![fixed("a", u64::MAX, &[]), fixed("b", 2, &[])], "18446744073709551615"),
        ] {
            prove!("4.5", WorstCase::of(&layers).to_string(), sends);
        }
    }

    fn settings_that_count_retries_are_not_settings_that_count_attempts() {
        for (setting, as_attempts, as_retries) in [
            (2, Some(Attempts::Fixed(2)), Some(Attempts::Fixed(3))),
            (1, Some(Attempts::Fixed(1)), Some(Attempts::Fixed(2))),
            (0, None, Some(Attempts::Fixed(1))),
            (-1, Some(Attempts::Unlimited), Some(Attempts::Unlimited)),
            (-2, None, None),
        ] {
            prove!("4.5", Attempts::from_attempts(setting), as_attempts, "{setting} attempts");
            prove!("4.5", Attempts::from_retries(setting), as_retries, "{setting} retries");
        }
    }

    fn each_class_has_one_owner_and_each_owner_one_class() {
        for (class, owner) in [
            (RetryClass::Connection, LayerKind::Transport),
            (RetryClass::Temporary, LayerKind::Adapter),
            (RetryClass::Restart, LayerKind::Workflow),
            (RetryClass::Replanning, LayerKind::Agent),
        ] {
            prove!("4.5", (class.owner(), owner.class()), (owner, class));
            prove!("4.5", LayerKind::parse(owner.name()), Some(owner));
            // A layer of that kind that does not say on what it retries owns just that class.
            prove!("4.5", fixed(owner.name(), 2, &[]).classes(), [class].into());
        }
        for (signal, class) in [
            ("connect", RetryClass::Connection),
            ("DNS", RetryClass::Connection),
            ("429", RetryClass::Temporary),
            ("timeout", RetryClass::Temporary),
            ("never heard of", RetryClass::Temporary),
            ("crash", RetryClass::Restart),
            ("semantic", RetryClass::Replanning),
        ] {
            prove!("4.5", RetryClass::of_signal(signal), class, "{signal}");
        }
    }

    fn four_layers_that_keep_to_their_class_are_clean() {
        let layers = [
            fixed("transport", 2, &["connect"]),
            fixed("adapter", 3, &["429", "503"]),
            fixed("workflow", 2, &["crash"]),
            fixed("agent", 2, &["semantic"]),
        ];
        let audit = audited(Class::Irreversible, &layers, &[], 24);
        prove_that!("I19", audit.findings.is_empty(), "{:?}", audit.findings);
        prove!("4.5", (audit.worst_case.to_string(), audit.owners.len()), ("24".to_owned(), 4));
    }

    fn two_owners_of_a_class_are_found_even_on_different_signals() {
        for (one, other, text) in [
            (
                fixed("app", 2, &["429"]),
                fixed("stripe-sdk", 3, &["503"]),
                "Two owners for throttling and temporary errors: app, stripe-sdk. Leave one and switch the others off (stripe-sdk: max_network_retries = 0).",
            ),
            (
                fixed("app", 2, &["429", "connect"]),
                fixed("gateway", 3, &["429"]),
                "Two owners for 429: app, gateway. Leave one and switch the others off.",
            ),
            (
                // Nobody says on what it retries: it may be anything.
                fixed("app", 2, &[]),
                fixed("transport", 3, &[]),
                "Two owners for connections: app, transport. Leave one and switch the others off.",
            ),
        ] {
            let audit = audited(Class::Idempotent, &[one, other], &[], 0);
            prove!("4.5", codes(&audit.findings), ["two_owners"]);
            prove!("4.5", audit.findings[0].text, text);
        }
        let off = audited(Class::Idempotent, &[fixed("app", 2, &["429"]), fixed("sdk", 1, &["429"])], &[], 0);
        prove_that!("4.5", off.findings.is_empty(), "a layer with one attempt owns nothing");
    }

    fn i19_a_layer_other_than_the_declared_owner_is_found() {
        let owners = BTreeMap::from([(RetryClass::Temporary, named("tallystick"))]);
        let layers = [fixed("aws-sdk", 3, &["429"])];
        let stack = Stack { class: Class::Reversible, layers: &layers, owners: &owners, practices: &[], observed_sends: 0 };
        let audit = audit(&stack);
        prove!("I19", codes(&audit.findings), ["owner_not_declared"]);
        prove!(
            "I19",
            audit.findings[0].text,
            "aws-sdk retries throttling and temporary errors, but tallystick is declared to own that. Switch it off: max_attempts = 1."
        );
        let ours = [fixed("tallystick", 3, &["429"]), fixed("aws-sdk", 1, &[])];
        prove_that!("I19", super::audit(&Stack { layers: &ours, ..stack }).findings.is_empty());
    }

    fn a_transport_that_repeats_what_was_sent_is_found() {
        let wrong = audited(Class::Reversible, &[fixed("envoy", 2, &["connect-failure", "5xx"])], &[], 0);
        prove!("4.5", codes(&wrong.findings), ["owner_out_of_place"]);
        prove_that!("4.5", !wrong.is_clean());
        let right = audited(Class::Reversible, &[fixed("envoy", 2, &["connect-failure"])], &[], 0);
        prove_that!("4.5", right.findings.is_empty());
        // An adapter that also repeats connections is a notice: nothing was sent there.
        let notice = audited(Class::Reversible, &[fixed("aws-sdk", 2, &["429", "connect"])], &[], 0);
        prove!("4.5", codes(&notice.findings), ["owner_out_of_place"]);
        prove_that!("4.5", notice.is_clean());
    }

    fn unlimited_retries_fail_the_audit_for_the_classes_that_cannot_be_repeated() {
        let endless = [layer("temporal", Some(Attempts::Unlimited), &["crash"])];
        for (class, is_clean) in [
            (Class::Read, true),
            (Class::Idempotent, true),
            (Class::Reversible, false),
            (Class::Irreversible, false),
        ] {
            let audit = audited(class, &endless, &[], 1_000);
            prove!("4.5", (audit.is_clean(), audit.worst_case.to_string()), (is_clean, "∞".to_owned()), "{class:?}");
            prove!("4.5", audit.timeout, None);
        }
    }

    fn more_sends_than_the_declared_product_are_found() {
        let layers = [fixed("app", 4, &["429"]), fixed("transport", 3, &["connect"])];
        for (observed, found) in [(0, false), (12, false), (13, true)] {
            let audit = audited(Class::Read, &layers, &[], observed);
            prove!("4.5", codes(&audit.findings).contains(&"sends_above_declared"), found, "{observed} sends");
        }
        // A layer that nobody knows explains any number; nothing declared contradicts nothing.
        let unknown = audited(Class::Read, &[fixed("app", 4, &["429"]), layer("go-transport", None, &[])], &[], 99);
        prove!("4.5", codes(&unknown.findings), ["unknown_layer"]);
        prove!("4.5", codes(&audited(Class::Read, &[], &[], 99).findings), Vec::<&str>::new());
    }

    fn practices_are_found_where_the_rules_forbid_them() {
        let hedging = Practice::Hedging { layer: named("envoy") };
        let mcp = |max_retry_attempts| Practice::McpRetries { max_retry_attempts };
        for (class, practice, found) in [
            (Class::Read, hedging.clone(), vec![]),
            (Class::Idempotent, hedging.clone(), vec!["hedged_write"]),
            (Class::Irreversible, hedging, vec!["hedged_write"]),
            (Class::Read, mcp(3), vec![]),
            (Class::Idempotent, mcp(1), vec!["mcp_retries_write"]),
            (Class::Reversible, mcp(-1), vec!["mcp_retries_write"]),
            (Class::Irreversible, mcp(0), vec![]),
            (Class::Read, Practice::StickyApproval, vec!["sticky_approval"]),
            (Class::Irreversible, Practice::StickyApproval, vec!["sticky_approval"]),
        ] {
            let audit = audited(class, &[], std::slice::from_ref(&practice), 0);
            prove!("4.5", codes(&audit.findings), found, "{class:?} {practice:?}");
            prove!("4.5", audit.is_clean(), audit.findings.is_empty());
        }
    }

    fn i19_a_mark_of_an_earlier_send_that_is_not_on_record_is_found() {
        for (name, value, send, expected, is_found) in [
            ("http.request.resend_count", "0", 1, 1, false),
            ("http.request.resend_count", "1", 2, 1, true),
            ("X-Envoy-Attempt-Count", "1", 1, 1, false),
            ("x-envoy-attempt-count", "3", 3, 1, true),
            ("grpc-previous-rpc-attempts", "1", 2, 1, true),
            ("amz-sdk-request", "attempt=1", 1, 1, false),
            ("amz-sdk-request", "attempt=2; max=3", 2, 1, true),
            ("amz-sdk-request", "ttl=20261129T120000Z; attempt=2; max=3", 2, 2, false),
        ] {
            let signal = RetrySignal::read(name, value).unwrap();
            prove!("I19", signal.send(), send, "{name}: {value}");
            prove!("I19", find_hidden_retry(signal, expected).is_some(), is_found, "{name}: {value}");
        }
        for (name, value) in [
            ("x-envoy-attempt-count", "many"),
            ("grpc-previous-rpc-attempts", "-1"),
            ("amz-sdk-request", "max=3"),
            ("x-request-id", "2"),
        ] {
            prove!("I19", RetrySignal::read(name, value), None, "{name}: {value}");
        }
        let finding = find_hidden_retry(RetrySignal::EnvoyAttemptCount { count: 3 }, 1).unwrap();
        prove!("I19", (finding.code.as_str(), finding.severity), ("hidden_retry", Severity::Audit));
        prove!(
            "I19",
            finding.text,
            "x-envoy-attempt-count shows send number 3 where 1 is on record: a layer that does not own the retries made them."
        );
    }

    fn every_known_layer_is_found_by_its_name_with_what_it_does() {
        let table: Vec<(&str, &str)> =
            KNOWN_LAYERS.iter().map(|known| (known.name, known.kind.name())).collect();
        prove!("4.5", table.len(), 13);
        for known in KNOWN_LAYERS {
            prove!("4.5", known_layer(&known.name.to_uppercase()), Some(known));
            prove_that!("4.5", !known.found.is_empty() && !known.signal.is_empty());
        }
        for (name, attempts) in [
            ("reqwest", Some(Attempts::Fixed(3))),
            ("hyper-util", Some(Attempts::Fixed(1))),
            ("go-transport", None),
            ("stripe-sdk", Some(Attempts::Fixed(3))),
            ("aws-sdk", Some(Attempts::Fixed(3))),
            ("openai-agents-mcp", Some(Attempts::Fixed(1))),
            ("envoy", Some(Attempts::Fixed(1))),
            ("grpc", Some(Attempts::Fixed(1))),
            ("temporal", Some(Attempts::Unlimited)),
            ("aws-durable-functions", Some(Attempts::Fixed(6))),
            ("restate", Some(Attempts::Fixed(70))),
            ("dbos-step", Some(Attempts::Fixed(1))),
            ("dbos-workflow", Some(Attempts::Fixed(100))),
        ] {
            prove!("4.5", known_layer(name).map(|known| known.default), Some(attempts), "{name}");
        }
        // What a declaration leaves out is taken as the layer comes.
        let silent = declarations(r#"{"ts":"2026-10-05T13:00:00Z","ev":"layer.declared","dest":"psp","layer":"temporal"}"#);
        let psp = DestinationName::parse("psp").unwrap();
        let layers = layers_in_force(&silent, Some(&psp), None, at("2026-10-06T00:00:00Z"));
        prove!("4.5", layers[0].attempts, Some(Attempts::Unlimited));
    }

    fn whether_anything_beside_the_sender_retries_is_unknown_until_told() {
        let app = named("app");
        for (layers, retries) in [
            (vec![], None),
            (vec![fixed("app", 4, &[])], None),
            (vec![fixed("app", 4, &[]), layer("sdk", None, &[])], None),
            (vec![fixed("app", 4, &[]), fixed("sdk", 1, &[])], Some(LayerRetries::Off)),
            (vec![fixed("app", 4, &[]), fixed("sdk", 2, &[])], Some(LayerRetries::On)),
            (vec![layer("sdk", None, &[]), fixed("mesh", 2, &[])], Some(LayerRetries::On)),
        ] {
            prove!("4.5", retries_beside(&layers, Some(&app)), retries, "{layers:?}");
        }
    }

    /// The worst case never understates: no way through the layers sends more often.
    fn the_worst_case_covers_every_run() {
        let stacks = prop::collection::vec(1_u64..5, 0..5);
        proptest!(|(counts in stacks, seed in any::<u64>())| {
            let layers: Vec<_> = counts.iter().map(|count| fixed("any", *count, &[])).collect();
            let mut random = seed | 1;
            // Each layer calls the one below it between once and its attempts, at every call anew.
            let mut calls = 1_u64;
            for most in &counts {
                let mut below = 0;
                for _ in 0..calls {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    below += 1 + (random >> 33) % most;
                }
                calls = below;
            }
            let Attempts::Fixed(worst) = WorstCase::of(&layers).sends else { panic!("no layer is unlimited") };
            prove_that!("4.5", calls <= worst, "{calls} sends of at most {worst}");
        });
    }
}
