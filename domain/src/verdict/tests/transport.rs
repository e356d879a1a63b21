//! E2–E18: where a send failed (semantics 3.2).

use super::{Case, answered, ended, executed, failed_at, not_sent, refused, refused_for_now, succeeded, unknown};
use crate::attempt::{GrpcStatus, H2, H2Code, Phase, ReceiptFault, ReportedOutcome};
use crate::evidence::Strength;
use crate::operation::Doubt::{Crashed, Lost, NoReceipt, Reset, ServerError, Timeout, UndeclaredStatus};
use crate::proof::{proofs, prove, prove_that};
use crate::verdict::{Judgement, Verdict, keep_result};

/// A stream that ended on a connection of one hop, seen by our own executor.
fn stream(reset: Option<H2Code>, stream: u32, goaway_last: Option<u32>) -> Case {
    ended(ReportedOutcome::ConnLost).own().one_hop().with(|end| {
        end.h2 = Some(H2 { reset, stream: Some(stream), goaway_last });
    })
}

proofs! {
    fn e02_a_request_that_could_not_be_made_is_not_sent() {
        prove!("E2", failed_at(Phase::Prepare).own().says(), not_sent("E2"));
        let refused_by_policy = ended(ReportedOutcome::Rejected).with(|end| end.phase = Some(Phase::Prepare));
        prove!("E2", refused_by_policy.own().says(), not_sent("E2"));
    }

    fn e02_with_an_answer_the_phase_is_no_proof() {
        prove!(
            "E2",
            answered(500).own().with(|end| end.phase = Some(Phase::Prepare)).says(),
            unknown(ServerError, "E21")
        );
    }

    fn e04_an_answer_of_any_kind_outranks_the_phase() {
        let refused = failed_at(Phase::Connect).own();
        prove!("E4", refused.clone().receipt().says(), unknown(Reset, "E12"));
        prove!("E4", refused.clone().with(|end| end.is_error = true).says(), unknown(Reset, "E12"));
        let library = refused.clone().with(|end| end.grpc = Some(GrpcStatus::Unavailable));
        prove!("E4", library.says(), not_sent("E4"));
        let application = refused.with(|end| end.grpc = Some(GrpcStatus::NotFound));
        prove_that!("E4", !application.says().0.is_negative());
    }

    fn e08_an_answer_of_any_kind_outranks_the_stream() {
        prove!("E8", stream(Some(H2Code::RefusedStream), 5, None).receipt().says(), unknown(Reset, "E9"));
        prove!("E8", stream(None, 7, Some(5)).receipt().says(), unknown(Reset, "E9"));
    }

    fn e03_an_address_not_found_is_not_sent() {
        prove!("E3", failed_at(Phase::Resolve).own().says(), not_sent("E3"));
        let late = ended(ReportedOutcome::Timeout).with(|end| end.phase = Some(Phase::Resolve));
        prove!("E3", late.own().says(), not_sent("E3"));
    }

    fn e04_refused_or_late_connecting_is_not_sent() {
        prove!("E4", failed_at(Phase::Connect).own().says(), not_sent("E4"));
        let late = ended(ReportedOutcome::Timeout).with(|end| end.phase = Some(Phase::Connect));
        prove!("E4", late.own().says(), not_sent("E4"));
        let library_says = ended(ReportedOutcome::Error).with(|end| {
            end.grpc = Some(GrpcStatus::Unavailable);
            end.phase = Some(Phase::Connect);
        });
        prove!("E4", library_says.own().says(), not_sent("E4"));
    }

    fn e04_a_counted_byte_outranks_the_phase() {
        let counted = |count| failed_at(Phase::Connect).own().with(|end| end.bytes_sent = Some(count)).says();
        prove!("E4", counted(0), not_sent("E4"));
        prove!("E10", counted(1), unknown(Reset, "E10"));
    }

    fn e05_tls_before_finished_is_not_sent() {
        prove!("E5", failed_at(Phase::Tls).own().says(), not_sent("E5"));
    }

    fn e06_a_refused_connect_is_not_sent_whatever_status_the_proxy_gives() {
        prove!("E6", failed_at(Phase::Proxy).own().says(), not_sent("E6"));
        for status in [407, 502] {
            prove!("E6", answered(status).own().with(|end| end.phase = Some(Phase::Proxy)).says(), not_sent("E6"));
        }
    }

    fn e06_a_502_to_the_request_itself_is_unknown() {
        prove!("E6", answered(502).own().says(), unknown(ServerError, "E21"));
    }

    fn e07_handed_back_by_the_pool_is_not_sent() {
        prove!("E7", failed_at(Phase::Pool).own().says(), not_sent("E7"));
    }

    fn e07_a_counted_byte_outranks_the_pool() {
        prove!("E7", failed_at(Phase::Pool).own().with(|end| end.bytes_sent = Some(20)).says(), unknown(Reset, "E10"));
    }

    fn e08_refused_stream_is_not_sent() {
        prove!("E8", stream(Some(H2Code::RefusedStream), 5, None).says(), not_sent("E8"));
    }

    fn e08_a_counted_byte_does_not_matter_to_a_refused_stream() {
        let written = stream(Some(H2Code::RefusedStream), 5, None).with(|end| end.bytes_sent = Some(900));
        prove!("E8", written.says(), not_sent("E8"));
    }

    fn e08_above_goaway_is_not_sent() {
        prove!("E8", stream(None, 7, Some(5)).says(), not_sent("E8"));
    }

    fn e08_not_above_goaway_is_unknown() {
        prove!("E8", stream(None, 5, Some(5)).says(), unknown(Reset, "E9"));
        prove!("E8", stream(None, 3, Some(5)).says(), unknown(Reset, "E9"));
        prove!("E8", stream(None, 3, Some(0x7fff_ffff)).says(), unknown(Reset, "E9"));
    }

    fn e08_with_a_status_the_stream_was_not_refused() {
        let answered = stream(Some(H2Code::RefusedStream), 5, None).with(|end| end.http = Some(200));
        prove!("E8", answered.says(), unknown(NoReceipt, "E14"));
    }

    fn e09_any_other_reset_is_unknown() {
        for code in H2Code::ALL.iter().copied().filter(|code| *code != H2Code::RefusedStream) {
            prove!("E9", stream(Some(code), 5, None).says(), unknown(Reset, "E9"), "{code:?}");
        }
    }

    fn e09_closing_without_goaway_is_unknown() {
        prove!("E9", stream(None, 5, None).says(), unknown(Reset, "E9"));
    }

    fn e10_a_byte_handed_over_is_unknown() {
        prove!("E10", failed_at(Phase::Sent).own().says(), unknown(Reset, "E10"));
        let failed = ended(ReportedOutcome::Error).with(|end| end.phase = Some(Phase::Sent));
        prove!("E10", failed.own().says(), unknown(Reset, "E10"));
    }

    fn e11_a_reused_connection_that_closes_without_a_byte_is_unknown() {
        for phase in [None, Some(Phase::Sent), Some(Phase::Written)] {
            let idle = ended(ReportedOutcome::ConnLost).own().with(|end| (end.reused, end.phase) = (true, phase));
            prove!("E11", idle.says(), unknown(Reset, "E11"), "{phase:?}");
        }
    }

    fn e11_a_fresh_connection_is_e12_and_one_handed_back_unsent_is_e7() {
        prove!("E11", ended(ReportedOutcome::ConnLost).own().says(), unknown(Reset, "E12"));
        prove!("E11", failed_at(Phase::Pool).own().with(|end| end.reused = true).says(), not_sent("E7"));
    }

    fn e12_reset_after_writing_is_unknown() {
        prove!("E12", failed_at(Phase::Written).own().says(), unknown(Reset, "E12"));
        prove!("E12", ended(ReportedOutcome::ConnLost).says(), unknown(Reset, "E12"));
    }

    fn e12_no_answer_after_writing_is_unknown() {
        let silent = ended(ReportedOutcome::Timeout).with(|end| end.phase = Some(Phase::Written));
        prove!("E12", silent.own().says(), unknown(Timeout, "E12"));
        prove!("E12", ended(ReportedOutcome::Timeout).says(), unknown(Timeout, "E12"));
    }

    fn e13_our_deadline_and_a_cancel_undo_nothing() {
        for phase in [Phase::Deadline, Phase::Cancelled] {
            for outcome in [ReportedOutcome::Timeout, ReportedOutcome::Error, ReportedOutcome::ConnLost] {
                let given_up = ended(outcome).own().with(|end| end.phase = Some(phase));
                prove!("E13", given_up.says(), unknown(Timeout, "E13"), "{phase:?} {outcome:?}");
            }
        }
    }

    fn e14_a_success_head_without_its_body_has_likely_happened() {
        for outcome in [ReportedOutcome::ConnLost, ReportedOutcome::Timeout] {
            let cut = ended(outcome).with(|end| end.http = Some(201));
            prove!("E14", cut.says(), unknown(NoReceipt, "E14"));
            prove_that!("E14", cut.judged().text.contains("likely happened"));
        }
        let unreadable =
            ended(ReportedOutcome::Error).with(|end| (end.http, end.phase) = (Some(200), Some(Phase::Head)));
        prove!("E14", unreadable.says(), unknown(NoReceipt, "E14"));
        prove!("E14", failed_at(Phase::Head).says(), unknown(NoReceipt, "E14"));
    }

    fn e14_a_4xx_head_counts_only_if_its_status_suffices() {
        let cut = ended(ReportedOutcome::ConnLost).with(|end| end.http = Some(422));
        prove!("E14", cut.says(), unknown(UndeclaredStatus, "E14"));
        let suffices = cut.promised(|contract| contract.status_suffices = Some(true));
        prove!("E14", suffices.says(), refused("E23"));
        prove!("E14", suffices.clone().with(|end| end.http = Some(429)).says(), refused_for_now("E32"));
        prove!("E14", suffices.with(|end| end.http = Some(408)).says(), unknown(UndeclaredStatus, "E26"));
    }

    fn e14_other_heads_never_suffice() {
        let cut = |status| {
            let cut = ended(ReportedOutcome::ConnLost).with(|end| end.http = Some(status));
            cut.promised(|contract| contract.status_suffices = Some(true)).says()
        };
        prove!("E14", cut(504), unknown(ServerError, "E21"));
        prove!("E14", cut(501), unknown(UndeclaredStatus, "E14"));
        prove!("E14", cut(307), unknown(UndeclaredStatus, "E14"));
    }

    fn e15_a_receipt_that_fails_validation_proves_nothing() {
        for fault in ReceiptFault::ALL.iter().copied() {
            let odd = succeeded(200).receipt().with(|end| end.receipt_fault = Some(fault));
            prove!("E15", odd.says(), unknown(NoReceipt, "E15"));
            prove_that!("E15", odd.judged().text.starts_with(fault.phrase()));
        }
    }

    fn e15_without_a_fault_it_is_e16() {
        prove!("E15", succeeded(200).receipt().says(), executed("E16"));
    }

    fn e16_a_valid_receipt_is_proof() {
        for status in [200, 201, 204] {
            prove!("E16", succeeded(status).receipt().says(), executed("E16"));
        }
        prove!("E16", ended(ReportedOutcome::Ok).receipt().says(), executed("E16"));
        prove!("E16", succeeded(200).receipt().judged().text, "receipt pi_A");
    }

    fn e16_needs_a_success_status_and_no_error_in_it() {
        prove!("E16", succeeded(500).receipt().says(), unknown(ServerError, "E21"));
        prove!("E16", succeeded(409).receipt().says(), unknown(UndeclaredStatus, "E28"));
        prove!("E16", succeeded(200).receipt().with(|end| end.is_error = true).says(), unknown(NoReceipt, "E19"));
    }

    fn e17_a_dead_sender_is_unknown_whatever_it_had_reached() {
        for phase in [None, Some(Phase::Connect), Some(Phase::Written)] {
            let died = ended(ReportedOutcome::Abandoned).own().with(|end| end.phase = phase);
            prove!("E17", died.says(), unknown(Crashed, "E17"));
        }
    }

    fn e17_silence_is_unknown() {
        for is_running in [false, true] {
            let silent = Judgement::without_end(is_running);
            prove!("E17", (silent.verdict, silent.rule.as_ref()), (Verdict::Unknown(Lost), "E17"));
        }
    }

    fn e18_a_late_result_proves_by_its_content_about_its_own_attempt() {
        for (case, verdict) in [
            (succeeded(200).receipt(), executed("E16")),
            (answered(422), refused("E23")),
            (ended(ReportedOutcome::Timeout), unknown(Timeout, "E12")),
        ] {
            let kept = keep_result(&case.end, case.grounds(), 3, 4);
            prove!("E18", (kept.judgement.verdict, kept.judgement.rule.to_string(), kept.judgement.strength), verdict);
            prove!("E18", (kept.epoch, kept.ends_lease), (3, false));
            prove_that!("E18", kept.judgement.text.contains("it came late"));
        }
    }

    fn e18_the_holders_result_ends_the_lease_and_no_other_does() {
        let case = succeeded(200).receipt();
        let held = keep_result(&case.end, case.grounds(), 4, 4);
        prove!("E18", (held.epoch, held.ends_lease, held.judgement), (4, true, case.judged()));
        // A restored record may know a lower epoch than the sender had.
        prove_that!("E18", !keep_result(&case.end, case.grounds(), 5, 4).ends_lease);
    }

    fn e18_a_late_result_is_no_stronger_than_its_source() {
        let case = succeeded(200).receipt().from(crate::evidence::Trust::Declared);
        prove!("E18", keep_result(&case.end, case.grounds(), 3, 4).judgement.strength, Strength::P2);
    }
}
