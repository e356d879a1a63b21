//! What voids a proof (semantics 3.4), condition by condition.

use super::{Case, answered, declined, ended, executed, failed_at, not_sent, refused, succeeded, unknown};
use crate::attempt::{Circumstance, H2, H2Code, Headers, Phase, ReportedOutcome};
use crate::contract::LayerRetries;
use crate::operation::Doubt::{NoReceipt, Reset, UndeclaredStatus};
use crate::proof::{proofs, prove, prove_that};

/// Every failure point that is `not_sent`, with its row.
const UNSENT: [(Phase, &str); 6] = [
    (Phase::Prepare, "E2"),
    (Phase::Resolve, "E3"),
    (Phase::Connect, "E4"),
    (Phase::Tls, "E5"),
    (Phase::Proxy, "E6"),
    (Phase::Pool, "E7"),
];

fn refused_stream() -> Case {
    ended(ReportedOutcome::ConnLost).with(|end| {
        end.h2 = Some(H2 { reset: Some(H2Code::RefusedStream), ..H2::default() });
    })
}

proofs! {
    fn i13_an_outside_phase_counts_only_with_layer_retries_off() {
        for (phase, rule) in UNSENT {
            let outside = failed_at(phase);
            prove!("3.4.1", outside.says(), unknown(Reset, rule), "{phase:?}");
            prove!("3.4.1", outside.clone().retries(LayerRetries::On).says(), unknown(Reset, rule), "{phase:?}");
            prove!("I13", outside.retries(LayerRetries::Off).says(), not_sent(rule), "{phase:?}");
        }
    }

    fn i13_our_own_phase_counts_by_itself_unless_a_layer_below_is_known_to_retry() {
        for (phase, rule) in UNSENT {
            let own = failed_at(phase).own();
            prove!("I13", own.says(), not_sent(rule), "{phase:?}");
            prove!("I13", own.clone().retries(LayerRetries::Off).says(), not_sent(rule), "{phase:?}");
            prove!("3.4.1", own.retries(LayerRetries::On).says(), unknown(Reset, rule), "{phase:?}");
        }
    }

    fn e08_an_outside_refused_stream_counts_only_with_layer_retries_off() {
        let outside = refused_stream().one_hop();
        prove!("E8", outside.says(), unknown(Reset, "E8"));
        prove!("E8", outside.retries(LayerRetries::Off).says(), not_sent("E8"));
    }

    fn c341_a_hidden_retry_voids_every_negative_proof_and_is_named() {
        let hidden = |case: Case| case.amid(Circumstance::HiddenRetry);
        prove!("3.4.1", hidden(failed_at(Phase::Connect).own()).says(), unknown(Reset, "E4"));
        prove!("3.4.1", hidden(answered(422)).says(), unknown(UndeclaredStatus, "E23"));
        prove!("3.4.1", hidden(answered(402)).says(), unknown(UndeclaredStatus, "E24"));
        prove!("3.4.1", hidden(succeeded(200).receipt()).says(), executed("E16"));
        prove_that!("3.4.1", hidden(answered(422)).judged().text.contains("a layer below may have sent it before"));
    }

    fn c341_a_declared_retrying_layer_voids_phases_and_not_answers() {
        prove!("3.4.1", answered(422).retries(LayerRetries::On).says(), refused("E23"));
    }

    fn c341_headers_that_count_sends_show_a_hidden_retry() {
        let counted = |name: &str, value: &str| {
            let headers: Headers = [(name.to_owned(), value.to_owned())].into_iter().collect();
            answered(422).with(|end| end.headers = headers).says()
        };
        prove!("3.4.1", counted("X-Envoy-Attempt-Count", "1"), refused("E23"));
        prove!("3.4.1", counted("X-Envoy-Attempt-Count", "2"), unknown(UndeclaredStatus, "E23"));
        prove!("3.4.1", counted("grpc-previous-rpc-attempts", "1"), unknown(UndeclaredStatus, "E23"));
        prove!("3.4.1", counted("x-envoy-attempt-count", "two"), refused("E23"));
    }

    fn e08_an_intermediary_voids_a_refused_stream() {
        prove!("E8", refused_stream().own().says(), unknown(Reset, "E8"));
        prove!("3.4.2", refused_stream().own().one_hop().amid(Circumstance::Intermediary).says(), unknown(Reset, "E8"));
        prove!("E8", refused_stream().own().one_hop().says(), not_sent("E8"));
    }

    fn c342_failing_to_reach_the_intermediary_at_all_stays_a_proof() {
        for (phase, rule) in UNSENT {
            prove!(
                "3.4.2",
                failed_at(phase).own().amid(Circumstance::Intermediary).says(),
                not_sent(rule),
                "{phase:?}"
            );
        }
    }

    fn c342_an_intermediary_that_is_told_counts_as_one_that_is_declared() {
        let told = answered(400).irreversible().one_hop().amid(Circumstance::Intermediary);
        prove!("3.4.2", told.says(), unknown(UndeclaredStatus, "E23"));
    }

    fn c343_early_data_voids_what_came_after_a_byte_could_leave() {
        for (phase, rule) in UNSENT {
            let says = failed_at(phase).own().amid(Circumstance::EarlyData).says();
            let stands = ["E2", "E3", "E7"].contains(&rule);
            prove!("3.4.3", says, if stands { not_sent(rule) } else { unknown(Reset, rule) }, "{phase:?}");
        }
        let early = |case: Case| case.own().one_hop().amid(Circumstance::EarlyData).says();
        prove!("3.4.3", early(refused_stream()), unknown(Reset, "E8"));
        prove!("3.4.3", early(answered(422)), unknown(UndeclaredStatus, "E23"));
        prove!("3.4.3", early(answered(425)).0, crate::verdict::Verdict::RefusedRetryable);
    }

    fn c344_hedging_voids_every_negative_proof() {
        let hedged = |case: Case| case.amid(Circumstance::Hedging).says();
        prove!("3.4.4", hedged(failed_at(Phase::Resolve).own()), unknown(Reset, "E3"));
        prove!("3.4.4", hedged(answered(429)), unknown(UndeclaredStatus, "E32"));
        prove!("3.4.4", hedged(answered(402)), unknown(UndeclaredStatus, "E24"));
        prove!("3.4.4", hedged(succeeded(201).receipt()), executed("E16"));
    }

    fn c345_failover_voids_every_negative_proof() {
        let moved = |case: Case| case.amid(Circumstance::Failover).says();
        prove!("3.4.5", moved(failed_at(Phase::Connect).own()), unknown(Reset, "E4"));
        prove!(
            "3.4.5",
            moved(answered(409).promised(|c| c.conflict_signals = Some(super::status_signal(409)))),
            unknown(UndeclaredStatus, "E28")
        );
        prove!("3.4.5", moved(succeeded(201).receipt()), executed("E16"));
    }

    fn c346_a_mix_of_modes_voids_success_too() {
        let mixed = |case: Case| case.amid(Circumstance::ModeMix).says();
        prove!("3.4.6", mixed(succeeded(200).receipt()), unknown(NoReceipt, "E16"));
        prove!("3.4.6", mixed(answered(422)), unknown(UndeclaredStatus, "E23"));
        prove!("3.4.6", mixed(failed_at(Phase::Connect).own()), unknown(Reset, "E4"));
    }

    fn c344_nothing_in_play_voids_nothing() {
        prove!("3.4.4", answered(402).says(), declined("E24"));
        prove!("3.4.4", answered(422).says(), refused("E23"));
    }

    fn c341_unknown_stays_what_it_was() {
        for circumstance in Circumstance::ALL.iter().copied() {
            let silent = failed_at(Phase::Written).own();
            prove!("3.4.1", silent.clone().amid(circumstance).says(), silent.says(), "{circumstance:?}");
        }
    }
}
