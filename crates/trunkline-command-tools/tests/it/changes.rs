//! Changes of a folder in use.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{DynamicOperations, Router, Rpc};
use trunkline_command_tools::{ReloadReport, ToolConfig, ToolFolder};

use super::support::{Folder, MAX_WAIT, manifest};

/// A service whose tools follow the folder.
fn follow(folder: &ToolFolder) -> Rpc {
    let changing = DynamicOperations::new();
    changing.replace(trunkline_command_tools::operations(folder)).unwrap();
    let rpc = Router::new().dynamic("tool", &changing).build().unwrap();
    folder.on_change(move |folder, _| {
        changing.replace(trunkline_command_tools::operations(folder)).unwrap();
    });
    rpc
}

#[track_caller]
fn check(
    reloaded: &ReloadReport,
    added: &[&str],
    changed: &[&str],
    removed: &[&str],
    tools: &[&str],
) {
    assert_eq!(reloaded.added, added);
    assert_eq!(reloaded.changed, changed);
    assert_eq!(reloaded.removed, removed);
    let names: Vec<_> = reloaded.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, tools);
}

#[tokio::test]
async fn reports_added_changed_and_removed_tools() {
    let tools = Folder::new();
    tools.tool("a", "echo 1", "").tool("b", "echo 1", "");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let rpc = follow(&folder);
    let reports = Arc::new(Mutex::new(Vec::new()));
    folder.on_change({
        let reports = Arc::clone(&reports);
        move |_, reloaded| reports.lock().unwrap().push(reloaded.added.clone())
    });
    check(&folder.reload().unwrap(), &[], &[], &[], &["a", "b"]);

    tools.tool("c", "echo 3", "");
    tools.write("b.toml", &manifest("b", "timeout_ms = 1000"));
    fs::remove_file(tools.path().join("a.toml")).unwrap();
    check(&folder.reload().unwrap(), &["c"], &["b"], &["a"], &["b", "c"]);
    assert_eq!(rpc.call::<i64>("tool.c", &json!({})).await, Ok(3));
    assert_eq!(rpc.call::<i64>("tool.a", &json!({})).await.unwrap_err().code(), -32601);

    // A changed script does not change the tool.
    tools.script("c.sh", "echo 4");
    check(&folder.reload().unwrap(), &[], &[], &[], &["b", "c"]);
    assert_eq!(rpc.call::<i64>("tool.c", &json!({})).await, Ok(4));

    tools.write("b.toml", "broken");
    let reloaded = folder.reload().unwrap();
    check(&reloaded, &[], &[], &["b"], &["c"]);
    assert_eq!(reloaded.rejected.len(), 1);
    assert_eq!(
        *reports.lock().unwrap(),
        [vec!["c".to_owned()], vec![]],
        "only changes are reported"
    );

    let moved = tools.path().with_extension("moved");
    fs::rename(tools.path(), &moved).unwrap();
    folder.reload().unwrap_err();
    fs::rename(&moved, tools.path()).unwrap();
    assert_eq!(rpc.call::<i64>("tool.c", &json!({})).await, Ok(4), "the tool stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_do_not_disturb_calls() {
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
fn watches_a_folder() {
    let tools = Folder::new();
    tools.tool("a", "echo 1", "");
    let often = Duration::from_millis(20);
    let config = ToolConfig { debounce: often, poll_interval: often, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), config).unwrap();
    let (sender, changes) = channel();
    folder.on_change(|_, _| panic!("a listener that panics stops neither others nor the thread"));
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    let next = || changes.recv_timeout(MAX_WAIT).unwrap();
    folder.watch().unwrap();
    // A second call has no effect.
    folder.watch().unwrap();

    // The manifest is rejected until its program exists.
    tools.write("b.toml", &manifest("b", ""));
    tools.script("b.sh", "echo 2");
    check(&next(), &["b"], &[], &[], &["a", "b"]);
    fs::rename(tools.path().join("a.toml"), tools.path().join("a.off")).unwrap();
    check(&next(), &[], &[], &["a"], &["b"]);

    // Another folder replaces it, as in a deployment.
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
    assert!(changes.recv_timeout(MAX_WAIT).is_err(), "the thread has dropped the listeners");
}

#[test]
fn survives_a_missing_folder() {
    let tools = Folder::new();
    tools.tool("a", "echo 1", "");
    let poll_interval = Duration::from_millis(20);
    let config = ToolConfig { debounce: poll_interval, poll_interval, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), config).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();

    let away = tools.path().with_extension("away");
    fs::rename(tools.path(), &away).unwrap();
    let begun = Instant::now();
    while folder.listing().failure.is_none() && begun.elapsed() < MAX_WAIT {
        std::thread::sleep(poll_interval);
    }
    let nothing = changes.recv_timeout(poll_interval * 3);
    assert!(nothing.is_err(), "the tools stay: {nothing:?}");
    assert_eq!(folder.tools().len(), 1);
    let failure = folder.listing().failure;
    assert!(failure.as_ref().is_some_and(|why| why.contains("No such file")), "{failure:?}");
    fs::remove_file(away.join("a.toml")).unwrap();
    fs::rename(&away, tools.path()).unwrap();
    check(&changes.recv_timeout(MAX_WAIT).unwrap(), &[], &[], &["a"], &[]);

    // The folder is watched again.
    tools.tool("b", "echo 2", "");
    check(&changes.recv_timeout(MAX_WAIT).unwrap(), &["b"], &[], &[], &["b"]);
    assert_eq!(folder.listing().failure, None);
}

