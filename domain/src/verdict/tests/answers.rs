//! E19–E26, E31–E34, E36: what an answer's status and headers say (semantics 3.3).

use super::{
    answered, declined, ended, executed, headers, refused, refused_for_now, signal, stated, status_signal, succeeded,
    unknown,
};
use crate::attempt::ReportedOutcome;
use crate::contract::Signal;
use crate::evidence::Strength;
use crate::operation::Doubt::{Accepted, Likely, NoReceipt, Partial, ServerError, UndeclaredStatus};
use crate::proof::{proofs, prove, prove_that};
use crate::verdict::Verdict;

fn header_signal(http: Option<u16>, header: &str) -> Vec<Signal> {
    vec![Signal { http, header: Some(header.into()), ..Signal::default() }]
}

proofs! {
    fn e19_a_success_without_a_receipt_is_unknown() {
        for status in [200, 201, 204] {
            prove!("E19", succeeded(status).says(), unknown(NoReceipt, "E19"));
            prove!("E19", succeeded(status).receipt().says(), executed("E16"));
        }
        prove!("E19", ended(ReportedOutcome::Ok).says(), unknown(NoReceipt, "E19"));
    }

    fn e19_a_204_that_a_mesh_made_of_a_timeout_is_unknown() {
        prove!("E19", succeeded(204).irreversible().says(), unknown(NoReceipt, "E19"));
    }

    fn e19_an_error_inside_a_success_is_unknown() {
        // Slack's ok:false, GraphQL's userErrors.
        for outcome in [ReportedOutcome::Rejected, ReportedOutcome::Error, ReportedOutcome::Ok] {
            let inside =
                ended(outcome).with(|end| (end.http, end.error) = (Some(200), Some("channel_not_found".into())));
            prove!("E19", inside.says(), unknown(NoReceipt, "E19"));
            let declared = inside.promised(|c| c.negative_signals = Some(signal(200, "channel_not_found")));
            prove!("E19", declared.says(), refused("E19"));
        }
    }

    fn e20_accepted_is_not_done() {
        prove!("E20", succeeded(202).says(), unknown(Accepted, "E20"));
        prove!("E20", succeeded(202).receipt().says(), unknown(Accepted, "E20"));
        prove!("E20", answered(202).says(), unknown(Accepted, "E20"));
    }

    fn e20_a_task_handle_is_accepted_until_there_is_a_receipt() {
        let task = ended(ReportedOutcome::Ok).with(|end| end.handle = Some("task-9".into()));
        prove!("E20", task.says(), unknown(Accepted, "E20"));
        prove!("E20", task.receipt().says(), executed("E16"));
    }

    fn e21_a_server_error_is_unknown() {
        for status in [500, 502, 504, 520, 524, 599] {
            prove!("E21", answered(status).one_hop().says(), unknown(ServerError, "E21"), "{status}");
        }
        prove!("E21", ended(ReportedOutcome::Error).says(), unknown(ServerError, "E21"));
        let gateway = ended(ReportedOutcome::Timeout).with(|end| end.http = Some(504));
        prove!("E21", gateway.says(), unknown(ServerError, "E21"));
    }

    fn e21_a_declared_proof_is_a_refusal_for_good() {
        let declared =
            answered(500).promised(|c| c.negative_signals = Some(header_signal(None, "transient-error: true")));
        prove!("E21", declared.says(), unknown(ServerError, "E21"));
        let proved = declared.with(|end| end.headers = headers(&[("Transient-Error", "true")]));
        prove!("E21", proved.says(), refused("E21"));
    }

    fn e22_a_503_proves_nothing_by_itself() {
        prove!("E22", answered(503).says(), unknown(ServerError, "E22"));
        let overloaded = answered(503).with(|end| end.headers = headers(&[("x-envoy-overloaded", "true")]));
        prove!("E22", overloaded.says(), unknown(ServerError, "E22"));
    }

    fn e22_a_declared_503_is_refused_for_now() {
        let by_status = answered(503).promised(|c| c.negative_signals = Some(status_signal(503)));
        prove!("E22", by_status.says(), refused_for_now("E22"));
        let by_code = answered(503).promised(|c| c.negative_signals = Some(signal(503, "703")));
        prove!("E22", by_code.says(), unknown(ServerError, "E22"));
        prove!("E22", by_code.with(|end| end.error = Some("703".into())).says(), refused_for_now("E22"));
        let by_header =
            answered(503).promised(|c| c.negative_signals = Some(header_signal(Some(503), "X-Envoy-Overloaded")));
        prove!("E22", by_header.says(), unknown(ServerError, "E22"));
        let told = by_header.with(|end| end.headers = headers(&[("x-envoy-overloaded", "true")]));
        prove!("E22", told.says(), refused_for_now("E22"));
    }

    fn e22_a_transient_error_that_is_false_proves_nothing() {
        let declared =
            answered(503).promised(|c| c.negative_signals = Some(header_signal(None, "transient-error: true")));
        for (value, expected) in [("true", refused_for_now("E22")), ("false", unknown(ServerError, "E22"))] {
            let told = declared.clone().with(|end| end.headers = headers(&[("transient-error", value)]));
            prove!("E22", told.says(), expected);
        }
    }

    fn e23_rejected_before_the_work_is_refused() {
        for status in [400, 401, 403, 405, 406, 411, 413, 414, 415, 417, 422, 431] {
            prove!("E23", answered(status).says(), refused("E23"), "{status}");
        }
    }

    fn e23_a_front_may_answer_400_and_405_to_an_irreversible_write() {
        for status in [400, 405] {
            let irreversible = answered(status).irreversible();
            prove!("E23", irreversible.says(), unknown(UndeclaredStatus, "E23"), "{status}");
            prove!("E23", irreversible.clone().one_hop().says(), refused("E23"), "{status}");
            let declared = irreversible.promised(|c| c.negative_signals = Some(status_signal(status)));
            prove!("E23", declared.says(), refused("E23"), "{status}");
        }
        for status in [401, 403, 422] {
            prove!("E23", answered(status).irreversible().says(), refused("E23"), "{status}");
        }
    }

    fn e23_what_no_row_names_is_unknown_until_it_is_declared() {
        prove!("E23", ended(ReportedOutcome::Rejected).says(), unknown(UndeclaredStatus, "E23"));
        let odd = answered(418);
        prove!("E23", odd.says(), unknown(UndeclaredStatus, "E23"));
        prove!("E23", odd.promised(|c| c.negative_signals = Some(status_signal(418))).says(), refused("E23"));
    }

    fn e24_a_decline_is_a_business_answer() {
        prove!("E24", answered(402).says(), declined("E24"));
    }

    fn e24_other_declines_are_declared() {
        let plain = answered(422).with(|end| end.error = Some("insufficient_funds".into()));
        prove!("E24", plain.says(), refused("E23"));
        let declared = plain.promised(|c| c.decline_signals = Some(signal(422, "insufficient_funds")));
        prove!("E24", declared.says(), declined("E24"));
        let inside = ended(ReportedOutcome::Rejected)
            .with(|end| (end.http, end.error) = (Some(200), Some("do_not_honor".into())));
        prove!(
            "E24",
            inside.promised(|c| c.decline_signals = Some(signal(200, "do_not_honor"))).says(),
            declined("E24")
        );
    }

    fn e25_not_found_on_create_is_refused() {
        for status in [404, 410] {
            prove!("E25", answered(status).says(), refused("E25"));
            prove!("E25", answered(status).after_open().says(), refused("E25"));
        }
    }

    fn e25_not_found_on_a_removal_is_refused_only_while_nothing_is_open() {
        for status in [404, 410] {
            let removal = answered(status).promised(|c| c.removes = Some(true));
            prove!("E25", removal.says(), refused("E25"));
            prove!("E25", removal.after_open().says(), unknown(UndeclaredStatus, "E25"));
        }
    }

    fn e25_a_declared_sign_of_removal_is_likely() {
        let removal = answered(404).promised(|c| (c.removes, c.gone_signals) = (Some(true), Some(status_signal(404))));
        prove!("E25", removal.clone().after_open().says(), stated(Likely, "E25"));
        prove!("E25", removal.says(), refused("E25"));
        let create = answered(404).promised(|c| c.gone_signals = Some(status_signal(404)));
        prove!("E25", create.after_open().says(), refused("E25"));
    }

    fn e25_a_front_may_answer_404_to_an_irreversible_write() {
        prove!("E25", answered(404).irreversible().says(), unknown(UndeclaredStatus, "E25"));
        prove!("E25", answered(404).irreversible().one_hop().says(), refused("E25"));
        let declared = answered(404).irreversible().promised(|c| c.negative_signals = Some(status_signal(404)));
        prove!("E25", declared.says(), refused("E25"));
        prove!("E25", answered(410).irreversible().says(), refused("E25"));
    }

    fn e26_408_is_unknown_until_it_is_declared() {
        prove!("E26", answered(408).one_hop().says(), unknown(UndeclaredStatus, "E26"));
        prove!("E26", answered(408).promised(|c| c.negative_signals = Some(status_signal(408))).says(), refused("E26"));
    }

    fn e31_not_carried_out() {
        for status in [421, 424, 426, 501, 505] {
            prove!("E31", answered(status).says(), refused("E31"), "{status}");
        }
        for status in [423, 425] {
            prove!("E31", answered(status).says(), refused_for_now("E31"), "{status}");
        }
    }

    fn e31_a_front_may_answer_501_to_an_irreversible_write() {
        prove!("E31", answered(501).irreversible().says(), unknown(UndeclaredStatus, "E31"));
        prove!("E31", answered(501).irreversible().one_hop().says(), refused("E31"));
        prove!("E31", answered(505).irreversible().says(), refused("E31"));
    }

    fn e32_a_limiter_refuses_for_now_and_says_when() {
        for end in [answered(429), ended(ReportedOutcome::Throttled)] {
            prove!("E32", end.says(), refused_for_now("E32"));
        }
        let told = answered(429).with(|end| end.retry_after = Some("120".into()));
        prove_that!("E32", told.judged().text.ends_with("Retry-After: 120"));
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        let by_header = answered(429).with(|end| end.headers = headers(&[("Retry-After", date)]));
        prove!("E32", by_header.end.retry_after(), Some(date));
    }

    fn e32_a_throttling_code_is_declared() {
        let slow = answered(400).with(|end| end.error = Some("ThrottlingException".into()));
        prove!("E32", slow.says(), refused("E23"));
        let declared = slow.promised(|c| c.throttle_signals = Some(signal(400, "ThrottlingException")));
        prove!("E32", declared.says(), refused_for_now("E32"));
    }

    fn e32_several_items_may_be_throttled_in_part() {
        prove!("E32", answered(429).promised(|c| c.partial_success = Some(true)).says(), unknown(Partial, "E32"));
        prove!("E32", answered(429).promised(|c| c.partial_success = Some(false)).says(), refused_for_now("E32"));
    }

    fn e33_see_other_leans_to_executed_and_proves_nothing() {
        for end in [succeeded(303), answered(303), succeeded(303).receipt()] {
            prove!("E33", end.says(), unknown(NoReceipt, "E33"));
        }
    }

    fn e34_a_redirect_is_refused_by_this_hop() {
        for status in [307, 308] {
            prove!("E34", answered(status).says(), refused("E34"));
        }
        for status in [301, 302] {
            prove!("E34", answered(status).says(), unknown(UndeclaredStatus, "E23"));
        }
    }

    fn e36_results_for_each_item_are_partial() {
        for end in [succeeded(207), answered(207), succeeded(207).receipt()] {
            prove!("E36", end.says(), unknown(Partial, "E36"));
        }
        let listed = succeeded(200).receipt().with(|end| end.per_item = true);
        prove!("E36", listed.says(), unknown(Partial, "E36"));
        prove!("E36", listed.with(|end| end.per_item = false).says(), executed("E16"));
    }

    fn e23_a_status_and_a_code_must_both_fit_a_signal() {
        let declared = answered(409).promised(|c| c.precondition_signals = Some(signal(409, "stale")));
        prove!("E23", declared.says().0, Verdict::Unknown(UndeclaredStatus));
        prove!("E23", declared.clone().with(|end| end.error = Some("stale".into())).says().2, Strength::P2);
        let empty = answered(409).promised(|c| c.precondition_signals = Some(vec![Signal::default()]));
        prove!("E23", empty.says().0, Verdict::Unknown(UndeclaredStatus));
    }
}
