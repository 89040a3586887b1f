// A registry of npm with the packed packages of its arguments. It prints its URL.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";

const packages = new Map();
const archives = new Map();
for (const file of process.argv.slice(2)) {
  const manifest = JSON.parse(execFileSync("tar", ["--extract", "--to-stdout", "--file", file, "package/package.json"]));
  const content = readFileSync(file);
  archives.set(`/-/${basename(file)}`, content);
  const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`;
  packages.set(manifest.name, { manifest, integrity, path: `/-/${basename(file)}` });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, url()).pathname);
  const found = packages.get(path.slice(1));
  if (found) {
    const { manifest, integrity } = found;
    const dist = { tarball: url() + found.path, integrity };
    const versions = { [manifest.version]: { ...manifest, dist } };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ name: manifest.name, "dist-tags": { latest: manifest.version }, versions }));
  } else if (archives.has(path)) {
    response.end(archives.get(path));
  } else {
    response.writeHead(404).end();
  }
});
const url = () => `http://127.0.0.1:${server.address().port}`;
server.listen(0, "127.0.0.1", () => console.log(`listening ${url()}`));
