use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The URL of the server, without a database.
pub fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| std::env::var("TRUNKLINE_TEST_POSTGRES").unwrap_or_else(|_| start()))
}

/// The URL of a database for a role.
pub fn url_of(user: &str, database: &str) -> String {
    let base = url();
    let address = base.rsplit_once('@').map_or(base, |(_, address)| address);
    format!("postgres://{user}@{address}/{database}")
}

/// Creates a database of the role `app`, and runs a script in it. It is removed with the server. Roles that are members
/// of `guarded` must give their password.
pub fn create_database(script: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    static ROLES: OnceLock<()> = OnceLock::new();
    ROLES.get_or_init(|| {
        let roles = "DO $$ BEGIN PERFORM pg_advisory_xact_lock(7); \
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'app') THEN \
            CREATE ROLE app LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE filer LOGIN; CREATE ROLE keeper LOGIN PASSWORD 'sesame'; \
            CREATE ROLE auditor LOGIN; CREATE ROLE guarded; GRANT pg_read_server_files TO filer; GRANT reader TO app; \
            IF current_setting('server_version_num')::int >= 140000 THEN GRANT pg_read_all_data TO auditor; \
            END IF; END IF; END $$";
        psql("postgres", "postgres", roles);
    });
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{}_{number}", std::process::id());
    let create = format!("CREATE DATABASE {name} OWNER app TEMPLATE template0");
    psql("postgres", "postgres", &create);
    psql("app", &name, script);
    name
}

/// Creates roles that may not log in, unless they exist. The role `app` becomes a member of the first ones, even if another
/// test has created them. Roles belong to the server, and not to the database of a test, so scripts that tests run at the
/// same time must not create them.
pub fn create_roles(of_app: &[&str], others: &[&str]) {
    let mut script = "BEGIN; SELECT pg_advisory_xact_lock(7);".to_owned();
    for (name, is_of_app) in
        of_app.iter().map(|name| (name, true)).chain(others.iter().map(|name| (name, false)))
    {
        let quoted = name.replace('"', "\"\"");
        let grant = if is_of_app { format!("GRANT \"{quoted}\" TO app;") } else { String::new() };
        write!(
            script,
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}') THEN \
             CREATE ROLE \"{quoted}\"; END IF; END $$; {grant}"
        )
        .unwrap();
    }
    psql("postgres", "postgres", &(script + "COMMIT"));
}

/// Runs statements, and returns the lines of their results. Columns are separated by `|`.
#[track_caller]
pub fn psql(user: &str, database: &str, sql: &str) -> Vec<String> {
    let superuser = format!("{}/{database}", url());
    psql_at(&if user == "postgres" { superuser } else { url_of(user, database) }, sql)
}

/// The same, with the URL of a database.
#[track_caller]
pub fn psql_at(url: &str, sql: &str) -> Vec<String> {
    let mut command = Command::new(programs().join("psql"));
    command.args([
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "--set=ON_ERROR_STOP=1",
    ]);
    command.args(["--set=VERBOSITY=terse", "--file=-", url]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The certificate of the server as a file in PEM, if TLS is tested.
pub fn certificate() -> Option<PathBuf> {
    CERTIFICATE.get().cloned()
}

static CERTIFICATE: OnceLock<PathBuf> = OnceLock::new();

/// The way in which the server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Open transactions are rolled back.
    Fast,
    /// As if the server had crashed: it recovers from its log when it starts again.
    Immediate,
}

/// Stops the private server until [`start_again`], and waits until it has ended.
pub fn stop(shutdown: Shutdown) {
    supervisor().request(match shutdown {
        Shutdown::Fast => "INT",
        Shutdown::Immediate => "QUIT",
    });
}

/// Starts the private server after [`stop`], and waits until it accepts connections.
pub fn start_again() {
    let mut supervisor = supervisor();
    supervisor.request("start");
    supervisor.wait_until_ready();
}

/// The id of the first process of the private server, whose children are the other ones.
pub fn process() -> u32 {
    let file = supervisor().folder.join("data/postmaster.pid");
    fs::read_to_string(file).unwrap().lines().next().unwrap().parse().unwrap()
}

/// The lines of the private server's log about a database.
pub fn log_of(database: &str) -> Vec<String> {
    let (log, prefix) = (supervisor().log(), format!("{database} "));
    log.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
}

/// The private server, which must have been started.
fn supervisor() -> std::sync::MutexGuard<'static, Supervisor> {
    url();
    SUPERVISOR.get().expect("the server is not that of this process").lock().unwrap()
}

static SUPERVISOR: OnceLock<Mutex<Supervisor>> = OnceLock::new();

/// The process that starts and stops the server.
struct Supervisor {
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
}

/// Ends the server and removes its files when its standard input is closed, which happens when this process ends.
const SCRIPT: &str = r#"
    folder=$1; shift
    start() { "$@" >>"$folder/log" 2>&1 & server=$!; }
    start "$@"
    while read -r request; do
        case $request in
            start) start "$@" ;;
            *) kill "-$request" "$server"; wait "$server" ;;
        esac
        echo done
    done
    kill -INT "$server" 2>/dev/null
    wait "$server"
    rm -rf "$folder"
