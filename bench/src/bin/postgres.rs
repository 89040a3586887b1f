//! A private PostgreSQL server with a database, which a script of SQL fills: `postgres ROLE FILE`. Prints the URL of the
//! database for the role, and ends when stdin ends.

use anyhow::{Result, bail};
use trunkline_test_postgres::{create_database, url_of};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [role, file] = &args[..] else { bail!("usage: postgres ROLE FILE") };
    let database = create_database(&std::fs::read_to_string(file)?);
    println!("{}", url_of(role, &database));
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
