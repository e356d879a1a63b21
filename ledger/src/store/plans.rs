//! What the planners make of our statements, for a test. Compiled only with the feature `test-clock`.
//!
//! The statements are the very ones that the store sends. Each is listed with the index that it is meant to use.

use sqlx::AssertSqlSafe;
use tallystick_domain::operation::{Mark, Mode, Reason};
use tallystick_domain::query::{DeliveryFilter, OperationQuery, QueueOrder, QueueQuery};
use tallystick_domain::time::Timestamp;

use super::list::{
    Statement, counted_statement, groups_statement, page_statement, queue_statement, search_statement,
    searched_to_statement,
};
use super::value::Value;
use super::{
    Conn, Tx, WORKSPACE, action, bulk, delivery, layer, line, list, operation, outcome, people, sending, tool, workflow,
};
use crate::LedgerError;

/// So few that a plan does not hang on the size of a test's table.
const FEW: usize = 3;

/// A statement with the index it must use and what the planner said.
#[derive(Debug)]
pub struct Plan {
    /// The index; `primary key` for the table's own.
    pub index: &'static str,
    /// The statement.
    pub sql: String,
    /// The planner's words.
    pub text: String,
}

impl Tx {
    /// Explains every statement that reads a table that grows.
    pub(crate) async fn plans(&mut self) -> Result<Vec<Plan>, LedgerError> {
        let explain = match self.conn {
            Conn::Sqlite(_) | Conn::SqliteReader(_) => "EXPLAIN QUERY PLAN",
            Conn::Postgres(_) | Conn::PostgresReader(_) => "EXPLAIN",
        };
        let mut plans = Vec::new();
        // A single key has a text, and a plan, of its own.
        let mut all: Vec<_> = [1, FEW].into_iter().flat_map(statements).collect();
        let with_intents = [
            self.pick(*operation::WITH_INTENTS, *operation::WITH_INTENTS_POSTGRES),
            self.pick(*operation::WITH_INTENTS, *operation::WITH_INTENTS_LOCKED),
        ];
        for sql in with_intents {
            all.extend([1, FEW].map(|asked| ("operation_by_intent", keyed(sql, Vec::new(), &"x".into(), asked))));
        }
        for (index, Statement { sql, args }) in all {
            let rows = self.fetch(AssertSqlSafe(format!("{explain} {sql}")), args).await?;
            let words = rows.into_iter().flat_map(super::value::Cells::rest).filter_map(|value| match value {
                Value::Text(text) => text,
                Value::Int(_) | Value::Bool(_) | Value::Bytes(_) => None,
            });
            plans.push(Plan { index, sql, text: words.collect::<Vec<_>>().join("; ") });
        }
        Ok(plans)
    }
}

fn statements(asked: usize) -> Vec<(&'static str, Statement)> {
    let mut all = pages();
    all.extend(queues());
    all.extend(lookups(asked));
    all.extend(bulks());
    all.extend(outcomes(asked));
    all.extend(
        DeliveryFilter::ALL
            .iter()
            .map(|only| ("delivery", fixed(&delivery::filtered(*only), vec!["~".into(), 9_i64.into(), 20_i64.into()]))),
    );
    all
}

fn pages() -> Vec<(&'static str, Statement)> {
    let page = |query| page_statement(&query);
    let search = |query, searched_to| search_statement(&query, "x", searched_to);
    let text = || Some("x".to_owned());
    let all = OperationQuery::default;
    vec![
        ("primary key", page(all())),
        ("primary key", page(OperationQuery { after: text(), ..all() })),
        ("operation_by_state", page(OperationQuery { state: Some("cancelled".into()), after: text(), ..all() })),
        ("operation_by_tool", page(OperationQuery { tool: text(), ..all() })),
        ("operation_by_destination", page(OperationQuery { destination: text(), ..all() })),
        ("operation_by_mode", page(OperationQuery { mode: Some(Mode::Guarded), ..all() })),
        ("operation_without_key", page(OperationQuery { without_key: true, ..all() })),
        ("primary key", search(all(), None)),
        ("operation_key_once", search(all(), None)),
        ("operation_by_receipt", search(all(), None)),
        ("name_by_name", search(all(), None)),
        ("operation_key_once", search(OperationQuery { after: text(), ..all() }, None)),
        ("operation_key_once", search(OperationQuery { mode: Some(Mode::Guarded), ..all() }, Some("y"))),
        ("operation_key_once", searched_to_statement("x", None)),
        ("operation_key_once", searched_to_statement("x", Some("xa"))),
    ]
}

