//! Folders that change while they are served.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use trunkline::{DynamicOperations, Router, Rpc};
use trunkline_tools::{Reloaded, ToolConfig, ToolFolder, Watching};

use super::support::{Folder, PATIENCE, manifest};

/// A service whose tools follow the folder.
fn follow(folder: &ToolFolder) -> Rpc {
    let changing = DynamicOperations::new();
    changing.replace(trunkline_tools::operations(folder)).unwrap();
    let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
    folder
        .on_change(move |folder, _| changing.replace(trunkline_tools::operations(folder)).unwrap());
    rpc
}

#[track_caller]
fn check(reloaded: &Reloaded, added: &[&str], changed: &[&str], removed: &[&str], tools: &[&str]) {
    assert_eq!(reloaded.added, added);
    assert_eq!(reloaded.changed, changed);
    assert_eq!(reloaded.removed, removed);
    let names: Vec<_> = reloaded.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, tools);
}

#[tokio::test]
async fn what_was_added_changed_and_removed() {
    let tools = Folder::new();
    tools.tool("a", "echo 1", "").tool("b", "echo 1", "");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let rpc = follow(&folder);
    let told = Arc::new(Mutex::new(Vec::new()));
    folder.on_change({
        let told = Arc::clone(&told);
        move |_, reloaded| told.lock().unwrap().push(reloaded.added.clone())
    });
    check(&folder.reload().unwrap(), &[], &[], &[], &["a", "b"]);

    tools.tool("c", "echo 3", "");
    tools.write("b.toml", &manifest("b", "timeout_ms = 1000"));
    fs::remove_file(tools.path().join("a.toml")).unwrap();
    check(&folder.reload().unwrap(), &["c"], &["b"], &["a"], &["b", "c"]);
    assert_eq!(rpc.call::<i64>("tool.c", &json!({})).await, Ok(3));
    assert_eq!(rpc.call::<i64>("tool.a", &json!({})).await.unwrap_err().code(), -32601);

    // A script is read when it runs.
    tools.script("c.sh", "echo 4");
    check(&folder.reload().unwrap(), &[], &[], &[], &["b", "c"]);
    assert_eq!(rpc.call::<i64>("tool.c", &json!({})).await, Ok(4));

    tools.write("b.toml", "broken");
    let reloaded = folder.reload().unwrap();
    check(&reloaded, &[], &[], &["b"], &["c"]);
    assert_eq!(reloaded.rejected.len(), 1);
    assert_eq!(*told.lock().unwrap(), [vec!["c".to_owned()], vec![]], "only differences are told");

    let moved = tools.path().with_extension("moved");
    fs::rename(tools.path(), &moved).unwrap();
    folder.reload().unwrap_err();
    fs::rename(&moved, tools.path()).unwrap();
    assert_eq!(rpc.call::<i64>("tool.c", &json!({})).await, Ok(4), "it stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_under_load_lose_no_call() {
    const CALLERS: usize = 8;
    let tools = Folder::new();
    tools.tool("steady", "cat", "");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let rpc = follow(&folder);
    let is_over = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (rpc, is_over, count) = (rpc.clone(), Arc::clone(&is_over), Arc::clone(&count));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    let sent = json!({ "caller": caller, "number": number });
                    assert_eq!(rpc.call("tool.steady", &sent).await, Ok(sent.clone()));
                }
            })
        })
        .collect();
    // Each reload changes the tool that is called.
    let mut timeout = 10_000;
    while count.load(Ordering::Relaxed) < 200 {
        timeout += 1;
        tools.write("steady.toml", &manifest("steady", &format!("timeout_ms = {timeout}")));
        check(&folder.reload().unwrap(), &[], &["steady"], &[], &["steady"]);
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(timeout > 10_010, "{timeout}");
}

