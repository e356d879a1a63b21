//! gRPC, JSON-RPC and MCP: answers whose meaning is not their HTTP status (E13, E19, E21, E25, E28, E29).

use super::{Case, ended, executed, refused, refused_for_now, succeeded, unknown};
use crate::attempt::{GrpcStatus, Phase, ReportedOutcome};
use crate::contract::Signal;
use crate::operation::Doubt::{NoReceipt, ReplayedError, ServerError, Timeout, UndeclaredStatus};
use crate::proof::{proofs, prove, prove_that};
use crate::verdict::Verdict;

fn grpc(status: GrpcStatus) -> Case {
    ended(ReportedOutcome::Error).one_hop().with(|end| end.grpc = Some(status))
}

fn tool_error() -> Case {
    ended(ReportedOutcome::Error).with(|end| end.is_error = true)
}

fn rpc(code: i64) -> Case {
    ended(ReportedOutcome::Error).with(|end| (end.http, end.rpc) = (Some(200), Some(code)))
}

proofs! {
    fn e13_grpc_cancelled_undoes_nothing() {
        prove!("E13", grpc(GrpcStatus::Cancelled).says(), unknown(Timeout, "E13"));
    }

    fn e19_a_tool_that_says_it_failed_may_have_done_it() {
        prove!("E19", tool_error().says(), unknown(NoReceipt, "E19"));
        prove!("E19", tool_error().with(|end| end.http = Some(200)).says(), unknown(NoReceipt, "E19"));
        let says_ok = succeeded(200).receipt().with(|end| end.is_error = true);
        prove!("E19", says_ok.says(), unknown(NoReceipt, "E19"));
    }

    fn e19_is_error_needs_a_contract() {
        let whatever = Signal { is_error: Some(true), ..Signal::default() };
        let declared = tool_error().promised(|c| c.negative_signals = Some(vec![whatever]));
        prove!("E19", declared.says(), refused("E19"));
        let one = Signal { is_error: Some(true), error: Some("out_of_stock".into()), ..Signal::default() };
        let by_code = tool_error().promised(|c| c.negative_signals = Some(vec![one]));
        prove!("E19", by_code.says(), unknown(NoReceipt, "E19"));
        prove!("E19", by_code.with(|end| end.error = Some("out_of_stock".into())).says(), refused("E19"));
    }

    fn e19_a_json_rpc_error_is_unknown_until_it_is_declared() {
        for code in [-32700, -32602, -32601, -32603, -32001, 7] {
            prove!("E19", rpc(code).says(), unknown(NoReceipt, "E19"), "{code}");
            prove_that!("E19", rpc(code).judged().text.contains(&format!("JSON-RPC {code}")));
        }
        let bad_params = Signal { rpc: Some(-32602), ..Signal::default() };
        let declared = |code| rpc(code).promised(|c| c.negative_signals = Some(vec![bad_params.clone()])).says();
        prove!("E19", declared(-32602), refused("E19"));
        prove!("E19", declared(-32601), unknown(NoReceipt, "E19"));
    }

    fn e19_over_a_pipe_there_is_no_status_at_all() {
        prove!("E19", rpc(-32603).with(|end| end.http = None).says(), unknown(NoReceipt, "E19"));
        prove!("E19", ended(ReportedOutcome::Ok).receipt().says(), executed("E16"));
    }

    fn e19_with_an_error_status_the_status_speaks() {
        prove!("E19", rpc(-32600).with(|end| end.http = Some(422)).says(), refused("E23"));
        prove!("E19", rpc(-32600).with(|end| end.http = Some(500)).says(), unknown(ServerError, "E21"));
    }

    fn e12_an_mcp_stream_cut_after_the_tool_finished_is_unknown() {
        let cut = ended(ReportedOutcome::ConnLost).own();
        prove!("E12", cut.says().0, Verdict::Unknown(crate::operation::Doubt::Reset));
        prove!("E14", cut.with(|end| end.http = Some(200)).says(), unknown(NoReceipt, "E14"));
        let cancelled = ended(ReportedOutcome::ConnLost).with(|end| end.phase = Some(Phase::Cancelled));
        prove!("E13", cancelled.own().says(), unknown(Timeout, "E13"));
    }

    fn e21_grpc_failures_are_unknown() {
        for status in [
            GrpcStatus::Unknown,
            GrpcStatus::Internal,
            GrpcStatus::DeadlineExceeded,
            GrpcStatus::Unavailable,
            GrpcStatus::DataLoss,
        ] {
            prove!("E21", grpc(status).says(), unknown(ServerError, "E21"), "{status:?}");
            let broke = Case {
                end: crate::attempt::End { outcome: ReportedOutcome::ConnLost, ..grpc(status).end },
                ..grpc(status)
            };
            prove!("E21", broke.says(), unknown(ServerError, "E21"), "{status:?}");
        }
    }

    fn e21_unavailable_with_transport_proof_is_not_sent() {
        let unavailable = |phase| grpc(GrpcStatus::Unavailable).own().with(|end| end.phase = phase).says().0;
        prove!("E21", unavailable(Some(Phase::Connect)), Verdict::NotSent);
        prove!("E21", unavailable(None), Verdict::Unknown(ServerError));
    }

    fn e29_grpc_aborted_and_failed_precondition_are_refused() {
        for status in [GrpcStatus::Aborted, GrpcStatus::FailedPrecondition] {
            prove!("E29", grpc(status).says(), refused("E29"));
            prove!("E29", grpc(status).with(|end| end.http = Some(200)).says(), refused("E29"));
            let broke = Case {
                end: crate::attempt::End { outcome: ReportedOutcome::Timeout, ..grpc(status).end },
                ..grpc(status)
            };
            prove!("E29", broke.says(), unknown(Timeout, "E12"));
        }
    }

    fn e25_e28_grpc_not_found_and_already_exists_are_unknown() {
        let removal = |case: Case| case.promised(|c| c.removes = Some(true));
        prove!("E25", removal(grpc(GrpcStatus::NotFound)).after_open().says(), unknown(UndeclaredStatus, "E25"));
        prove!("E25", removal(grpc(GrpcStatus::NotFound)).says(), unknown(UndeclaredStatus, "E23"));
        prove!("E28", grpc(GrpcStatus::AlreadyExists).says(), unknown(UndeclaredStatus, "E28"));
        let exists = vec![Signal { grpc: Some(GrpcStatus::AlreadyExists), ..Signal::default() }];
        let declared = grpc(GrpcStatus::AlreadyExists).promised(|c| c.conflict_signals = Some(exists));
        prove!("E28", declared.says(), refused("E28"));
        prove!("E28", declared.after_open().says(), unknown(UndeclaredStatus, "E28"));
    }

    fn e23_a_grpc_status_that_no_row_names_is_unknown_until_it_is_declared() {
        for status in [
            GrpcStatus::InvalidArgument,
            GrpcStatus::PermissionDenied,
            GrpcStatus::ResourceExhausted,
            GrpcStatus::OutOfRange,
            GrpcStatus::Unimplemented,
            GrpcStatus::Unauthenticated,
        ] {
            prove!("E23", grpc(status).says(), unknown(UndeclaredStatus, "E23"), "{status:?}");
            let named = vec![Signal { grpc: Some(status), ..Signal::default() }];
            prove!("E23", grpc(status).promised(|c| c.negative_signals = Some(named)).says(), refused("E23"));
        }
    }

    fn e32_resource_exhausted_is_a_limiter_only_if_it_is_declared() {
        // A client library says the same of an answer that is too large for it.
        let limited = vec![Signal { grpc: Some(GrpcStatus::ResourceExhausted), ..Signal::default() }];
        let exhausted = grpc(GrpcStatus::ResourceExhausted);
        prove!("E32", exhausted.says(), unknown(UndeclaredStatus, "E23"));
        prove!("E32", exhausted.promised(|c| c.throttle_signals = Some(limited)).says(), refused_for_now("E32"));
    }

    fn e16_grpc_ok_needs_a_receipt() {
        let ok = ended(ReportedOutcome::Ok).with(|end| end.grpc = Some(GrpcStatus::Ok));
        prove!("E16", ok.clone().receipt().says(), executed("E16"));
        prove!("E19", ok.says(), unknown(NoReceipt, "E19"));
        prove!("E19", grpc(GrpcStatus::Ok).says(), unknown(NoReceipt, "E19"));
        let both = ended(ReportedOutcome::Ok).receipt().with(|end| end.grpc = Some(GrpcStatus::Internal));
        prove!("E16", both.says(), unknown(ServerError, "E21"));
    }

    fn e35_a_replayed_grpc_failure_stays_unknown() {
        let replayed = grpc(GrpcStatus::Internal).with(|end| end.replayed = true);
        prove!("E35", replayed.says(), unknown(ReplayedError, "E35"));
    }
}

#[test]
fn all_seventeen_grpc_statuses_have_their_numbers() {
    assert_eq!(GrpcStatus::ALL.len(), 17);
    assert_eq!(GrpcStatus::from_number(0), Some(GrpcStatus::Ok));
    assert_eq!(GrpcStatus::from_number(14), Some(GrpcStatus::Unavailable));
    assert_eq!(GrpcStatus::from_number(16), Some(GrpcStatus::Unauthenticated));
    assert_eq!((GrpcStatus::from_number(17), GrpcStatus::from_number(-1)), (None, None));
}
