//! A hand-written server with the two queries of the SQL benchmark, on axum, and bare rusqlite or tokio-postgres. It checks
//! nothing, has no limits, and queries SQLite on the thread of the runtime.
//!
//! `sql_bare --listen ADDR --database PATH-or-URL --rows-of-sensor SQL --rows-from SQL`

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_postgres::{Client, NoTls, Statement};

#[derive(Deserialize)]
struct Call<'a> {
    id: u64,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    arguments: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    key: i64,
}

#[derive(Serialize)]
struct Reply {
    jsonrpc: &'static str,
    id: u64,
    result: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    structured_content: Rows,
}

#[derive(Serialize)]
struct Rows {
    rows: Vec<(i64, i64, String, f64, String)>,
}

/// A database with its two statements: the rows of a sensor, and the rows from a key.
enum Database {
    Sqlite { connection: Mutex<Connection>, statements: [String; 2] },
    Postgres { client: Client, statements: [Statement; 2] },
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [listen, address, database, location, of_sensor, first, from, second] = &args[..] else {
        bail!("eight arguments are required");
    };
    let names = [listen, database, of_sensor, from].map(String::as_str);
    if names != ["--listen", "--database", "--rows-of-sensor", "--rows-from"] {
        bail!("unexpected arguments: {names:?}");
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(serve(address.parse()?, location, [first.clone(), second.clone()]))
}

async fn serve(address: SocketAddr, location: &str, statements: [String; 2]) -> Result<()> {
    let database = if location.starts_with("postgres://") {
        let (client, connection) = tokio_postgres::connect(location, NoTls).await?;
        tokio::spawn(connection);
        let [first, second] = &statements;
        let statements = [client.prepare(first).await?, client.prepare(second).await?];
        Database::Postgres { client, statements }
    } else {
        Database::Sqlite { connection: Mutex::new(Connection::open(location)?), statements }
    };
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        // Fails only if the option is not supported, which would make the connection slower.
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new().route("/mcp", post(answer)).with_state(Arc::new(database));
    axum::serve(listener, router).await?;
    Ok(())
}

async fn answer(State(database): State<Arc<Database>>, body: Bytes) -> Response {
    match database.answer(&body).await {
        Ok(reply) => ([(CONTENT_TYPE, "application/json")], reply).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

impl Database {
    async fn answer(&self, body: &[u8]) -> Result<Vec<u8>> {
        let call: Call<'_> = serde_json::from_slice(body)?;
        let key = call.params.arguments.key;
        let number = usize::from(call.params.name == "rows_from");
        let rows = match self {
            Self::Sqlite { connection, statements } => {
                let connection = connection.lock().ok().context("a call has panicked")?;
                let mut statement = connection.prepare_cached(&statements[number])?;
                let rows = statement.query_map([key], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                })?;
                rows.collect::<rusqlite::Result<_>>()?
            }
            Self::Postgres { client, statements } => {
                let rows = client.query(&statements[number], &[&key]).await?;
                let rows = rows.iter().map(|row| {
                    Ok((
                        row.try_get(0)?,
                        row.try_get(1)?,
                        row.try_get(2)?,
                        row.try_get(3)?,
                        row.try_get(4)?,
                    ))
                });
                rows.collect::<Result<_, tokio_postgres::Error>>()?
            }
        };
        let result = Outcome { structured_content: Rows { rows } };
        Ok(serde_json::to_vec(&Reply { jsonrpc: "2.0", id: call.id, result })?)
    }
}
