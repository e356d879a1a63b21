//! `/operations.csv`: who may have it, what is in it, and that every place that tells a time tells the same one.

use serde_json::json;
use tallystick_domain::evidence::Trust;
use tallystick_domain::permission::Role;

use crate::support::{App, time};

/// The rows of a file by the names of its columns, as RFC 4180 has them.
fn rows(text: &str) -> Vec<Vec<(String, String)>> {
    let mut records = vec![vec![String::new()]];
    let (mut is_quoted, mut characters) = (false, text.chars().peekable());
    while let Some(character) = characters.next() {
        let record = records.last_mut().unwrap();
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                record.last_mut().unwrap().push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(String::new()),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => records.push(vec![String::new()]),
            other => record.last_mut().unwrap().push(other),
        }
    }
    assert_eq!(records.pop().unwrap(), [""], "the last line is ended");
    let names = records.remove(0);
    assert!(records.iter().all(|record| record.len() == names.len()), "{records:?}");
    records.into_iter().map(|record| names.iter().cloned().zip(record).collect()).collect()
}

fn cell<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    let found = row.iter().find(|(name, _)| name == column);
    &found.unwrap_or_else(|| panic!("no column {column} in {row:?}")).1
}

async fn propose(app: &App, key: &str) {
    let body = json!({"operation_key": key, "tool": "pay", "arguments": {"key": key}});
    let made = app.client(Role::Automation).post("/api/v1/operations", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
}

#[tokio::test]
async fn everybody_who_reads_the_list_has_it_as_a_file_and_nobody_else() {
    let app = App::start().await.with_tool().await;
    for key in ["order-1", "order-2", "other"] {
        propose(&app, key).await;
    }
    for role in Role::ALL {
        let client = app.client(role);
        for filter in ["", "?search=order-", "?state=uncertain", "?tool=pay&mode=guarded"] {
            let listed = client.get(&format!("/api/v1/operations{filter}")).await.json();
            let keys: Vec<_> =
                listed["rows"].as_array().unwrap().iter().map(|row| row["operation_key"].clone()).collect();
            let file = client.get(&format!("/operations.csv{filter}")).await;
            assert_eq!(file.status, 200, "{role:?}: {}", file.text());
            assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
            assert_eq!(file.header("cache-control"), Some("no-store"));
            let name = file.header("content-disposition").unwrap();
            assert_eq!(name, "attachment; filename=\"operations-2026-10-05T080000Z.csv\"");
            let exported: Vec<_> = rows(&file.text()).iter().map(|row| json!(cell(row, "operation_key"))).collect();
            assert_eq!(exported, keys, "{role:?} {filter}");
        }
    }
    let nobody = app.anonymous().with("accept", "text/html").get("/operations.csv?tool=pay").await;
    assert_eq!((nobody.status, nobody.header("location")), (303, Some("/sign-in?next=/operations.csv%3Ftool%3Dpay")));
    let client = app.client(Role::Viewer);
    // A filter that is misspelt must not answer with everything.
    client.get("/operations.csv?stat=uncertain").await.assert_problem(400, "bad-query");
    client.get("/operations.csv?state=lost").await.assert_problem(400, "bad-query");
}

#[tokio::test]
async fn no_cell_is_a_formula() {
    let app = App::start().await.with_tool().await;
    let keys = ["=1+1", "+1", "-1", "@SUM(A1)", "a,b\"c", "plain"];
    for key in keys {
        propose(&app, key).await;
    }
    let text = app.client(Role::Viewer).get("/operations.csv").await.text();
    let exported: Vec<_> = rows(&text).iter().rev().map(|row| cell(row, "operation_key").to_owned()).collect();
    assert_eq!(exported, ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "a,b\"c", "plain"]);
}

#[tokio::test]
async fn row_axis_filter_and_file_agree_on_time() {
    let app = App::start().await;
    app.ledger.set_zone(&app.actors[&Role::Administrator], "Asia/Kathmandu", 0).await.unwrap();
    app.trust("feed", Trust::Verified).await;
    // Two sides of a midnight in Kathmandu, which is 18:15 UTC.
    let lines = [("a", "18:14:59"), ("b", "18:15:00")].map(|(op, clock)| {
        format!(r#"{{"ts":"2026-10-03T{clock}Z","ev":"attempt.ended","op":"{op}","key":"key-{op}","tool":"pay","dest":"psp","n":1,"outcome":"timeout"}}"#)
    });
    let report = app.client(Role::Automation).events("feed", &lines.join("\n")).await;
    assert_eq!(report.json()["recorded"], 2, "{}", report.text());
    app.ledger.count_all_outcomes(100).await.unwrap();
    let client = app.client(Role::Viewer).with("accept", "text/html");
    let chart = client.get("/outcomes?window=7d").await.text();
    let mut days = Vec::new();
    for (day, key, local, short) in [
        ("3 Oct", "key-a", "2026-10-03T23:59:59+05:45", "3 Oct 23:59"),
        ("4 Oct", "key-b", "2026-10-04T00:00:00+05:45", "4 Oct 00:00"),
    ] {
        // The bar's line in the table leads to the list.
        let end = chart.find(&format!(">{day}</a>")).unwrap_or_else(|| panic!("{day} is no link in {chart}"));
        let start = chart[..end].rfind("/operations?").unwrap();
        let query = chart[start..end].split('"').next().unwrap().replace("&amp;", "&");
        let list = client.get(&query).await.text();
        assert!(list.contains(key) && list.contains(short), "{short} is missing in {list}");
        let link = query.replace("/operations?", "/operations.csv?");
        let href = link.replace('&', "&amp;");
        assert!(list.contains(&href), "{href} is missing in {list}");
        let file = rows(&client.get(&link).await.text());
        let told: Vec<_> = file.iter().map(|row| cell(row, "operation_key")).collect();
        assert_eq!(told, [key]);
        let (utc, zoned) = (cell(&file[0], "first_attempt_utc"), cell(&file[0], "first_attempt (Asia/Kathmandu)"));
        assert!(utc.ends_with('Z'), "{utc}");
        assert_eq!((zoned, time(zoned)), (local, time(utc)));
        days.push(utc.to_owned());
    }
    assert_eq!(days, ["2026-10-03T18:14:59Z", "2026-10-03T18:15:00Z"]);
}
