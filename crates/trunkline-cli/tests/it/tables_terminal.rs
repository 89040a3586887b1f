//! Results of client commands on a terminal of 80 columns.

use std::path::Path;

use crate::support::{Server, Terminal, tpch, trunkline};

/// Runs a client command on a terminal. Returns the output, and whether it has escape sequences.
fn show(server: &Server, arguments: &[&str], variables: &[(&str, &str)]) -> (String, bool) {
    let mut command = trunkline(Path::new("."));
    command.args(arguments).env("TRUNKLINE_URL", server.address.to_string());
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let mut terminal = Terminal::run(&command);
    let shown = terminal.rest();
    (shown, terminal.has_escapes())
}

#[test]
fn tables_fit_the_terminal() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    let (shown, has_escapes) =
        show(&server, &["call", "db.query_records", "table_name=orders", "limit=3"], &[]);
    assert!(has_escapes);
    assert!(shown.contains('…'), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(shown.lines().count(), 2 + 3 + 1, "{shown}");
    let (shown, _) = show(&server, &["call", "db.query_records", "table_name=lineitem"], &[]);
    assert!(shown.contains(" of 16 columns, all with --format vertical"), "{shown}");

    let (shown, _) = show(&server, &["call", "db.list_tables"], &[]);
    assert!(shown.starts_with("name      kind   columns  row_estimate\n"), "{shown}");
    assert!(shown.ends_with("8 rows\n"), "{shown}");
    let (shown, _) = show(&server, &["call", "db.describe_table", "table_name=region"], &[]);
    assert!(shown.starts_with("region (table)\n\nname "), "{shown}");
    assert!(shown.ends_with("\nprimary key: r_regionkey\n"), "{shown}");
}

#[test]
fn respects_no_color() {
    let (_folder, path) = tpch();
    let server = Server::of(&path);
    for arguments in [
        &["call", "db.list_tables"][..],
        &["call", "rpc.discover"],
        &["call", "nope"],
        &["tools"],
        &["openrpc"],
    ] {
        assert!(show(&server, arguments, &[]).1, "{arguments:?}");
        assert!(!show(&server, arguments, &[("NO_COLOR", "1")]).1, "{arguments:?}");
        assert!(!show(&server, arguments, &[("TERM", "dumb")]).1, "{arguments:?}");
    }
}
