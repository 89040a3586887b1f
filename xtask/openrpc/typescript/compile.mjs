// Compiles the generated TypeScript client, with its own settings.
//
//     node compile.mjs CLIENTS

import { join } from "node:path";
import ts from "typescript";

const [clients] = process.argv.slice(2);
const project = join(clients, "typescript", "example-http-client", "tsconfig.json");
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: report };
const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(project, {}, host);
const program = ts.createProgram(fileNames, options);
const diagnostics = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
diagnostics.forEach(report);
process.exit(diagnostics.length === 0 ? 0 : 1);

function report(diagnostic) {
  console.error(ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"));
  process.exitCode = 1;
}
