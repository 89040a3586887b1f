#!/usr/bin/env node
// Starts the program of the package for this platform, with the same arguments, stdin, stdout and stderr.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const manifest = require("../package.json");

const libc = process.platform === "linux" ? "-gnu" : "";
const name = `@trunkline/${process.platform}-${process.arch}${libc}`;
const supported = Object.keys(manifest.optionalDependencies);

function fail(message) {
  process.stderr.write(`trunkline: ${message}\n`);
  process.exit(1);
}

function findProgram() {
  if (!supported.includes(name)) {
    fail(`no package for this platform: ${name} does not exist; available: ${supported.join(", ")}`);
  }
  try {
    return require.resolve(`${name}/bin/trunkline`);
  } catch {
    return fail(
      `the package ${name} is missing: install trunkline without --omit=optional (on Linux, the package requires ` +
        `glibc, not musl), or run \`npm install ${name}@${manifest.version}\``,
    );
  }
}

const program = findProgram();
let child;

// Before the start of the program, so that a signal never ends the launcher alone.
process.on("SIGTERM", () => child.kill("SIGTERM"));
// A terminal sends these to the program, too. A second one would end it without finishing its calls.
const isOnTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP"]) {
  process.on(signal, () => isOnTerminal || child.kill(signal));
}

child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`cannot start ${program}: ${error.message}`));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
