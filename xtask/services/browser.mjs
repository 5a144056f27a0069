// Runs one script in Debian's Chromium, headless. Started by src/browser.rs.
//
// On stdin: one line of JSON, { chromium, sandbox, script, input }; then the pipe stays open, and its end (our parent process
// ended) ends this process and the browser. The script is the body of an async function of ({ browser, audit, input });
// what it returns is printed as one line of JSON.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.env.NODE_PATH}/`);
const { chromium } = require('playwright-core');
// Evaluated rather than put into the page: no policy of the page has to allow it.
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const lines = createInterface({ input: process.stdin });
const given = JSON.parse((await lines[Symbol.asyncIterator]().next()).value);
process.stdin.on('end', () => process.exit(4)).resume();

/** What axe-core finds wrong with a page: one short text for each element. A check that axe-core could not complete is a finding too. */
async function audit(page) {
  await page.evaluate(`${axe};0`);
  const { passes, violations, incomplete } = await page.evaluate(() => globalThis.axe.run(document));
  if (passes.length === 0) return ['axe checked nothing'];
  const describe = (kind) => (rule) => rule.nodes.map((node) => `${kind} ${rule.id}: ${rule.help} at ${node.target}`);
  return [...violations.flatMap(describe('violation')), ...incomplete.flatMap(describe('incomplete'))];
}

const args = given.sandbox ? [] : ['--no-sandbox'];
const browser = await chromium.launch({ executablePath: given.chromium, args, timeout: 120_000 });
const script = new (async () => {}).constructor('{ browser, audit, input }', given.script);
const answer = await script({ browser, audit, input: given.input });
await browser.close();
process.stdout.write(`${JSON.stringify(answer ?? null)}\n`, () => process.exit(0));
