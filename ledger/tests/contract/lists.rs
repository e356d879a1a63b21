//! Pages, filters, search, the queue and its counts.

use tallystick_domain::name::{DestinationName, ToolName};
use tallystick_domain::operation::{Mode, Reason};
use tallystick_domain::query::{OperationQuery, QueueQuery};
use tallystick_domain::tool::Class;

use crate::rig::{Rig, automation, case, proposal, viewer};

on_both! {
    pages_follow_each_other_newest_first,
    filters_narrow_the_page,
    search_finds_by_key_beginning_receipt_id_and_the_sources_name,
    a_search_with_many_hits_shows_the_newest_first,
    the_queue_is_paged_by_urgency_and_counted_by_reason,
    names_in_use_are_offered_for_filters,
    rows_are_read_again_by_id,
    a_cursor_that_is_not_one_is_refused,
}

async fn fill(rig: &Rig, count: u32) {
    let lines: Vec<String> = (0..count)
        .map(|number| {
            let outcome = if number % 2 == 0 { r#""timeout""# } else { r#""ok","receipt":"r-1""# };
            format!(
                r#"{{"ts":"2026-10-05T09:{:02}:{:02}Z","ev":"attempt.ended","op":"op{number}","key":"k:{number:05}","tool":"t{}","dest":"d{}","outcome":{outcome}}}"#,
                number / 60 % 60,
                number % 60,
                number % 3,
                number % 2,
            )
        })
        .collect();
    rig.import(&lines.join("\n")).await;
}

fn keys(rows: &[tallystick_ledger::operations::Listed]) -> Vec<&str> {
    rows.iter().map(|row| row.head.key.as_str()).collect()
}

async fn pages_follow_each_other_newest_first(rig: Rig) {
    fill(&rig, 7).await;
    let mut query = OperationQuery { limit: Some(3), ..OperationQuery::default() };
    let mut seen = Vec::new();
    loop {
        let page = rig.ledger.operations(&viewer(), &query).await.unwrap();
        seen.extend(keys(&page.rows).into_iter().map(ToOwned::to_owned));
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    let expected: Vec<String> = (0..7).rev().map(|number| format!("k:{number:05}")).collect();
    assert_eq!(seen, expected);
}

async fn filters_narrow_the_page(rig: Rig) {
    fill(&rig, 12).await;
    rig.declare("pay", Class::Reversible).await;
    rig.ledger.propose_operation(&automation(), proposal("g", "pay", "{}")).await.unwrap();
    let count = |query: OperationQuery| {
        let ledger = rig.ledger.clone();
        async move { ledger.operations(&viewer(), &query).await.unwrap().rows.len() }
    };
    let all = OperationQuery::default;
    assert_eq!(count(all()).await, 13);
    assert_eq!(count(OperationQuery { state: Some("uncertain".into()), ..all() }).await, 6);
    assert_eq!(count(OperationQuery { state: Some("succeeded".into()), tool: Some("t0".into()), ..all() }).await, 2);
    assert_eq!(count(OperationQuery { destination: Some("d1".into()), ..all() }).await, 6);
    assert_eq!(count(OperationQuery { mode: Some(Mode::Guarded), ..all() }).await, 1);
    assert_eq!(count(OperationQuery { without_key: true, ..all() }).await, 0);
}

async fn search_finds_by_key_beginning_receipt_id_and_the_sources_name(rig: Rig) {
    fill(&rig, 12).await;
    let search = |text: String| {
        let ledger = rig.ledger.clone();
        async move {
            let query = OperationQuery { search: Some(text), ..OperationQuery::default() };
            ledger.operations(&viewer(), &query).await.unwrap().rows
        }
    };
    assert_eq!(search("k:0001".into()).await.len(), 2);
    assert_eq!(search("r-1".into()).await.len(), 6);
    assert_eq!(keys(&search("op7".into()).await), ["k:00007"]);
    let id = rig.id("k:00003").await;
    assert_eq!(keys(&search(id.to_string()).await), ["k:00003"]);
    assert!(search("% OR 1=1 --".into()).await.is_empty());
}

async fn a_search_with_many_hits_shows_the_newest_first(rig: Rig) {
    fill(&rig, 1200).await;
    let query = OperationQuery { search: Some("k:".into()), limit: Some(2), ..OperationQuery::default() };
    let page = rig.ledger.operations(&viewer(), &query).await.unwrap();
    assert_eq!(keys(&page.rows), ["k:01199", "k:01198"]);
    let query = OperationQuery { after: page.next, ..query };
    assert_eq!(keys(&rig.ledger.operations(&viewer(), &query).await.unwrap().rows), ["k:01197", "k:01196"]);
}

async fn the_queue_is_paged_by_urgency_and_counted_by_reason(rig: Rig) {
    fill(&rig, 12).await;
    rig.import(&case("R01")).await;
    let mut query = QueueQuery { limit: Some(3), ..QueueQuery::default() };
    let (mut ranks, mut ids) = (Vec::new(), std::collections::BTreeSet::new());
    let first = rig.ledger.queue(&viewer(), &query).await.unwrap();
    loop {
        let page = rig.ledger.queue(&viewer(), &query).await.unwrap().page;
        ranks.extend(page.rows.iter().map(|row| row.row.attention.unwrap().rank));
        ids.extend(page.rows.iter().map(|row| row.head.id.clone()));
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert!(ranks.is_sorted());
    assert_eq!((ranks.len(), ids.len()), (7, 7));
    assert_eq!(first.counts.values().sum::<u32>(), 7);
    assert_eq!(first.counts.get(&Reason::Contradicted), Some(&1));
    assert_eq!(rig.ledger.count_waiting(&viewer()).await.unwrap().count, 7);
    assert!(first.oldest_since.is_some());
    let only = QueueQuery { reason: Some(Reason::Contradicted), ..QueueQuery::default() };
    assert_eq!(rig.ledger.queue(&viewer(), &only).await.unwrap().page.rows.len(), 1);
}

async fn names_in_use_are_offered_for_filters(rig: Rig) {
    fill(&rig, 12).await;
    let (tools, destinations) = rig.ledger.filter_values(&viewer()).await.unwrap();
    assert_eq!(tools.iter().map(ToolName::as_str).collect::<Vec<_>>(), ["t0", "t1", "t2"]);
    assert_eq!(destinations.iter().map(DestinationName::as_str).collect::<Vec<_>>(), ["d0", "d1"]);
}

async fn rows_are_read_again_by_id(rig: Rig) {
    fill(&rig, 3).await;
    let ids = [rig.id("k:00000").await, rig.id("k:00002").await];
    assert_eq!(rig.ledger.operations_by_id(&viewer(), &ids).await.unwrap().len(), 2);
    assert!(rig.ledger.operations_by_id(&viewer(), &[]).await.unwrap().is_empty());
}

async fn a_cursor_that_is_not_one_is_refused(rig: Rig) {
    let query = QueueQuery { after: Some("yesterday".into()), ..QueueQuery::default() };
    let error = rig.ledger.queue(&viewer(), &query).await.unwrap_err();
    assert!(error.to_string().starts_with("after: "), "{error}");
}
