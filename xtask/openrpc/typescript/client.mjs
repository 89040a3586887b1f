// Calls the server with the TypeScript client that was generated from its document.
//
//     node client.mjs URL

import assert from "node:assert/strict";
import { ExampleClient } from "./clients/typescript/example-http-client/dist/index.js";

const [url] = process.argv.slice(2);
const client = new ExampleClient(url);

assert.equal(await client.math.divide(1, 4), 0.25);
// Its transport sends positions only, where a variadic param is what is left of them.
assert.equal(await client.math.sum(1, 2, 3), 6);
assert.deepEqual(await client.family.eldest(), { name: "Ada", children: [] });
const person = { name: "Ada", children: [{ name: "Bo" }, { name: "Cy" }] };
assert.equal(await client.family.count(person), 3);
await assert.rejects(client.math.divide(1, 0), /division by zero/);
await assert.rejects(client.math.divide("one", 1), /-32602/);
console.log("TypeScript: 6 calls");
