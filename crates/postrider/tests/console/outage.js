// A server stops and returns while the overview is open: overview and readiness show both automatically.
const page = await tab({ key: input.admin });
const control = (path) => page.context().request.post(`${input.control}/${path}`, { timeout: 60_000 });
const ready = async () => (await page.context().request.get(`${base}/readyz`)).status() === 200;

/** Milliseconds until `/readyz` reports this. */
async function until(wanted, since) {
  while ((await ready()) !== wanted) {
    if (Date.now() - since > 60_000) throw new Error(`/readyz does not become ${wanted}`);
    await new Promise((done) => setTimeout(done, 200));
  }
  return Date.now() - since;
}
await page.getByText('All lanes are healthy').waitFor();
await page.locator('.foot .live[data-state=live]').waitFor();

await control('stop');
const stopped = Date.now();
const unready = until(false, stopped);
await page.locator('.attention').getByText(input.words).first().waitFor({ timeout: 60_000 });
const noticed = Date.now() - stopped;
await page.locator('.card.lane .mark', { hasText: input.badge }).first().waitFor({ timeout: 60_000 });
const unreadyAfter = await unready;
// Values that only the database knows are not shown as 0, and a page that is opened now waits instead of failing.
const away = input.badge === 'store away';
const late = away ? await page.context().newPage() : null;
if (away) {
  await page.locator('.figures dd').first().getByText('–').waitFor({ timeout: 60_000 });
  await late.goto(`${base}/#/jobs`);
  await late.getByText('Retrying automatically').waitFor({ timeout: 60_000 });
}
await page.screenshot({ path: `${input.folder}/outage-${input.badge.replaceAll(' ', '-')}.png` });

await control('start');
const started = Date.now();
const again = until(true, started);
await page.getByText('All lanes are healthy').waitFor({ timeout: 60_000 });
const recovered = Date.now() - started;
const readyAfter = await again;
await page.locator('.card.lane .mark', { hasText: 'running' }).first().waitFor({ timeout: 60_000 });
await late?.getByText('No jobs found').waitFor({ timeout: 60_000 });
return { wrong: wrong.filter((text) => !/503|ERR_/.test(text)), noticed, unready: unreadyAfter, recovered, ready: readyAfter };
