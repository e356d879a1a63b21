//! E27–E30, E35: what an answer says of an earlier request under the same key (semantics 3.3).

use super::{answered, declined, executed, headers, refused, signal, stated, status_signal, succeeded, unknown};
use crate::contract::Signal;
use crate::operation::Doubt::{InFlight, KeyMismatch, ReplayedError, ServerError, UndeclaredStatus};
use crate::proof::{proofs, prove};

proofs! {
    fn e27_a_declared_code_means_in_flight() {
        let busy = answered(409).with(|end| end.error = Some("idempotency_key_in_use".into()));
        prove!("E27", busy.says(), unknown(UndeclaredStatus, "E28"));
        let declared = busy.promised(|c| c.in_flight_signals = Some(signal(409, "idempotency_key_in_use")));
        prove!("E27", declared.says(), stated(InFlight, "E27"));
        prove!("E27", declared.with(|end| end.error = None).says(), unknown(UndeclaredStatus, "E28"));
    }

    fn e27_adyens_704_means_in_flight_at_422_too() {
        let busy = answered(422).with(|end| end.error = Some("704".into()));
        let by_code = vec![Signal { error: Some("704".into()), ..Signal::default() }];
        prove!("E27", busy.clone().promised(|c| c.in_flight_signals = Some(by_code)).says(), stated(InFlight, "E27"));
        prove!("E27", busy.says(), refused("E23"));
    }

    fn e28_a_declared_conflict_is_refused_while_nothing_is_open() {
        let exists = answered(409).promised(|c| c.conflict_signals = Some(status_signal(409)));
        prove!("E28", exists.says(), refused("E28"));
        prove!("E28", exists.after_open().says(), unknown(UndeclaredStatus, "E28"));
    }

    fn e28_an_undeclared_409_is_unknown() {
        prove!("E28", answered(409).says(), unknown(UndeclaredStatus, "E28"));
        prove!("E28", answered(409).promised(|c| c.negative_signals = Some(status_signal(409))).says(), refused("E28"));
    }

    fn e29_a_false_precondition_is_refused() {
        prove!("E29", answered(412).says(), refused("E29"));
        prove!("E29", answered(412).after_open().says(), refused("E29"));
        let locked = answered(409).promised(|c| c.precondition_signals = Some(status_signal(409)));
        prove!("E29", locked.says(), refused("E29"));
        prove!("E29", answered(409).says(), unknown(UndeclaredStatus, "E28"));
    }

    fn e30_a_mismatch_is_known_only_by_its_declared_code() {
        for status in [400, 422] {
            let mismatch = answered(status).with(|end| end.error = Some("idempotency_error".into()));
            prove!("E30", mismatch.says(), refused("E23"));
            let declared = mismatch.promised(|c| c.mismatch_signals = Some(signal(status, "idempotency_error")));
            prove!("E30", declared.says(), stated(KeyMismatch, "E30"));
            prove!("E30", declared.with(|end| end.error = Some("parameter_missing".into())).says(), refused("E23"));
        }
    }

    fn e30_a_mismatch_inside_a_200_is_a_mismatch() {
        let code = "IDEMPOTENCY_KEY_PARAMETER_MISMATCH";
        let inside = succeeded(200).with(|end| end.error = Some(code.into()));
        prove!(
            "E30",
            inside.promised(|c| c.mismatch_signals = Some(signal(200, code))).says(),
            stated(KeyMismatch, "E30")
        );
    }

    fn e35_a_replayed_answer_proves_what_the_first_did() {
        let marked = |case: super::Case| case.with(|end| end.replayed = true).says();
        prove!("E35", marked(succeeded(200).receipt()), executed("E35"));
        prove!("E35", marked(answered(422)), refused("E35"));
        prove!("E35", marked(answered(402)), declined("E35"));
    }

    fn e35_i14_a_replayed_error_stays_unknown_for_ever() {
        for status in [500, 501, 503] {
            let replayed = answered(status).one_hop().with(|end| end.replayed = true);
            prove!("E35", replayed.says(), unknown(ReplayedError, "E35"), "{status}");
            let declared = replayed.promised(|c| c.negative_signals = Some(status_signal(status)));
            prove!("E35", declared.says(), unknown(ReplayedError, "E35"), "{status}");
        }
    }

    fn e35_the_marker_is_the_contracts_header() {
        let marked = answered(500).with(|end| end.headers = headers(&[("Idempotent-Replayed", "true")]));
        prove!("E35", marked.says(), unknown(ServerError, "E21"));
        let known = marked.promised(|c| c.replay_marker = Some("idempotent-replayed: true".into()));
        prove!("E35", known.says(), unknown(ReplayedError, "E35"));
        let first = known.with(|end| end.headers = headers(&[("Idempotent-Replayed", "false")]));
        prove!("E35", first.says(), unknown(ServerError, "E21"));
    }
}
