// Checks an OpenRPC document: against the meta-schema, each schema in it by itself, and its
// examples against the schemas and the server.
//
//     node validate.mjs DOCUMENT URL

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import jsonSchema from "@json-schema-tools/meta-schema";
import openRpc from "@open-rpc/meta-schema";
import { Ajv } from "ajv";

const [path, url] = process.argv.slice(2);
const document = JSON.parse(readFileSync(path, "utf8"));
// `strict` is about how schemas should be written, not about what they mean.
const options = { strict: false, validateFormats: false, allErrors: true };

function fail(reason) {
  console.error(`${path}: ${reason}`);
  process.exit(1);
}

function validate(ajv, schema, value, what) {
  if (!ajv.validate(schema, value)) {
    fail(`${what}: ${ajv.errorsText(ajv.errors, { separator: "\n" })}`);
  }
}

// Both meta-schemas have a `$schema` that would be fetched.
const { $schema: _, ...documents } = openRpc.default;
const { $schema: __, ...schemas } = jsonSchema.default;
const meta = new Ajv(options);
for (const address of ["https://meta.json-schema.tools", "https://meta.json-schema.tools/"]) {
  // The document's meta-schema names it without the slash, and a validator may add one.
  meta.addSchema({ ...schemas, $id: address }, address);
}
validate(meta, documents, document, "the document");

// Compiling a schema where it stands in the document fails if a reference leads nowhere.
const inside = new Ajv(options);
inside.addSchema(document, "document");
const at = (pointer) => ({ $ref: `document#${pointer}` });
let checked = 0;
for (const name of Object.keys(document.components?.schemas ?? {})) {
  inside.compile(at(`/components/schemas/${encodeURIComponent(name)}`));
  checked += 1;
}
for (const [index, method] of document.methods.entries()) {
  const own = `/methods/${index}`;
  method.params.forEach((_, place) => inside.compile(at(`${own}/params/${place}/schema`)));
  if (method.result) {
    inside.compile(at(`${own}/result/schema`));
  }
  checked += method.params.length + (method.result ? 1 : 0);
  for (const example of method.examples ?? []) {
    const params = {};
    for (const { name, value } of example.params) {
      const place = method.params.findIndex((param) => param.name === name);
      validate(inside, at(`${own}/params/${place}/schema`), value, `${method.name}: ${name}`);
      params[name] = value;
    }
    validate(inside, at(`${own}/result/schema`), example.result.value, method.name);
    await expect(method.name, params, example.result.value);
  }
}
console.log(`${document.methods.length} methods, ${checked} schemas`);

// An example is true if the server says the same.
async function expect(method, params, expected) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error || !isDeepStrictEqual(result, expected)) {
    fail(`${method} answers ${JSON.stringify(error ?? result)}, not ${JSON.stringify(expected)}`);
  }
}
