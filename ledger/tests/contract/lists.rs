//! Pages, filters, search, the queue and its counts.

use tallystick_domain::name::{DestinationName, ToolName};
use tallystick_domain::operation::{Mode, Reason};
use tallystick_domain::query::{OperationQuery, QueueOrder, QueueQuery, UNTOLD};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::tool::Class;
use tallystick_ledger::LedgerError;
use tallystick_ledger::exporting::Cut;
use tallystick_ledger::views::{Place, SavedView, VIEWS_LIMIT};

use crate::rig::{Rig, automation, case, proposal, viewer};

on_both! {
    pages_follow_each_other_newest_first,
    filters_narrow_the_page,
    search_finds_by_key_beginning_receipt_id_and_the_sources_name,
    a_search_with_many_hits_is_paged_by_key,
    a_search_that_filters_leave_little_of_says_that_there_is_more_and_finds_it_all,
    what_a_search_names_exactly_comes_in_its_place_among_the_keys,
    the_queue_is_paged_by_urgency_and_counted_by_reason,
    the_queue_has_other_orders_each_paged_to_its_end,
    what_failed_in_the_same_way_is_one_group_and_the_group_finds_its_members,
    a_persons_views_are_their_own_and_saving_twice_saves_one,
    names_in_use_are_offered_for_filters,
    rows_are_read_again_by_id,
    a_cursor_that_is_not_one_is_refused,
    an_export_is_the_filtered_list_and_says_where_it_was_cut,
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

/// All pages of a query; how many rows each had, and the keys.
async fn walk(rig: &Rig, mut query: OperationQuery) -> (Vec<usize>, Vec<String>) {
    let (mut sizes, mut seen) = (Vec::new(), Vec::new());
    loop {
        let page = rig.ledger.operations(&viewer(), &query).await.unwrap();
        sizes.push(page.rows.len());
        seen.extend(keys(&page.rows).into_iter().map(ToOwned::to_owned));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return (sizes, seen),
        }
    }
}

async fn a_search_with_many_hits_is_paged_by_key(rig: Rig) {
    fill(&rig, 250).await;
    let query = OperationQuery { search: Some("k:".into()), limit: Some(100), ..OperationQuery::default() };
    let (sizes, seen) = walk(&rig, query).await;
    assert_eq!(sizes, [100, 100, 50]);
    assert_eq!(seen, (0..250).map(|number| format!("k:{number:05}")).collect::<Vec<_>>());
}

async fn a_search_that_filters_leave_little_of_says_that_there_is_more_and_finds_it_all(rig: Rig) {
    fill(&rig, 250).await;
    rig.declare("pay", Class::Reversible).await;
    rig.ledger.propose_operation(&automation(), proposal("k:00240:again", "pay", "{}")).await.unwrap();
    let query = OperationQuery { search: Some("k:".into()), mode: Some(Mode::Guarded), ..OperationQuery::default() };
    let (sizes, seen) = walk(&rig, query.clone()).await;
    assert_eq!((sizes.as_slice(), seen.as_slice()), ([0, 0, 1].as_slice(), ["k:00240:again".to_owned()].as_slice()));
    let query = OperationQuery { mode: None, state: Some("uncertain".into()), limit: Some(40), ..query };
    let (sizes, seen) = walk(&rig, query).await;
    assert!(sizes.iter().all(|size| *size <= 40), "{sizes:?}");
    assert_eq!(seen, (0..250).step_by(2).map(|number| format!("k:{number:05}")).collect::<Vec<_>>());
}

async fn what_a_search_names_exactly_comes_in_its_place_among_the_keys(rig: Rig) {
    fill(&rig, 6).await;
    // One key begins with the others' receipt.
    let line = r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"x","key":"r-1:k","tool":"t0","dest":"d0","outcome":"timeout"}"#;
    rig.import(line).await;
    let query = OperationQuery { search: Some("r-1".into()), limit: Some(3), ..OperationQuery::default() };
    let (sizes, seen) = walk(&rig, query).await;
    assert_eq!((sizes, seen), (vec![3, 1], ["k:00001", "k:00003", "k:00005", "r-1:k"].map(ToOwned::to_owned).into()));
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

