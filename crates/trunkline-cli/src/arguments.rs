//! The command line: flags, then the environment, then defaults.

use std::path::PathBuf;

use clap::builder::{BoolishValueParser, RangedU64ValueParser};
use clap::{Args, Parser, Subcommand, value_parser};
use trunkline::limits::MemoryBudget;

use crate::{
    agent, call, chat, command_tools, edn, execute, history, limits, monitor, openrpc, records,
    resources,
};

/// Serves a SQLite database, and records of declared types, over JSON-RPC 2.0, the Model Context
/// Protocol and native commands.
#[derive(Parser)]
#[command(name = "trunkline", version, args_conflicts_with_subcommands = true)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Answers calls over HTTP. This is what happens without a subcommand, too.
    Serve(Box<Serve>),
    /// Speaks the Model Context Protocol on stdin and stdout, for clients that start their servers.
    /// There are resources only with --resources or --expose.
    Mcp(Stdio),
    /// Calls a method of a JSON-RPC 2.0 server, and prints its result.
    Call(call::Arguments),
    /// Lists the tools of an MCP server, or calls one.
    Tools(call::ToolsArguments),
    /// Sends a native command to a server, and prints its result.
    Execute(execute::Arguments),
    /// Shows the types of resources of a file, or of a server.
    Resources(resources::Arguments),
    /// Prints what a JSON-RPC 2.0 server says of itself: its OpenRPC document.
    Openrpc(openrpc::Arguments),
    /// Shows the calls of a server as they come.
    Monitor(monitor::Arguments),
    /// Talks with the agent of a server.
    Chat(chat::Arguments),
    /// Converts documents between EDN and JSON, from stdin to stdout.
    Edn(edn::Arguments),
    /// Runs the commands of tools.
    #[command(subcommand, hide = true)]
    Tool(command_tools::Launch),
}

#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) records: records::Arguments,
    #[command(flatten)]
    pub(crate) tools: command_tools::Folder,
    #[command(flatten)]
    pub(crate) agent: agent::Asked,
    /// The address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", env = "TRUNKLINE_LISTEN")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) history: history::Kept,
    /// How many calls a second each caller may make, by its token or its address; more are refused
    /// (HTTP 429). Twice as many may come at once. Without it, nobody is refused. Calls of the
    /// methods that are served count, as tools and as members of batches, too, one by one; unknown
    /// methods, lists of tools and wrong tokens do not.
    #[arg(
        long,
        value_name = "CALLS",
        env = "TRUNKLINE_RATE_LIMIT",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..=1_000_000)
    )]
    pub(crate) rate_limit: Option<u32>,
    /// Serve https: the server's certificate and those that lead to a root, as PEM. A file that is
    /// replaced is used within a minute, and connections stay open. Needs --tls-key.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_CERT", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key that belongs to --tls-cert, as PEM.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_TLS_KEY", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A name that clients may call this server, besides localhost and its address; without a
    /// port. Repeats, or several with commas between them.
    #[arg(long, value_name = "HOST", env = "TRUNKLINE_ALLOW_HOST", value_delimiter = ',')]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose web pages may call and read the replies, like `https://app.example.com`; `*`
    /// is any. Repeats, or several with commas between them.
    #[arg(long, value_name = "ORIGIN", env = "TRUNKLINE_ALLOW_ORIGIN", value_delimiter = ',')]
    pub(crate) allow_origin: Vec<String>,
    /// The most bytes that a request's body may have.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        env = "TRUNKLINE_MAX_BODY",
        value_parser = RangedU64ValueParser::<usize>::new().range(64..=1 << 30)
    )]
    pub(crate) max_body: usize,
    #[command(flatten)]
    pub(crate) memory: Memory,
}