"#;

impl Supervisor {
    /// Requests a start, or a stop with a signal.
    fn request(&mut self, request: &str) {
        writeln!(self.requests, "{request}").unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        assert_eq!(reply, "done\n", "{}", self.log());
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + START_TIME;
        let socket = self.folder.join(format!(".s.PGSQL.{}.lock", self.port));
        while fs::read_to_string(&socket).is_err() || !self.is_ready() {
            assert!(Instant::now() < deadline, "PostgreSQL did not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_ready(&self) -> bool {
        let mut command = Command::new(self.programs.join("pg_isready"));
        command.args(["--quiet", "--host=127.0.0.1", &format!("--port={}", self.port)]);
        command.status().unwrap().success()
    }

    fn log(&self) -> String {
        // It contains texts of databases without an encoding.
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

/// Maximum time until the server accepts connections.
pub(crate) const START_TIME: Duration = Duration::from_secs(120);

/// A free address for a server that is stopped and started again. The system gives its port to no client meanwhile.
pub fn free_address() -> SocketAddr {
    // Linux takes the ports of clients from 32768 on.
    const PORTS: std::ops::Range<u16> = 12_000..32_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    // Processes begin at different ports.
    let begin = (std::process::id() % 400) as u16 * 50;
    loop {
        let number = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % count;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, PORTS.start + number));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

#[expect(clippy::zombie_processes, reason = "the supervisor ends after this process")]
fn start() -> String {
    let programs = programs();
    let folder = tempfile::Builder::new().prefix("trunkline-postgres-").tempdir().unwrap().keep();
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("server.crt"), certificate.cert.pem()).unwrap();
    fs::write(folder.join("server.key"), certificate.signing_key.serialize_pem()).unwrap();
    own(&folder);
    run(Command::new("chmod").arg("0600").arg(folder.join("server.key")));
    run(Command::new("chmod").arg("0755").arg(&folder));
    let data = folder.join("data");
    let mut initdb = unprivileged(&programs.join("initdb"));
    initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8"]);
    run(initdb.arg("--no-sync").arg("-D").arg(&data));
    let rules = data.join("pg_hba.conf");
    let rest = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, format!("host all keeper,+guarded 127.0.0.1/32 scram-sha-256\n{rest}"))
        .unwrap();

    let port = free_address().port();
    let server = unprivileged(&programs.join("postgres"));
    let mut supervisor = Command::new("sh");
    supervisor.args(["-c", SCRIPT, "sh"]).arg(&folder);
    supervisor.arg(server.get_program()).args(server.get_args()).arg("-D").arg(&data);
    for setting in [
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        format!("unix_socket_directories={}", folder.display()),
        "fsync=off".to_owned(),
        "max_connections=200".to_owned(),
        "log_line_prefix=%d ".to_owned(),
        "max_prepared_transactions=2".to_owned(),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", folder.join("server.crt").display()),
        format!("ssl_key_file={}", folder.join("server.key").display()),
    ] {
        supervisor.args(["-c", &setting]);
    }
    let mut child = supervisor.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Closed by the end of this process.
    let (requests, replies) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    CERTIFICATE.set(folder.join("server.crt")).unwrap();
    let replies = BufReader::new(replies);
    let supervisor = Supervisor { requests, replies, programs, folder, port };
    supervisor.wait_until_ready();
    SUPERVISOR.set(Mutex::new(supervisor)).ok().unwrap();
    format!("postgres://postgres@127.0.0.1:{port}")
}

/// The directory of `initdb` and `postgres`: the newest of Debian's, or one of `PATH`.
fn programs() -> PathBuf {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|entry| entry.path().join("bin"));
    let version =
        |path: &PathBuf| -> Option<u32> { path.parent()?.file_name()?.to_str()?.parse().ok() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    debian
        .filter(|folder| folder.join("initdb").is_file())
        .max_by_key(version)
        .or_else(|| path.into_iter().find(|folder| folder.join("initdb").is_file()))
        .expect("PostgreSQL is missing: `apt-get install postgresql`")
}

/// The user and group that run the server, if this process is that of root.
fn unprivileged_user() -> Option<String> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some(format!("{}:{}", fields.next()?, fields.next()?))
    };
    is_root.then(|| ids("postgres").or_else(|| ids("nobody")).unwrap())
}

/// Gives a directory to the user that runs servers.
pub fn own(folder: &Path) {
    if let Some(user) = unprivileged_user() {
        run(Command::new("chown").args(["-R", &user]).arg(folder));
    }
}

/// A program, which does not run as root.
pub fn unprivileged(program: &Path) -> Command {
    let user = unprivileged_user();
    let Some((user, group)) = user.as_deref().and_then(|ids| ids.split_once(':')) else {
        return Command::new(program);
    };
    let mut command = Command::new("setpriv");
    command.args([
        format!("--reuid={user}"),
        format!("--regid={group}"),
        "--clear-groups".to_owned(),
    ]);
    command.arg(program);
    command
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.current_dir("/").output().unwrap();
    if !output.status.success() {
        std::io::stderr().write_all(&output.stderr).unwrap();
        panic!("{command:?} failed");
    }
}
