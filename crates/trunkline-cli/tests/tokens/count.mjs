// Prints the number of tokens (o200k) of the text on stdin.
import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

console.log(encode(readFileSync(0, "utf8")).length);
