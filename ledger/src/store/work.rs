//! Units of work: what runs inside one write transaction. It loads, reads the clock, decides and writes, under one
//! lock, and may run more than once: a unit that met another one is undone and decided anew.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::oneshot;

use super::Tx;
use super::fault::unavailable_by;
use crate::LedgerError;

pub(crate) type BoxFuture<'t, T> = Pin<Box<dyn Future<Output = T> + Send + 't>>;

/// What runs inside a transaction. It must not keep anything from a run that was undone.
pub(crate) type Work<T> =
    Box<dyn for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T, LedgerError>> + Send + Sync + 'static>;

/// How a member of a folded commit ended.
pub(crate) enum MemberEnd {
    /// Its writes stay.
    Keep,
    /// Its writes are undone, its neighbours' stay.
    Undo,
    /// The store failed: nothing of the fold may stay.
    Abort(LedgerError),
}

/// A unit of work whose answer type is forgotten.
pub(crate) trait Job: Send {
    /// Runs it inside its savepoint.
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, MemberEnd>;
    /// Answers the caller, after the commit; `fault` if the whole fold failed.
    fn reply(self: Box<Self>, fault: Option<LedgerError>);
}

/// A unit of work and who waits for it.
pub(crate) struct WorkJob<T> {
    work: Work<T>,
    outcome: Option<Result<T, LedgerError>>,
    reply: oneshot::Sender<Result<T, LedgerError>>,
}

impl<T> WorkJob<T> {
    pub(crate) fn new(work: Work<T>, reply: oneshot::Sender<Result<T, LedgerError>>) -> Self {
        Self { work, outcome: None, reply }
    }
}

impl<T: Send + 'static> Job for WorkJob<T> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx) -> BoxFuture<'t, MemberEnd> {
        Box::pin(async move {
            let outcome = match guard_panic((self.work)(tx)).await {
                Ok(answer) => tx.finish().await.map(|()| answer),
                Err(error) => {
                    tx.forget_feed();
                    tx.forget_waiting();
                    Err(error)
                }
            };
            match outcome {
                Err(error @ LedgerError::StoreUnavailable { .. }) if !is_panic(&error) => MemberEnd::Abort(error),
                Err(error) => {
                    self.outcome = Some(Err(error));
                    MemberEnd::Undo
                }
                Ok(answer) => {
                    self.outcome = Some(Ok(answer));
                    MemberEnd::Keep
                }
            }
        })
    }

    fn reply(self: Box<Self>, fault: Option<LedgerError>) {
        let answer = match (fault, self.outcome) {
            // A refusal stands whether or not the neighbours could be committed.
            (Some(_) | None, Some(Err(error))) => Err(error),
            (Some(fault), _) => Err(fault),
            (None, Some(Ok(answer))) => Ok(answer),
            (None, None) => Err(unavailable_by("the unit of work did not run")),
        };
        // A caller that went away does not need the answer; the work is done all the same.
        let _ = self.reply.send(answer);
    }
}

const PANICKED: &str = "a fault in the program";

fn is_panic(error: &LedgerError) -> bool {
    matches!(error, LedgerError::StoreUnavailable { what, source: None } if what == PANICKED)
}

/// A fault in one unit must neither stop the writer nor leave its writes behind.
pub(crate) async fn guard_panic<T>(mut work: BoxFuture<'_, Result<T, LedgerError>>) -> Result<T, LedgerError> {
    std::future::poll_fn(move |context| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .unwrap_or_else(|_| Poll::Ready(Err(unavailable_by(PANICKED))))
    })
    .await
}
