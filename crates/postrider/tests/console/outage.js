// Something goes away and comes back while somebody looks: overview and readiness say so by themselves, both times.
const page = await tab({ key: input.admin });
const tell = (path) => page.context().request.post(`${input.control}/${path}`, { timeout: 60_000 });
const ready = async () => (await page.context().request.get(`${base}/readyz`)).status() === 200;

/** Milliseconds until readiness says this. */
async function until(wanted, since) {
  while ((await ready()) !== wanted) {
    if (Date.now() - since > 60_000) throw new Error(`/readyz does not become ${wanted}`);
    await new Promise((done) => setTimeout(done, 200));
  }
  return Date.now() - since;
}
await page.getByText('All lanes are healthy').waitFor();
await page.locator('.foot .live[data-state=live]').waitFor();

await tell('stop');
const stopped = Date.now();
const unready = until(false, stopped);
await page.locator('.attention').getByText(input.words).first().waitFor({ timeout: 60_000 });
const noticed = Date.now() - stopped;
await page.locator('.card.lane .mark', { hasText: input.badge }).first().waitFor({ timeout: 60_000 });
const unreadyAfter = await unready;
// What only the database knows is not shown as nought, and who comes now waits at the page, not at a mistake.
const away = input.badge === 'store away';
const late = away ? await page.context().newPage() : null;
if (away) {
  await page.locator('.figures dd').first().getByText('–').waitFor({ timeout: 60_000 });
  await late.goto(`${base}/#/jobs`);
  await late.getByText('Retrying automatically').waitFor({ timeout: 60_000 });
}
await page.screenshot({ path: `${input.folder}/outage-${input.badge.replaceAll(' ', '-')}.png` });

await tell('start');
const started = Date.now();
const again = until(true, started);
await page.getByText('All lanes are healthy').waitFor({ timeout: 60_000 });
const recovered = Date.now() - started;
const readyAfter = await again;
await page.locator('.card.lane .mark', { hasText: 'running' }).first().waitFor({ timeout: 60_000 });
await late?.getByText('No jobs found').waitFor({ timeout: 60_000 });
return { wrong: wrong.filter((text) => !/503|ERR_/.test(text)), noticed, unready: unreadyAfter, recovered, ready: readyAfter };
