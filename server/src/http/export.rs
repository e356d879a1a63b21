//! `GET /operations.csv`: the page's list as a file, under the same filters and in the same order. It is read as it is sent,
//! a page at a time, so that a long list takes no more memory than a short one.

use std::collections::BTreeMap;
use std::future::ready;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use tallystick_app::api::ssr::ZonePrinter;
use tallystick_domain::query::OperationQuery;
use tallystick_domain::view::Lens;
use tallystick_domain::view::export::{ROWS_LIMIT, heading, note, row};
use tallystick_domain::view::outcomes::number;
use tallystick_ledger::LedgerError;
use tallystick_ledger::exporting::{Cut, Piece};

use super::problem::Answer;
use super::v1::operations::{FILTERS, Pairs, bad_query, borrowed, known_pairs};
use crate::auth::SignedIn;
use crate::state::AppState;

/// What the lines are written with.
struct Writer {
    zone: ZonePrinter,
    names: BTreeMap<String, String>,
}

impl Writer {
    fn lines(&self, piece: &Piece) -> String {
        let lens = Lens { now: piece.as_of, times: &self.zone, names: &self.names };
        let rows = piece.rows.iter().map(|listed| row(&listed.head, &listed.row, &lens));
        rows.chain(piece.cut.map(|cut| note(&words(cut)))).collect()
    }
}

fn words(cut: Cut) -> String {
    match cut {
        Cut::Rows => format!(
            "Cut here: this file has the first {} operations, and the list has more. Narrow the filter, or read all of them by GET /api/v1/operations.",
            number(ROWS_LIMIT.into())
        ),
        Cut::Searched => {
            "Cut here: the search was given up, because too few of the keys with this beginning match the other filters. Give more of the key.".to_owned()
        }
    }
}

/// The list as CSV.
pub async fn operations(SignedIn(actor): SignedIn, State(state): State<AppState>, pairs: Pairs) -> Answer<Response> {
    let pairs = known_pairs(pairs, &FILTERS)?;
    let query = OperationQuery::from_pairs(borrowed(&pairs)).map_err(bad_query)?;
    let zone = ZonePrinter::named(&state.ledger.settings().await?.zone);
    // Without their names people are shown by id, as on the page.
    let people = state.ledger.principals(&actor).await.unwrap_or_default();
    let names = people.into_iter().map(|person| (person.id.to_string(), person.name)).collect();
    let mut export = state.ledger.export_operations(&actor, &query, ROWS_LIMIT);
    // What is refused or fails at once is answered as a problem; later only the connection can end.
    let first = export.next().await?;
    let writer = Writer { zone, names };
    let begun = heading(writer.zone.name()) + &first.iter().map(|piece| writer.lines(piece)).collect::<String>();
    let name = format!("operations-{}.csv", state.ledger.now().await?.to_utc().format("%Y-%m-%dT%H%M%SZ"));
    let rest = stream::try_unfold((export, writer), |(mut export, writer)| async move {
        let piece = export.next().await.inspect_err(|error| {
            tracing::error!(error = error as &dyn std::error::Error, "A list could not be written to its end: {error}");
        })?;
        Ok::<_, LedgerError>(piece.map(|piece| (writer.lines(&piece), (export, writer))))
    });
    let lines = stream::once(ready(Ok(begun))).chain(rest);
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8; header=present".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}