#[test]
fn watches_a_linked_folder() {
    let (old, new) = (Folder::new(), Folder::new());
    old.tool("a", "echo 1", "");
    new.tool("b", "echo 2", "");
    let place = Folder::new();
    let link = place.path().join("current");
    symlink(old.path(), &link).unwrap();
    let often = Duration::from_millis(20);
    let config = ToolConfig { debounce: often, poll_interval: often, ..ToolConfig::default() };
    let folder = ToolFolder::open(&link, config).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();

    let next = place.path().join("next");
    symlink(new.path(), &next).unwrap();
    fs::rename(&next, &link).unwrap();
    check(&changes.recv_timeout(MAX_WAIT).unwrap(), &["b"], &[], &["a"], &["b"]);
    new.tool("c", "echo 3", "");
    check(&changes.recv_timeout(MAX_WAIT).unwrap(), &["c"], &[], &[], &["b", "c"]);
}

/// A watched folder and its reports.
fn watched(tools: &Folder, poll_interval: Duration) -> (ToolFolder, Receiver<ReloadReport>) {
    let debounce = Duration::from_millis(20);
    let config = ToolConfig { debounce, poll_interval, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), config).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();
    (folder, changes)
}

/// Kubernetes updates the files of a folder by replacing a link in their path.
#[test]
fn notices_a_replaced_link() {
    let tools = Folder::new();
    let at = |name: &str| tools.path().join(name);
    tools.script("a.sh", "echo 1");
    for (version, lines) in [("..v1", ""), ("..v2", "timeout_ms = 5")] {
        fs::create_dir(at(version)).unwrap();
        tools.write(&format!("{version}/a.toml"), &manifest("a", lines));
    }
    symlink("..v1", at("..data")).unwrap();
    symlink("..data/a.toml", at("a.toml")).unwrap();
    let (_folder, changes) = watched(&tools, Duration::from_millis(20));
    let next = || changes.recv_timeout(MAX_WAIT).unwrap();
    tools.write("b.toml", &manifest("b", "").replace("./b.sh", "./a.sh"));
    check(&next(), &["b"], &[], &[], &["a", "b"]);
    symlink("..v2", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    check(&next(), &[], &["a"], &[], &["a", "b"]);
}

#[test]
fn notices_changes_of_files_in_other_folders() {
    let (tools, elsewhere) = (Folder::new(), Folder::new());
    tools.script("a.sh", "echo 1");
    let program = elsewhere.path().join("b.sh");
    elsewhere.tool("a", "", "").script("b.sh", "echo 2");
    symlink(elsewhere.path().join("a.toml"), tools.path().join("a.toml")).unwrap();
    let there = program.display().to_string();
    tools.write("b.toml", &manifest("b", "").replace("./b.sh", &there));
    let (_folder, changes) = watched(&tools, Duration::from_millis(20));
    let next = || changes.recv_timeout(MAX_WAIT).unwrap();

    elsewhere.write("a.new", &manifest("a", "timeout_ms = 5"));
    fs::rename(elsewhere.path().join("a.new"), elsewhere.path().join("a.toml")).unwrap();
    check(&next(), &[], &["a"], &[], &["a", "b"]);
    fs::remove_file(&program).unwrap();
    check(&next(), &[], &[], &["b"], &["a"]);
}

#[test]
fn notices_a_new_program_in_another_folder() {
    let (tools, elsewhere) = (Folder::new(), Folder::new());
    let program = elsewhere.path().join("late.sh").display().to_string();
    tools.write("a.toml", &manifest("a", "").replace("./a.sh", &program));
    let poll_interval = Duration::from_millis(20);
    let config = ToolConfig { poll_interval, ..ToolConfig::default() };
    let folder = ToolFolder::open(tools.path(), config).unwrap();
    let (sender, changes) = channel();
    folder.on_change(move |_, reloaded| sender.send(reloaded.clone()).unwrap());
    folder.watch().unwrap();
    assert_eq!(folder.rejected().len(), 1);
    elsewhere.script("late.sh", "echo 1");
    check(&changes.recv_timeout(MAX_WAIT).unwrap(), &["a"], &[], &[], &["a"]);
}

#[test]
fn a_name_keeps_its_file() {
    let tools = Folder::new();
    tools.tool("shout", "echo 1", "");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    tools.write("Copy of shout.toml", &manifest("shout", "timeout_ms = 5"));
    let reloaded = folder.reload().unwrap();
    check(&reloaded, &[], &[], &[], &["shout"]);
    let reason = "duplicate name: shout.toml already has a tool `shout`";
    let rejected: Vec<_> = reloaded.rejected.iter().map(|one| (&*one.file, &*one.reason)).collect();
    assert_eq!(rejected, [("Copy of shout.toml", reason)]);
    // The other file gets the name once the first one is removed.
    fs::remove_file(tools.path().join("shout.toml")).unwrap();
    check(&folder.reload().unwrap(), &[], &["shout"], &[], &["shout"]);
}

/// Concurrent callers share a read, and unchanged manifests are not parsed again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_reloads_share_a_read() {
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
        let _ = gate.lock().unwrap().recv_timeout(MAX_WAIT);
    });
    // The listener blocks the first reload while the others are started.
    tools.tool("b", "echo 2", "");
    let first = tokio::spawn({
        let folder = folder.clone();
        async move { folder.refresh().await }
    });
    tokio::task::block_in_place(|| begun.recv_timeout(MAX_WAIT).unwrap());
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
        // Late ones may have done a separate read.
        let reloaded = other.await.unwrap().unwrap();
        assert_eq!(reloaded.tools.len(), 3);
    }
    assert_eq!(changes.load(Ordering::Relaxed), 2);
    assert!(Arc::ptr_eq(&before, &folder.tools()[0]), "the unchanged tool is reused");
}
