//! Rows E1–E36 as data (semantics 3.2 and 3.3). Judging reads verdict, strength and reason from here.
//!
//! A row with conditions has several sides under one number, the principal one first.

use crate::evidence::Strength;
use crate::operation::Doubt;
use crate::verdict::Verdict;

/// What a row proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proves {
    /// Nothing was dispatched: there is no attempt to judge.
    NoAttempt,
    /// This.
    Verdict(Verdict),
    /// What the content of the answer proves by its own row.
    Content,
}

/// One side of a row: when it holds, what it proves, how strongly and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerdictRow {
    /// The row's number: `E12`.
    pub id: &'static str,
    /// The failure point or answer.
    pub when: &'static str,
    /// What it proves.
    pub proves: Proves,
    /// How strong the ground is, before the cap of its source.
    pub strength: Strength,
    /// Why, as a timeline says it.
    pub reason: &'static str,
}

/// The row with this number; where it has several sides, the principal one.
pub fn row(id: &str) -> Option<&'static VerdictRow> {
    sides(id).next()
}

/// Every side of the row with this number.
pub fn sides(id: &str) -> impl Iterator<Item = &'static VerdictRow> {
    ROWS.iter().filter(move |row| row.id == id)
}

const fn unknown(doubt: Doubt) -> Proves {
    Proves::Verdict(Verdict::Unknown(doubt))
}

const NOT_SENT: Proves = Proves::Verdict(Verdict::NotSent);
const REFUSED: Proves = Proves::Verdict(Verdict::RefusedPermanent);
const RETRYABLE: Proves = Proves::Verdict(Verdict::RefusedRetryable);
const EXECUTED: Proves = Proves::Verdict(Verdict::Executed);
const NO_EFFECT: Proves = Proves::Verdict(Verdict::ExecutedNoEffect);

macro_rules! rows {
    ($($name:ident = $id:literal $proves:expr, $strength:ident, $when:literal => $reason:literal;)*) => {
        $(pub(super) const $name: VerdictRow =
            VerdictRow { id: $id, when: $when, proves: $proves, strength: Strength::$strength, reason: $reason };)*
        /// Every side of every row, in the order of their numbers.
        pub const ROWS: &[VerdictRow] = &[$($name,)*];
    };
}

