// Lets the conformance suite start on Node.js 20, whose fs has no globSync. Only its command tier-check calls that.
//
//	node --import ./node20.mjs node_modules/@modelcontextprotocol/conformance/dist/index.js
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

// The module is the suite's fs,
export * from "node:fs";
export const globSync = () => {
  throw new Error("there is no globSync in Node.js 20");
};

// the hook that says so,
export const resolve = (name, context, next) =>
  name === "fs" && context.parentURL.includes("/conformance/dist/")
    ? { url: import.meta.url, shortCircuit: true }
    : next(name, context);

// and what adds the hook, which runs in a thread of its own.
if (isMainThread) register(import.meta.url);
