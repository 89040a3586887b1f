//! Messages of the compiler for programs with errors.
//!
//! The compiler is called with the library that cargo has built for these tests, so that nothing is compiled twice. The
//! tests of `trunkline` use this file, too.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;
use std::{env, fs, thread};

/// Compiles each program in `folder`, relative to the crate, and compares the messages with the file of the same name
/// that ends in `.stderr`. They are those of the toolchain in CI; with `OVERWRITE_MESSAGES=1`, the files are written.
#[track_caller]
pub(crate) fn check(folder: &str, library: &str) {
    let library = library_of_this_test(library);
    let mut programs: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension() == Some(OsStr::new("rs")));
    assert!(!programs.is_empty(), "no programs in {folder}");
    programs.sort();

    let (queue, failures) = (Mutex::new(programs.iter()), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(program) = next() {
                    failures.lock().unwrap().extend(failure(program, &library));
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "with {}:\n{}", library.display(), failures.join("\n"));
}

/// Returns the messages if they are not the expected ones.
fn failure(program: &Path, library: &Path) -> Option<String> {
    let printed = messages(program, library);
    let file = program.with_extension("stderr");
    if env::var_os("OVERWRITE_MESSAGES").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    (printed != expected)
        .then(|| format!("{}:\n{printed}\nexpected:\n{expected}", program.display()))
}

/// Returns the output of the compiler for `program`, without the parts that depend on the machine.
fn messages(program: &Path, library: &Path) -> String {
    let (name, deps) = (library.file_name().unwrap().to_str().unwrap(), library.parent().unwrap());
    let name = name.strip_prefix("lib").unwrap().split('-').next().unwrap();
    // Paths of sources in libraries are relative to the folder that cargo compiles them in.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = package.ancestors().nth(2).unwrap();
    let package = package.strip_prefix(workspace).unwrap();
    let output = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args([
            "--edition=2024",
            "--crate-type=bin",
            "--emit=metadata",
            "--color=never",
            "--out-dir",
        ])
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .arg("-L")
        .arg([OsStr::new("dependency="), deps.as_os_str()].join(OsStr::new("")))
        .arg("--extern")
        .arg([OsStr::new(name), OsStr::new("="), library.as_os_str()].join(OsStr::new("")))
        .arg(package.join(program))
        .current_dir(workspace)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    if output.status.success() {
        return format!("it compiles\n{printed}");
    }
    portable(&printed.replace(&format!("{}/", package.display()), ""), program.to_str().unwrap())
}

/// Parts of lines that do not depend on a program.
const OMITTED: [&str; 5] = [
    "error: aborting due to",
    "Some errors have detailed explanations",
    "For more information about",
    "= note: the full name for the type has been written to",
    "= note: consider using `--verbose` to print the full type name",
];

/// Lines with the numbers of `program`, but without those of other files, whose paths begin at `src/`.
fn portable(printed: &str, program: &str) -> String {
    let mut text = String::new();
    let (mut margin, mut in_program) = (0, true);
    for line in printed.lines() {
        let trimmed = line.trim_start();
        let (number, rest) =
            trimmed.split_at(trimmed.bytes().take_while(u8::is_ascii_digit).count());
        let rest = rest.trim_start();
        if OMITTED.iter().any(|text| line.contains(text)) {
            continue;
        }
        if let Some(place) = rest.strip_prefix("--> ").or(rest.strip_prefix("::: ")) {
            margin = line.len() - trimmed.len() + 1;
            in_program = place.starts_with(program);
            let place = if in_program { place } else { place_in_sources(place) };
            text += &format!("  --> {place}");
        } else if rest.starts_with('|') || (line.starts_with(' ') && rest.starts_with("= ")) {
            text += format!("{:>2} {rest}", if in_program { number } else { "" }).trim_end();
        } else if trimmed.starts_with("and ") && trimmed.ends_with(" others") {
            text += "           and N others";
        } else if line.starts_with(' ') {
            text += &format!("   {}", line.get(margin..).unwrap_or(trimmed));
        } else {
            text += line;
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// `…/serde-1.0.0/src/de.rs:7:9` as `src/de.rs`.
fn place_in_sources(place: &str) -> &str {
    let path = place.split(':').next().unwrap();
    path.rfind("src/").map_or(path, |start| &path[start..])
}

/// The newest library that is older than the test: cargo keeps those with other features, too.
fn library_of_this_test(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let built = |path: &Path| -> SystemTime { fs::metadata(path).unwrap().modified().unwrap() };
    let is_candidate = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy();
        file.starts_with(&format!("lib{name}-"))
            && file.ends_with(".rlib")
            && built(path) <= built(&test)
    };
    let files = fs::read_dir(test.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(is_candidate)
        .max_by_key(|path| built(path))
        .expect("cargo builds the library before its tests")
}