rows! {
    E1 = "E1" Proves::NoAttempt, P1, "failed before the dispatch was committed"
        => "nothing was dispatched, so there is no attempt";
    E2 = "E2" NOT_SENT, P1, "failed while the request was made"
        => "the request could not be made; nothing was sent";
    E3 = "E3" NOT_SENT, P1, "the address was not found"
        => "the address was not found; nothing was sent";
    E4 = "E4" NOT_SENT, P1, "TCP refused, unreachable or out of time"
        => "no connection came about; nothing was sent";
    E5 = "E5" NOT_SENT, P1, "TLS failed before Finished"
        => "TLS failed; nothing was sent";
    E6 = "E6" NOT_SENT, P1, "the proxy refused the CONNECT"
        => "the proxy opened no tunnel; nothing was sent";
    E7 = "E7" NOT_SENT, P1, "the pool handed the request back unsent"
        => "the pool handed it back before a byte was written";
    E8_REFUSED = "E8" NOT_SENT, P1, "HTTP/2 REFUSED_STREAM"
        => "the stream was refused before any processing";
    E8_ABOVE_GOAWAY = "E8" NOT_SENT, P1, "a stream above the last one that GOAWAY names"
        => "the stream came after the last one that was taken";
    E9 = "E9" unknown(Doubt::Reset), Hint, "any other end of an HTTP/2 stream"
        => "the stream ended, but not as one that was never processed; it may have happened";
    E10 = "E10" unknown(Doubt::Reset), Hint, "broke after a byte was handed to the kernel"
        => "the connection broke after bytes were sent; it may have happened";
    E11 = "E11" unknown(Doubt::Reset), Hint, "a reused connection closed without an answer"
        => "a reused connection closed without an answer; it may have happened";
    E12_RESET = "E12" unknown(Doubt::Reset), Hint, "reset or end of stream after the request was written"
        => "the connection broke; it may have happened";
    E12_TIMEOUT = "E12" unknown(Doubt::Timeout), Hint, "no answer in time after the request was written"
        => "no answer in time; it may have happened";
    E13_DEADLINE = "E13" unknown(Doubt::Timeout), Hint, "our own deadline ended the wait"
        => "we stopped waiting; it may have happened";
    E13_CANCELLED = "E13" unknown(Doubt::Timeout), Hint, "cancelled after it was dispatched"
        => "it was cancelled after it was sent, which undoes nothing; it may have happened";
    E14_SUCCESS = "E14" unknown(Doubt::NoReceipt), Hint, "a 2xx head whose body was cut or unreadable"
        => "the answer began as a success and was cut; it has likely happened";
    E14_SUFFICES = "E14" Proves::Content, P2, "a 4xx head whose body was cut, declared to suffice"
        => "as its status says, which suffices";
    E14_STATUS = "E14" unknown(Doubt::UndeclaredStatus), Hint, "any other status whose body was cut"
        => "the answer began and was cut, and its status alone proves nothing";
    E14_CUT = "E14" unknown(Doubt::NoReceipt), Hint, "a head of which no status is told, its body cut"
        => "the answer began and was cut; it may have happened";
    E15 = "E15" unknown(Doubt::NoReceipt), Hint, "a success whose receipt fails validation"
        => "the receipt may name something else";
    E16 = "E16" EXECUTED, P3, "a success with a valid receipt"
        => "receipt";
    E17_DIED = "E17" unknown(Doubt::Crashed), Hint, "the process died before the answer was saved"
        => "its sender died; it may have happened";
    E17_SILENT = "E17" unknown(Doubt::Lost), Hint, "no end was ever reported"
        => "nothing was heard of it again";
    E17_RUNNING = "E17" unknown(Doubt::Lost), Hint, "no end is reported yet"
        => "running";
    E18 = "E18" Proves::Content, P3, "a result whose lease epoch has moved"
        => "it came late, when the lease had moved on; kept as evidence";
    E19_NO_RECEIPT = "E19" unknown(Doubt::NoReceipt), Hint, "a success without the declared receipt"
        => "it says ok but names no receipt";
    E19_ERROR = "E19" unknown(Doubt::NoReceipt), Hint, "an error inside a success: userErrors, ok:false"
        => "a success status with an error in it; only a contract can say that it did not run";
    E19_TOOL = "E19" unknown(Doubt::NoReceipt), Hint, "an MCP tool result with isError"
        => "the tool says that it failed, which does not say that it did nothing";
    E19_RPC = "E19" unknown(Doubt::NoReceipt), Hint, "a JSON-RPC error"
        => "an error that was answered; only a contract can say that it did not run";
    E19_DECLARED = "E19" REFUSED, P2, "any of these, declared as proof of not running"
        => "the contract declares this as proof that it did not run";
    E20 = "E20" unknown(Doubt::Accepted), Hint, "202 or a task handle"
        => "accepted, to be decided later";
    E21_STATUS = "E21" unknown(Doubt::ServerError), Hint, "500, 502, 504, 52x"
        => "the destination or a hop before it failed; it may have happened";
    E21_GRPC = "E21" unknown(Doubt::ServerError), Hint,
        "gRPC UNKNOWN, INTERNAL, DEADLINE_EXCEEDED, DATA_LOSS, or UNAVAILABLE without transport proof"
        => "the call failed; it may have happened";
    E21_ERROR = "E21" unknown(Doubt::ServerError), Hint, "an error without a status"
        => "an error without a status; it may have happened";
    E21_DECLARED = "E21" REFUSED, P2, "any of these, declared as proof of not running"
        => "the contract declares this as proof that it did not run";
    E22 = "E22" unknown(Doubt::ServerError), Hint, "503"
        => "unable for now, which proves nothing by itself";
    E22_DECLARED = "E22" RETRYABLE, P2, "503, declared as proof of not running"
        => "the contract declares this as proof that it did not run";
    E23 = "E23" REFUSED, P2, "400, 401, 403, 405, 406, 411, 413, 414, 415, 417, 422, 431"
        => "rejected before doing the work";
    E23_FRONT = "E23" unknown(Doubt::UndeclaredStatus), Hint, "400 or 405, class X behind an intermediary"
        => "a front may answer this after forwarding";
    E23_UNDECLARED = "E23" unknown(Doubt::UndeclaredStatus), Hint, "rejected by nothing that a row names"
        => "rejected, but by nothing whose meaning is declared";
    E23_DECLARED = "E23" REFUSED, P2, "any other answer, declared as proof of not running"
        => "the contract declares this as proof that it did not run";
    E24 = "E24" NO_EFFECT, P2, "402 or a declared decline"
        => "declined as a matter of business";
    E25_CREATE = "E25" REFUSED, P2, "404 or 410, nothing to remove or nothing open"
        => "not found; not carried out";
    E25_FRONT = "E25" unknown(Doubt::UndeclaredStatus), Hint, "404, class X behind an intermediary"
        => "a front may answer this after forwarding";
    E25_REMOVAL = "E25" unknown(Doubt::UndeclaredStatus), Hint, "404 or 410 on a removal while an attempt is open"
        => "not found: an earlier attempt may have removed it";
    E25_LIKELY = "E25" unknown(Doubt::Likely), P2, "the same, declared as the sign of a removal that worked"
        => "not found, which the contract declares as the sign that an earlier attempt removed it";
    E26 = "E26" unknown(Doubt::UndeclaredStatus), Hint, "408"
        => "the request may have been complete";
    E26_DECLARED = "E26" REFUSED, P2, "408, declared as proof of not running"
        => "the contract declares this as proof that it did not run";
    E27 = "E27" unknown(Doubt::InFlight), P2, "a declared in-flight code"
        => "an earlier request with this key is being processed";
    E28_CONFLICT = "E28" REFUSED, P2, "a declared conflict with a natural key, nothing open"
        => "an object with this natural key exists already";
    E28_OPEN = "E28" unknown(Doubt::UndeclaredStatus), Hint, "the same while an attempt is open"
        => "the object exists already; it may be ours, from an earlier attempt";
    E28_UNDECLARED = "E28" unknown(Doubt::UndeclaredStatus), Hint, "a 409 that the contract does not declare"
        => "a conflict whose meaning the contract does not declare";
    E28_DECLARED = "E28" REFUSED, P2, "a 409 that is declared as proof of not running"
        => "the contract declares this as proof that it did not run";
    E29 = "E29" REFUSED, P2, "412, a declared lock conflict, gRPC ABORTED or FAILED_PRECONDITION"
        => "the precondition was false";
    E30 = "E30" unknown(Doubt::KeyMismatch), P2, "a declared mismatch of the key's parameters"
        => "this key belongs to another request";
    E31 = "E31" REFUSED, P2, "421, 424, 426, 501, 505"
        => "not carried out";
    E31_RETRYABLE = "E31" RETRYABLE, P2, "423, 425"
        => "not carried out for now";
    E31_FRONT = "E31" unknown(Doubt::UndeclaredStatus), Hint, "501, class X behind an intermediary"
        => "a front may answer this after forwarding";
    E32 = "E32" RETRYABLE, P2, "429 or a throttling code"
        => "a limiter refused it before it ran";
    E32_BATCH = "E32" unknown(Doubt::Partial), Hint, "the same from an endpoint that takes several items"
        => "a limiter refused some of several items";
    E33 = "E33" unknown(Doubt::NoReceipt), Hint, "303"
        => "it was processed and its answer lies elsewhere; it has likely happened";
    E34 = "E34" REFUSED, P2, "307 or 308, not followed"
        => "this hop did not execute it";
    E35 = "E35" Proves::Content, P3, "a stored answer, marked as replayed"
        => "the stored answer of the first execution";
    E35_ERROR = "E35" unknown(Doubt::ReplayedError), Hint, "a stored error that proves nothing"
        => "a stored error was replayed; asking again will not tell more";
    E36 = "E36" unknown(Doubt::Partial), Hint, "207 or a result for each item"
        => "some items applied";
}