fn queues() -> Vec<(&'static str, Statement)> {
    let all = QueueQuery::default();
    let text = || Some("x".to_owned());
    let alike = QueueQuery { tool: text(), destination: text(), cause: text(), ..all.clone() };
    let ordered = |order| QueueQuery { order, ..QueueQuery::default() };
    let reset = QueueQuery { reason: Some(Reason::Reset), ..QueueQuery::default() };
    vec![
        ("attention_by_rank", queue_statement(&all, None, None)),
        ("attention_by_rank", queue_statement(&all, None, Some((1, "x")))),
        ("attention_by_reason", queue_statement(&reset, None, None)),
        ("attention_by_assignee", queue_statement(&all, Some("x"), None)),
        ("attention_by_cause", queue_statement(&alike, None, Some((1, "x")))),
        ("attention_by_age", queue_statement(&ordered(QueueOrder::Age), None, Some((1, "x")))),
        ("attention_by_stake", queue_statement(&ordered(QueueOrder::Stake), None, Some((1, "x")))),
        ("attention_by_group", groups_statement(&all, None)),
        ("attention_by_", fixed(list::COUNT, vec![1000_i64.into()])),
        ("attention_by_reason", fixed(&list::COUNTS, vec![1000_i64.into()])),
        ("attention_by_since", fixed(list::OLDEST, Vec::new())),
        ("attention_by_key_end", fixed(list::LOSING, vec![1_i64.into(), 2_i64.into(), 1000_i64.into()])),
        ("operation_by_tool", fixed(list::TOOLS, vec![200_i64.into()])),
        ("operation_by_destination", fixed(list::DESTINATIONS, vec![200_i64.into()])),
        ("operation_by_change", fixed(list::DUE, vec![5_i64.into(), 100_i64.into()])),
        ("operation_by_mode", fixed(list::IDS_GUARDED, vec!["x".into(), 100_i64.into()])),
        ("operation_by_claim", fixed(sending::CLAIMABLE, vec!["x".into(), 5_i64.into(), true.into(), 9_i64.into()])),
        ("operation_by_claim", fixed(sending::DUE_RETRIES, vec!["x".into(), 5_i64.into(), 9_i64.into()])),
        ("operation_by_look_up", fixed(sending::TO_LOOK_UP, vec!["x".into(), 5_i64.into(), 9_i64.into()])),
        ("operation_by_tool", fixed(list::IDS_OF_TOOL, vec!["x".into(), "x".into(), 100_i64.into()])),
    ]
}

fn lookups(asked: usize) -> Vec<(&'static str, Statement)> {
    let keyed = |sql, first, key: &Value| keyed(sql, first, key, asked);
    let text = || Value::from("x");
    let bytes = || Value::from(vec![0_u8; 32]);
    let page: Vec<Value> = vec!["~".into(), 51_i64.into()];
    vec![
        ("primary key", keyed(*operation::BY_ID, Vec::new(), &text())),
        ("journal", keyed(operation::FACTS, Vec::new(), &text())),
        ("journal", fixed(operation::ENTRIES, vec![text(), 9_i64.into()])),
        ("operation_by_intent", keyed(operation::IDS_OF_INTENTS, Vec::new(), &text())),
        ("operation_key_once", keyed(operation::IDS_BY_KEY, Vec::new(), &text())),
        ("operation_by_compensates", keyed(operation::IDS_BY_COMPENSATES, Vec::new(), &text())),
        ("operation_by_workflow", fixed(operation::IDS_BY_WORKFLOW, vec![text()])),
        ("operation_by_workflow", fixed(workflow::MEMBERS, vec![text(), 9_i64.into()])),
        ("operation_by_workflow", keyed(workflow::MEMBERS_OF, Vec::new(), &text())),
        ("workflow", fixed(workflow::ONE, vec![text()])),
        ("workflow_newest", fixed(workflow::NEWEST, vec![9_i64.into(), text(), 9_i64.into()])),
        ("source_line", keyed(line::KNOWN_LINES, vec![text()], &bytes())),
        ("line_by_link_key", keyed(line::LINKED_LINES, Vec::new(), &text())),
        ("operation_name", keyed(line::IDS_BY_NAME, vec![text()], &text())),
        ("name_by_operation", fixed(line::NAMES_OF, vec![text()])),
        ("session_by_end", fixed(people::ENDED_SESSION, vec![5_i64.into()])),
        ("key_use", keyed(line::KEY_USES, Vec::new(), &text())),
        ("argument", fixed(line::FIRST_ARGUMENTS, vec![text(), 9_i64.into()])),
        ("argument_by_intent", fixed(line::IDS_OF_INTENT, vec![vec![0_u8; 32].into(), text(), 9_i64.into()])),
        ("argument", fixed(line::ARGUMENTS_START, vec![text(), vec![0_u8; 32].into(), 9_i64.into()])),
        ("argument", fixed(line::ARGUMENTS_BY_HASH, vec![text(), vec![0_u8; 32].into(), 9_i64.into()])),
        ("argument", fixed(line::NEWEST_ARGUMENTS, vec![text()])),
        ("wire", fixed(sending::KEPT_WIRE, vec![text(), 1_i64.into()])),
        ("budget_refusal", fixed(sending::REFUSED, vec![text(), 5_i64.into(), 9_i64.into()])),
        ("budget_refusal", fixed(sending::NEWEST_REFUSED, vec![text(), 9_i64.into()])),
        ("sending", fixed(sending::END_SENDING, vec![text(), 1_i64.into()])),
        ("sending_by_incarnation", fixed(sending::SENT_BY, vec![text(), 9_i64.into()])),
        ("operation_source", fixed(line::IDS_OF_SOURCE, vec![text(), text(), 9_i64.into()])),
        ("delivery_name", keyed(delivery::ROWS_BY_NAME, vec![text(), 9_i64.into()], &text())),
        ("delivery", keyed(delivery::KEPT, Vec::new(), &text())),
        ("delivery_by_destination", fixed(delivery::OF_DESTINATION, vec![text(), text(), 9_i64.into()])),
        ("receipt_use", keyed(delivery::RECEIPT_USES, Vec::new(), &text())),
        ("delivery", fixed(delivery::NEWEST, page.clone())),
        ("delivery", fixed(delivery::SEARCHED_TO, vec!["~".into(), 20_i64.into()])),
        ("delivery_match", keyed(delivery::MATCHES, Vec::new(), &text())),
        ("action_newest", fixed(action::NEWEST, page.clone())),
        ("action_by_operation", fixed(action::OF_OPERATION, [page.clone(), vec![text()]].concat())),
        ("action_by_kind", fixed(action::OF_KIND, [page.clone(), vec![text()]].concat())),
        ("action_by_", fixed(action::OF_OPERATION_AND_KIND, [page, vec![text(), text()]].concat())),
    ]
}

