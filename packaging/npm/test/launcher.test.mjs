// The launcher of the npm package, with a shell script instead of the program. Run by `cargo xtask dist-check` as
// `node --test`, with the folder of an installation in PACKAGE.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test as define } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "trunkline-launcher-"));
after(() => rmSync(folder, { recursive: true }));
const test = (name, run) => define(name, { timeout: 30_000 }, run);
const modules = join(folder, "node_modules");
cpSync(process.env.PACKAGE, join(modules, "trunkline"), { recursive: true });
const manifest = JSON.parse(readFileSync(join(modules, "trunkline/package.json")));
const [platform] = Object.keys(manifest.optionalDependencies);
const program = join(modules, platform, "bin/trunkline");
const launcher = join(modules, "trunkline/bin/trunkline.js");

function install(script) {
  mkdirSync(join(program, ".."), { recursive: true });
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
}

// Starts the launcher; `ended` is its exit code and its output.
function start(args = [], preload = []) {
  const child = spawn(process.execPath, [...preload, launcher, ...args]);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].on("data", (text) => (output[name] += text));
  }
  const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, ...output })));
  return { child, ended };
}

test("arguments, stdin, stdout and stderr are those of the program", async () => {
  install(`for each in "$@"; do echo "[$each]"; done; cat; echo problem >&2`);
  const { child, ended } = start(["mcp", "--db", "my app.db", ""]);
  child.stdin.end("a line\n");
  const { code, stdout, stderr } = await ended;
  assert.deepEqual({ code, stdout, stderr }, {
    code: 0, stdout: "[mcp]\n[--db]\n[my app.db]\n[]\na line\n", stderr: "problem\n",
  });
});

for (const expected of [0, 1, 2, 75]) {
  test(`the exit code ${expected} is that of the program`, async () => {
    install(`exit ${expected}`);
    assert.equal((await start().ended).code, expected);
  });
}

for (const signal of ["SIGTERM", "SIGKILL", "SIGSEGV"]) {
  test(`a program that ${signal} ended has the exit code 128 + n`, async () => {
    install(`kill -${signal.slice(3)} $$`);
    assert.equal((await start().ended).code, 128 + constants.signals[signal]);
  });
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]) {
  test(`${signal} is forwarded, and the launcher waits for the program`, async () => {
    const name = signal.slice(3);
    install(`trap 'echo caught ${name}; exit 7' ${name}; echo ready; for i in $(seq 400); do sleep 0.05; done`);
    const { child, ended } = start();
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill(signal);
    const { code, stdout } = await ended;
    assert.deepEqual({ code, stdout }, { code: 7, stdout: `ready\ncaught ${name}\n` });
  });
}

test("a missing package of the platform is named", async () => {
  install("exit 0");
  renameSync(join(modules, platform), join(modules, "away"));
  const { code, stdout, stderr } = await start().ended;
  renameSync(join(modules, "away"), join(modules, platform));
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.ok(stderr.includes(`the package ${platform} is missing`), stderr);
  assert.ok(stderr.includes(`npm install ${platform}@${manifest.version}`), stderr);
});

test("a platform without a package is named", async () => {
  const preload = join(folder, "other.cjs");
  writeFileSync(preload, 'Object.defineProperty(process, "arch", { value: "riscv64" });');
  const { code, stderr } = await start([], ["--require", preload]).ended;
  assert.equal(code, 1);
  assert.ok(stderr.includes("-riscv64") && stderr.includes(`available: ${platform}`), stderr);
});

test("a program that cannot be started is an error", async () => {
  install("exit 0");
  chmodSync(program, 0o644);
  const { code, stderr } = await start().ended;
  assert.equal(code, 1);
  assert.ok(stderr.includes(`cannot start ${program}`), stderr);
});