#[test]
fn a_watched_folder() {
    let tools = Folder::new();
    tools.tool("a", "echo 1", "");
    let often = Duration::from_millis(20);
    let settings = ToolConfig { debounce: often, poll_interval: often, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), settings).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    let next = || changes.recv_timeout(PATIENCE).unwrap();
    assert_eq!(folder.watch().unwrap(), Watching::Notified);
    assert_eq!(folder.watch().unwrap(), Watching::Notified, "once is enough");

    // It is rejected as long as its program is missing.
    tools.write("b.toml", &manifest("b", ""));
    tools.script("b.sh", "echo 2");
    check(&next(), &["b"], &[], &[], &["a", "b"]);
    fs::rename(tools.path().join("a.toml"), tools.path().join("a.off")).unwrap();
    check(&next(), &[], &[], &["a"], &["b"]);

    // Another folder takes its place, as those that are deployed do.
    let new = Folder::new();
    new.tool("c", "echo 3", "");
    let old = tools.path().with_extension("old");
    fs::rename(tools.path(), &old).unwrap();
    fs::rename(new.path(), tools.path()).unwrap();
    check(&next(), &["c"], &[], &["b"], &["c"]);
    fs::write(tools.path().join("d.toml"), manifest("c", "").replace("'c'", "'d'")).unwrap();
    check(&next(), &["d"], &[], &[], &["c", "d"]);
    fs::remove_dir_all(old).unwrap();

    drop(folder);
    assert!(changes.recv_timeout(PATIENCE).is_err(), "the thread has dropped the listeners");
}

#[test]
fn a_folder_that_goes_and_comes_back() {
    let tools = Folder::new();
    tools.tool("a", "echo 1", "");
    let poll_interval = Duration::from_millis(20);
    let settings = ToolConfig { debounce: poll_interval, poll_interval, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), settings).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();

    let away = tools.path().with_extension("away");
    fs::rename(tools.path(), &away).unwrap();
    let nothing = changes.recv_timeout(Duration::from_millis(300));
    assert!(nothing.is_err(), "the tools stay: {nothing:?}");
    assert_eq!(folder.tools().len(), 1);
    let failure = folder.listing().failure;
    assert!(failure.as_ref().is_some_and(|why| why.contains("No such file")), "{failure:?}");
    fs::remove_file(away.join("a.toml")).unwrap();
    fs::rename(&away, tools.path()).unwrap();
    check(&changes.recv_timeout(PATIENCE).unwrap(), &[], &[], &["a"], &[]);

    // It is watched again.
    tools.tool("b", "echo 2", "");
    check(&changes.recv_timeout(PATIENCE).unwrap(), &["b"], &[], &[], &["b"]);
    assert_eq!(folder.listing().failure, None);
}

#[test]
fn a_folder_behind_a_link() {
    let (old, new) = (Folder::new(), Folder::new());
    old.tool("a", "echo 1", "");
    new.tool("b", "echo 2", "");
    let place = Folder::new();
    let link = place.path().join("current");
    symlink(old.path(), &link).unwrap();
    let often = Duration::from_millis(20);
    let settings = ToolConfig { debounce: often, poll_interval: often, ..ToolConfig::default() };
    let folder = ToolFolder::open(&link, settings).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();

    let next = place.path().join("next");
    symlink(new.path(), &next).unwrap();
    fs::rename(&next, &link).unwrap();
    check(&changes.recv_timeout(PATIENCE).unwrap(), &["b"], &[], &["a"], &["b"]);
    new.tool("c", "echo 3", "");
    check(&changes.recv_timeout(PATIENCE).unwrap(), &["c"], &[], &[], &["b", "c"]);
}

/// A folder that is watched, and what it tells of changes.
fn watched(tools: &Folder, poll_interval: Duration) -> (ToolFolder, Receiver<Reloaded>) {
    let debounce = Duration::from_millis(20);
    let settings = ToolConfig { debounce, poll_interval, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), settings).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();
    (folder, changes)
}

