//! No verdict is stronger than its source (semantics 3.1, 4.0; I38).

use super::{answered, ended, failed_at, signal, status_signal, succeeded, unknown};
use crate::attempt::{Phase, ReportedOutcome};
use crate::contract::LayerRetries;
use crate::evidence::{Strength, Trust};
use crate::operation::Doubt::{InFlight, Likely, NoReceipt, Reset, ServerError, UndeclaredStatus};
use crate::proof::{proofs, prove, prove_that};
use crate::verdict::Verdict;

proofs! {
    fn e16_a_receipt_is_as_strong_as_its_source() {
        let of = |trust| succeeded(200).receipt().from(trust).says();
        prove!("I38", of(Trust::Verified), (Verdict::Executed, "E16".into(), Strength::P3));
        prove!("I38", of(Trust::Declared), (Verdict::Unknown(Likely), "E16".into(), Strength::P2));
        prove!("I38", of(Trust::Unknown), unknown(NoReceipt, "E16"));
    }

    fn i38_a_declared_source_may_refuse_and_an_unknown_one_may_not() {
        let refusal = |trust| answered(422).from(trust).says();
        prove!("I38", refusal(Trust::Declared), (Verdict::RefusedPermanent, "E23".into(), Strength::P2));
        prove!("I38", refusal(Trust::Unknown), unknown(UndeclaredStatus, "E23"));
        let unsent = |trust| failed_at(Phase::Connect).retries(LayerRetries::Off).from(trust).says();
        prove!("I38", unsent(Trust::Declared), (Verdict::NotSent, "E4".into(), Strength::P1));
        prove!("I38", unsent(Trust::Unknown), unknown(Reset, "E4"));
    }

    fn i38_what_the_cap_takes_away_keeps_the_reason_of_its_content() {
        let of = |status, trust| answered(status).from(trust).says().0;
        prove!("I38", of(429, Trust::Unknown), Verdict::Unknown(UndeclaredStatus));
        prove!("I38", of(402, Trust::Unknown), Verdict::Unknown(UndeclaredStatus));
        let declared = answered(503).promised(|c| c.negative_signals = Some(status_signal(503)));
        prove!("I38", declared.from(Trust::Unknown).says(), unknown(ServerError, "E22"));
        let inside =
            ended(ReportedOutcome::Rejected).with(|end| (end.http, end.error) = (Some(200), Some("no".into())));
        let declared = inside.promised(|c| c.negative_signals = Some(signal(200, "no")));
        prove!("I38", declared.from(Trust::Unknown).says(), unknown(NoReceipt, "E19"));
    }

    fn i38_a_declared_statement_is_a_hint_from_an_unknown_source() {
        let busy = answered(409).promised(|c| c.in_flight_signals = Some(status_signal(409)));
        prove!("I38", busy.clone().from(Trust::Declared).says().2, Strength::P2);
        prove!("I38", busy.from(Trust::Unknown).says(), unknown(InFlight, "E27"));
        let gone = answered(404)
            .after_open()
            .promised(|c| (c.removes, c.gone_signals) = (Some(true), Some(status_signal(404))));
        prove!("I38", gone.from(Trust::Unknown).says(), unknown(UndeclaredStatus, "E25"));
    }

    fn i38_lowering_trust_only_weakens() {
        let cases = [
            succeeded(200).receipt(),
            answered(422),
            answered(402),
            answered(500),
            failed_at(Phase::Tls).retries(LayerRetries::Off),
        ];
        for case in cases {
            let strengths = Trust::ALL.map(|trust| case.clone().from(trust).says().2);
            prove_that!("I38", strengths.is_sorted(), "{:?}: {strengths:?}", case.end);
        }
    }
}
