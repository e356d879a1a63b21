//! The one text of both engines: compiled once under `sqlite` and once under `postgres`, where `Db` and
//! `Connection` mean that engine's types. Everything else of the store is built on these three.

use sqlx::query::Query;
use sqlx::{Column as _, Database, Decode, Row, SqlStr, TypeInfo, ValueRef};

use super::{Connection, Db};
use crate::store::value::{Cells, Value};

/// Runs a statement; how many rows it touched.
pub(crate) async fn execute(conn: &mut Connection, sql: SqlStr, args: Vec<Value>) -> Result<u64, sqlx::Error> {
    Ok(bind(sqlx::query(sql), args).execute(conn).await?.rows_affected())
}

/// Reads all rows of a statement. Every statement of ours is bounded.
pub(in crate::store) async fn fetch(
    conn: &mut Connection,
    sql: SqlStr,
    args: Vec<Value>,
) -> Result<Vec<Cells>, sqlx::Error> {
    let rows = bind(sqlx::query(sql), args).fetch_all(conn).await?;
    rows.iter().map(read_row).collect()
}

/// Runs several statements without arguments, as a migration has them.
pub(in crate::store) async fn execute_script(conn: &mut Connection, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sql).execute(conn).await.map(|_| ())
}

pub(super) fn bind(
    mut query: Query<'_, Db, <Db as Database>::Arguments>,
    args: Vec<Value>,
) -> Query<'_, Db, <Db as Database>::Arguments> {
    for arg in args {
        query = match arg {
            Value::Text(text) => query.bind(text),
            Value::Int(int) => query.bind(int),
            Value::Bool(yes) => query.bind(yes),
            Value::Bytes(bytes) => query.bind(bytes),
        };
    }
    query
}

pub(super) fn read_row(row: &<Db as Database>::Row) -> Result<Cells, sqlx::Error> {
    let mut values = Vec::with_capacity(row.len());
    for column in row.columns() {
        values.push(read_value(row.try_get_raw(column.ordinal())?)?);
    }
    Ok(Cells::new(values))
}

fn read_value(raw: <Db as Database>::ValueRef<'_>) -> Result<Value, sqlx::Error> {
    if raw.is_null() {
        return Ok(Value::Text(None));
    }
    let kind = raw.type_info().into_owned();
    let value = match kind.name() {
        "TEXT" | "VARCHAR" | "NAME" => Value::Text(Some(Decode::<Db>::decode(raw).map_err(sqlx::Error::Decode)?)),
        "INTEGER" | "INT8" | "INT4" => Value::Int(Some(Decode::<Db>::decode(raw).map_err(sqlx::Error::Decode)?)),
        "BLOB" | "BYTEA" => Value::Bytes(Some(Decode::<Db>::decode(raw).map_err(sqlx::Error::Decode)?)),
        "BOOL" | "BOOLEAN" => Value::Bool(Some(Decode::<Db>::decode(raw).map_err(sqlx::Error::Decode)?)),
        other => return Err(sqlx::Error::Decode(format!("the store does not use the type {other}").into())),
    };
    Ok(value)
}