/// As Kubernetes puts files into a folder: the link in the midst is replaced.
#[test]
fn manifests_behind_a_link_that_is_replaced() {
    const NEVER: Duration = Duration::from_secs(3_600);
    let tools = Folder::new();
    let at = |name: &str| tools.path().join(name);
    tools.script("a.sh", "echo 1");
    for (version, lines) in [("..v1", ""), ("..v2", "timeout_ms = 5")] {
        fs::create_dir(at(version)).unwrap();
        tools.write(&format!("{version}/a.toml"), &manifest("a", lines));
    }
    symlink("..v1", at("..data")).unwrap();
    symlink("..data/a.toml", at("a.toml")).unwrap();
    let (_folder, changes) = watched(&tools, NEVER);
    let next = || changes.recv_timeout(PATIENCE).unwrap();
    // It is read once when it begins to be watched, and that is over then.
    tools.write("b.toml", &manifest("b", "").replace("./b.sh", "./a.sh"));
    check(&next(), &["b"], &[], &[], &["a", "b"]);
    symlink("..v2", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    check(&next(), &[], &["a"], &[], &["a", "b"]);
}

#[test]
fn what_is_behind_links_elsewhere() {
    let (tools, elsewhere) = (Folder::new(), Folder::new());
    tools.script("a.sh", "echo 1");
    let program = elsewhere.path().join("b.sh");
    elsewhere.tool("a", "", "").script("b.sh", "echo 2");
    symlink(elsewhere.path().join("a.toml"), tools.path().join("a.toml")).unwrap();
    let there = program.display().to_string();
    tools.write("b.toml", &manifest("b", "").replace("./b.sh", &there));
    let (_folder, changes) = watched(&tools, Duration::from_millis(20));
    let next = || changes.recv_timeout(PATIENCE).unwrap();

    elsewhere.write("a.new", &manifest("a", "timeout_ms = 5"));
    fs::rename(elsewhere.path().join("a.new"), elsewhere.path().join("a.toml")).unwrap();
    check(&next(), &[], &["a"], &[], &["a", "b"]);
    fs::remove_file(&program).unwrap();
    check(&next(), &[], &[], &["b"], &["a"]);
}

#[test]
fn a_program_that_comes_from_elsewhere() {
    let (tools, elsewhere) = (Folder::new(), Folder::new());
    let program = elsewhere.path().join("late.sh").display().to_string();
    tools.write("a.toml", &manifest("a", "").replace("./a.sh", &program));
    let poll_interval = Duration::from_millis(20);
    let settings = ToolConfig { poll_interval, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), settings).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();
    assert_eq!(folder.rejected().len(), 1);
    elsewhere.script("late.sh", "echo 1");
    check(&changes.recv_timeout(PATIENCE).unwrap(), &["a"], &[], &[], &["a"]);
}

#[test]
fn a_name_stays_with_its_file() {
    let tools = Folder::new();
    tools.tool("shout", "echo 1", "");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    tools.write("Copy of shout.toml", &manifest("shout", "timeout_ms = 5"));
    let reloaded = folder.reload().unwrap();
    check(&reloaded, &[], &[], &[], &["shout"]);
    let reason = "name: shout.toml has a tool shout already: take another name";
    let rejected: Vec<_> = reloaded.rejected.iter().map(|one| (&*one.file, &*one.reason)).collect();
    assert_eq!(rejected, [("Copy of shout.toml", reason)]);
    // It is the other's when there is no one else, even if that happens to the same files at once.
    fs::remove_file(tools.path().join("shout.toml")).unwrap();
    check(&folder.reload().unwrap(), &[], &["shout"], &[], &["shout"]);
}

/// What a manifest costs to check is paid once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_at_once_are_few() {
    const ASKED: usize = 60;
    let tools = Folder::new();
    tools.tool("a", "echo 1", "");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let before = folder.tools().remove(0);
    let changes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&changes);
    let (sender, begun) = channel();
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    folder.on_change(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        sender.send(()).unwrap();
        let _ = gate.lock().unwrap().recv_timeout(PATIENCE);
    });
    // The first one is held while it tells of a change, and the others come meanwhile.
    tools.tool("b", "echo 2", "");
    let first = tokio::spawn({
        let folder = folder.clone();
        async move { folder.refresh().await }
    });
    tokio::task::block_in_place(|| begun.recv_timeout(PATIENCE).unwrap());
    tools.tool("c", "echo 3", "");
    let others: Vec<_> = (0..ASKED)
        .map(|_| {
            let folder = folder.clone();
            tokio::spawn(async move { folder.refresh().await })
        })
        .collect();
    tokio::task::yield_now().await;
    drop(go);
    check(&first.await.unwrap().unwrap(), &["b"], &[], &[], &["a", "b"]);
    for other in others {
        // Those that were late have one of their own.
        let reloaded = other.await.unwrap().unwrap();
        assert_eq!(reloaded.tools.len(), 3);
    }
    assert_eq!(changes.load(Ordering::Relaxed), 2);
    assert!(Arc::ptr_eq(&before, &folder.tools()[0]), "what has not changed is kept");
}