/// Three that timed out at one place with amounts, one that was cut off there, and one at another place without a name.
async fn fill_alike(rig: &Rig) {
    let lines = [
        (r#""key":"a","tool":"charge","dest":"psp","args":{"amount_minor":500,"currency":"EUR"}"#, "timeout", "09:00"),
        (r#""key":"b","tool":"charge","dest":"psp","args":{"amount_minor":9000,"currency":"EUR"}"#, "timeout", "08:00"),
        (r#""key":"c","tool":"charge","dest":"psp""#, "timeout", "10:00"),
        (r#""key":"d","tool":"charge","dest":"psp","args":{"amount_minor":70,"currency":"EUR"}"#, "conn_lost", "07:00"),
        (r#""key":"e""#, "timeout", "06:00"),
    ];
    let lines: Vec<String> = lines
        .iter()
        .flat_map(|(names, outcome, time)| {
            [
                format!(r#"{{"ts":"2026-10-05T{time}:00Z","ev":"operation.proposed","op":"{time}",{names}}}"#),
                format!(
                    r#"{{"ts":"2026-10-05T{time}:30Z","ev":"attempt.ended","op":"{time}","n":1,"outcome":"{outcome}"}}"#
                ),
            ]
        })
        .collect();
    rig.import(&lines.join("\n")).await;
}

async fn the_queue_has_other_orders_each_paged_to_its_end(rig: Rig) {
    fill_alike(&rig).await;
    let mut nameless = ["c", "e"];
    if rig.id("c").await < rig.id("e").await {
        nameless.reverse();
    }
    for (order, expected) in [
        (QueueOrder::Age, ["e", "d", "b", "a", "c"].map(ToOwned::to_owned)),
        // What has no amount comes last, in the order of the ids.
        (QueueOrder::Stake, ["b", "a", "d", nameless[0], nameless[1]].map(ToOwned::to_owned)),
    ] {
        let mut query = QueueQuery { order, limit: Some(2), ..QueueQuery::default() };
        let mut seen = Vec::new();
        loop {
            let page = rig.ledger.queue(&viewer(), &query).await.unwrap().page;
            seen.extend(page.rows.iter().map(|row| row.head.key.to_string()));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{order:?}");
    }
}

async fn what_failed_in_the_same_way_is_one_group_and_the_group_finds_its_members(rig: Rig) {
    fill_alike(&rig).await;
    let found = rig.ledger.queue_groups(&viewer(), &QueueQuery::default()).await.unwrap();
    assert!(!found.is_cut);
    let mut groups = found.groups;
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [3, 1, 1]);
    let timed_out = &groups[0];
    assert_eq!(
        (timed_out.tool.as_deref(), timed_out.destination.as_deref(), timed_out.reason),
        (Some("charge"), Some("psp"), Reason::TimedOut)
    );
    assert!(timed_out.cause.as_deref().unwrap().ends_with(" timeout"), "{timed_out:?}");
    assert!(timed_out.first < timed_out.last);
    for group in &groups {
        let or_none = |value: &Option<String>| Some(value.clone().unwrap_or_else(|| UNTOLD.to_owned()));
        let query = QueueQuery {
            reason: Some(group.reason),
            tool: or_none(&group.tool),
            destination: or_none(&group.destination),
            cause: or_none(&group.cause),
            ..QueueQuery::default()
        };
        let members = rig.ledger.queue(&viewer(), &query).await.unwrap().page.rows;
        assert_eq!(members.len(), usize::try_from(group.count).unwrap(), "{group:?}");
    }
}

async fn a_persons_views_are_their_own_and_saving_twice_saves_one(rig: Rig) {
    let view = |name: &str, query: &str| SavedView { name: name.into(), query: query.into() };
    let (vera, olga) = (viewer(), crate::rig::actor("olga", tallystick_domain::permission::Role::Operator));
    rig.ledger.save_view(&vera, Place::Queue, view(" Mine ", "assignee=me")).await.unwrap();
    rig.ledger.save_view(&vera, Place::Queue, view("Mine", "assignee=me&order=age")).await.unwrap();
    rig.ledger.save_view(&vera, Place::Operations, view("Mine", "state=uncertain")).await.unwrap();
    assert_eq!(rig.ledger.saved_views(&vera, Place::Queue).await.unwrap(), [view("Mine", "assignee=me&order=age")]);
    assert!(rig.ledger.saved_views(&olga, Place::Queue).await.unwrap().is_empty());
    for bad in [view("", "a=b"), view("x", ""), view("x", "a=b#c"), view(&"x".repeat(61), "a=b"), view("x", "a=\nb")] {
        let error = rig.ledger.save_view(&vera, Place::Queue, bad).await.unwrap_err();
        assert!(matches!(error, LedgerError::Refused(Refusal::BadField { .. })), "{error}");
    }
    for number in 1..VIEWS_LIMIT {
        rig.ledger.save_view(&vera, Place::Queue, view(&format!("v{number}"), "a=b")).await.unwrap();
    }
    assert!(rig.ledger.save_view(&vera, Place::Queue, view("one more", "a=b")).await.is_err());
    rig.ledger.save_view(&vera, Place::Queue, view("Mine", "a=b")).await.unwrap();
    rig.ledger.forget_view(&olga, Place::Queue, "Mine").await.unwrap();
    rig.ledger.forget_view(&vera, Place::Queue, "Mine").await.unwrap();
    rig.ledger.forget_view(&vera, Place::Queue, "Mine").await.unwrap();
    assert_eq!(rig.ledger.saved_views(&vera, Place::Queue).await.unwrap().len(), VIEWS_LIMIT - 1);
    assert_eq!(rig.ledger.saved_views(&vera, Place::Operations).await.unwrap().len(), 1);
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

/// Reads a list as a file is written: the keys, how many pieces, and whether it was cut.
async fn exported(rig: &Rig, query: &OperationQuery, limit: u32) -> (Vec<String>, usize, Option<Cut>) {
    let mut export = rig.ledger.export_operations(&viewer(), query, limit);
    let (mut found, mut pieces, mut cut) = (Vec::new(), 0, None);
    while let Some(piece) = export.next().await.unwrap() {
        assert_eq!(cut, None, "what is cut ends");
        assert!(piece.rows.len() <= 200, "a piece is a page");
        found.extend(keys(&piece.rows).into_iter().map(ToOwned::to_owned));
        (pieces, cut) = (pieces + 1, piece.cut);
    }
    (found, pieces, cut)
}

async fn an_export_is_the_filtered_list_and_says_where_it_was_cut(rig: Rig) {
    fill(&rig, 450).await;
    let asked = [
        OperationQuery::default(),
        OperationQuery { state: Some("uncertain".into()), tool: Some("t1".into()), ..OperationQuery::default() },
        // A page of the list that was open, and its length, are no part of what is exported.
        OperationQuery { after: Some("0".into()), limit: Some(7), ..OperationQuery::default() },
        OperationQuery { search: Some("k:".into()), destination: Some("d1".into()), ..OperationQuery::default() },
    ];
    for query in asked {
        let (_, listed) = walk(&rig, OperationQuery { after: None, limit: Some(40), ..query.clone() }).await;
        assert_eq!(exported(&rig, &query, 10_000).await.0, listed, "{query:?}");
        assert_eq!(exported(&rig, &query, 10_000).await.2, None);
        let (first, _, cut) = exported(&rig, &query, 33).await;
        assert_eq!((first.as_slice(), cut), (&listed[..33], Some(Cut::Rows)), "{query:?}");
        let whole = u32::try_from(listed.len()).unwrap();
        let (found, _, cut) = exported(&rig, &query, whole).await;
        assert_eq!((found, cut), (listed, None), "{query:?}");
    }
    let (all, pieces, _) = exported(&rig, &OperationQuery::default(), 10_000).await;
    assert_eq!((all.len(), pieces), (450, 3));
    assert_eq!(exported(&rig, &OperationQuery::default(), 400).await.2, Some(Cut::Rows), "between two pages");
}