/// Who may call.
#[derive(Args)]
pub(crate) struct Access {
    /// A token that requests must carry as `Authorization: Bearer TOKEN`. Repeats; the variable
    /// holds one token. Prefer it: other users of the machine can read command lines.
    // Never a list: half of a token that has the separator in it would open the door.
    #[arg(long, value_name = "TOKEN", env = "TRUNKLINE_BEARER", hide_env_values = true)]
    pub(crate) bearer: Vec<String>,
    /// Let in requests with signed tokens (JWT): the JSON Web Key Set that they are checked with, as
    /// a file or an https URL. Changed keys are used without a restart. Needs --audience.
    #[arg(long, value_name = "FILE|URL", env = "TRUNKLINE_JWKS")]
    pub(crate) jwks: Option<String>,
    /// Whom signed tokens have to be for (`aud`); `*` lets in those for anybody. Repeats, or several
    /// with commas between them: one of them is enough.
    #[arg(long, value_name = "AUDIENCE", env = "TRUNKLINE_AUDIENCE", value_delimiter = ',')]
    pub(crate) audience: Vec<String>,
    /// Who has to have issued signed tokens (`iss`). Repeats, or several with commas between them:
    /// one of them is enough.
    #[arg(long, value_name = "ISSUER", env = "TRUNKLINE_ISSUER", value_delimiter = ',')]
    pub(crate) issuer: Vec<String>,
    /// What the token of a call has to say, for methods of a name like `db.*`: a value of a claim
    /// like `role:admin` or `realm_access.roles:admin`, or a scope like `scope:read`. A claim may be
    /// named by a URL: of `https://example.com/roles:admin` the value is what follows the last colon.
    /// Repeats, or several with commas between them: all that match a method count. `history=…` is for
    /// those who may read /history and /logs, which otherwise are for holders of listed tokens, and with
    /// rules for methods for nobody. Needs --jwks.
    #[arg(
        long,
        value_name = "METHODS=CLAIM:VALUE",
        env = "TRUNKLINE_REQUIRE",
        value_delimiter = ','
    )]
    pub(crate) require: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) records: records::Arguments,
    #[command(flatten)]
    pub(crate) tools: command_tools::Folder,
    #[command(flatten)]
    pub(crate) memory: Memory,
}

/// The database, and what callers may do with it.
#[derive(Args)]
pub(crate) struct Source {
    /// The SQLite database to serve. Without it, trunkline.db is opened, or created empty.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_DB")]
    pub(crate) db: Option<PathBuf>,
    /// Let callers change the database; a missing one is created. Otherwise they can only read.
    #[arg(long, env = "TRUNKLINE_WRITABLE", value_parser = BoolishValueParser::new())]
    pub(crate) writable: bool,
    /// Fill a missing or empty database with a small TPC-H sample.
    #[arg(long, env = "TRUNKLINE_SAMPLE", value_parser = BoolishValueParser::new())]
    pub(crate) sample: bool,
    /// The most rows that one call may read.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 1_000,
        env = "TRUNKLINE_MAX_ROWS",
        value_parser = value_parser!(u64).range(1..=10_000_000)
    )]
    pub(crate) max_rows: u64,
    /// Maximum rows that one call changes, raw SQL and cascades included, if it names no other limit.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 1_000,
        env = "TRUNKLINE_MAX_AFFECTED",
        value_parser = value_parser!(u64).range(1..=1_000_000_000_000)
    )]
    pub(crate) max_affected: u64,
    /// The longest that one query may take, in milliseconds.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 5_000,
        env = "TRUNKLINE_QUERY_TIMEOUT_MS",
        value_parser = value_parser!(u64).range(1..=86_400_000)
    )]
    pub(crate) query_timeout_ms: u64,
    /// Maximum memory of SQLite in bytes, for all queries together.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 256 << 20,
        env = "TRUNKLINE_HEAP_LIMIT",
        value_parser = RangedU64ValueParser::<usize>::new().range(32 << 20..=1 << 40)
    )]
    pub(crate) heap_limit: usize,
}

/// The memory for requests and replies.
#[derive(Args)]
pub(crate) struct Memory {
    /// Maximum bytes of requests and replies held for all clients together, from 32 MiB. Requests beyond it
    /// are refused with 503 [default: an eighth of the memory of the machine or cgroup, from 64 MiB to 1 GiB]
    #[arg(
        long = "max-memory",
        value_name = "BYTES",
        env = "TRUNKLINE_MAX_MEMORY",
        value_parser = RangedU64ValueParser::<usize>::new().range(32 << 20..)
    )]
    max_memory: Option<usize>,
}

impl Memory {
    /// The budget for all services of the process.
    pub(crate) fn budget(&self) -> MemoryBudget {
        MemoryBudget::new(self.max_memory.unwrap_or_else(limits::default_memory))
    }
}

/// Reads the command line. Ends the process with a usage message (exit code 2) if it is wrong.
pub(crate) fn parse() -> Command {
    let line = Line::parse();
    line.command.unwrap_or(Command::Serve(Box::new(line.serve)))
}