fn bulks() -> Vec<(&'static str, Statement)> {
    let text = || Value::from("x");
    vec![
        ("bulk_running", fixed(bulk::RUNNING, vec![5_i64.into(), text(), 9_i64.into()])),
        ("bulk_previewed", fixed(bulk::OLD_PREVIEWS, vec![5_i64.into(), 9_i64.into()])),
        ("bulk", fixed(bulk::NEWEST, vec![9_i64.into()])),
        ("bulk_item", fixed(bulk::ITEMS, vec![text()])),
        ("bulk_item", fixed(bulk::WAITING, vec![text(), 9_i64.into()])),
        ("bulk_item_by_operation", fixed(bulk::OF_OPERATION, vec![text(), 9_i64.into()])),
    ]
}

fn outcomes(asked: usize) -> Vec<(&'static str, Statement)> {
    let keyed = |sql, first, key: &Value| keyed(sql, first, key, asked);
    let (text, at) = (|| Value::from("x"), Timestamp::from_micros);
    let window = || OperationQuery { since: Some(at(5)), until: Some(at(9)), ..OperationQuery::default() };
    let counted = |query: OperationQuery| counted_statement(&query, Some((at(7), "x")));
    let over = |sql: &str, rest: Vec<Value>| Statement {
        sql: sql.to_owned(),
        args: outcome::piece_args(at(5), at(9)).into_iter().chain(rest).collect(),
    };
    vec![
        ("outcome_by_first", counted(window())),
        ("outcome_by_state", counted(OperationQuery { state: Some("uncertain".into()), ..window() })),
        ("outcome_by_tool", counted(OperationQuery { tool: Some("x".into()), ..window() })),
        ("outcome_by_destination", counted(OperationQuery { destination: Some("x".into()), ..window() })),
        ("outcome_attempt_by_name", counted(OperationQuery { layer: Some("x".into()), ..window() })),
        ("outcome_attempt_by_name", counted(OperationQuery { mark: Some(Mark::Unknown), ..window() })),
        ("primary key", fixed(outcome::IDS_AFTER, vec![text(), 9_i64.into()])),
        ("outcome_operation", keyed(outcome::COUNTED, Vec::new(), &text())),
        ("outcome_attempt", keyed(outcome::ATTEMPTS, Vec::new(), &text())),
        ("outcome_repeat", fixed(outcome::REPEATS, vec![9_i64.into()])),
        ("outcome_sum", fixed(outcome::BY_QUARTER, vec![5_i64.into(), 9_i64.into()])),
        ("outcome_sum", over(&outcome::BY_NAME, vec![text()])),
        ("outcome_time", over(&outcome::BY_TIME, Vec::new())),
        ("outcome_by_attempts", fixed(layer::MOST, vec![text()])),
        ("outcome_by_tool", fixed(layer::SEEN, vec![text(), 9_i64.into()])),
        ("layer_line", fixed(layer::NEWEST, vec![9_i64.into()])),
        ("tool_version", fixed(tool::NEWEST_VERSIONS, vec![text(), 9_i64.into()])),
    ]
}

/// A statement whose first argument is the workspace.
fn fixed(sql: &str, rest: Vec<Value>) -> Statement {
    let args = std::iter::once(Value::from(WORKSPACE)).chain(rest).collect();
    Statement { sql: sql.to_owned(), args }
}

/// A statement that asks for so many keys.
fn keyed(sql: &str, first: Vec<Value>, key: &Value, asked: usize) -> Statement {
    let mut statement = fixed(sql, first);
    let start = statement.args.len();
    statement.args.extend((0..asked).map(|_| key.clone()));
    let list: Vec<_> = (start..start + asked).map(|at| format!("${}", at + 1)).collect();
    statement.sql = sql.replace("{keys}", &list.join(", "));
    statement
}
