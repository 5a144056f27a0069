// The database goes away and comes back while somebody looks: the overview says so by itself, both times.
const page = await tab({ key: input.admin });
const tell = (path) => page.context().request.post(`${input.control}/${path}`, { timeout: 60_000 });
await page.getByText('All well').waitFor();
await page.locator('.foot .live[data-state=live]').waitFor();

await tell('stop');
const stopped = Date.now();
await page.locator('.attention').getByText(/mail/).first().waitFor({ timeout: 60_000 });
const noticed = Date.now() - stopped;
const badge = await page.locator('.card.lane .mark').first().textContent();
await page.screenshot({ path: `${input.folder}/outage.png` });

await tell('start');
const started = Date.now();
await page.getByText('All well').waitFor({ timeout: 60_000 });
const recovered = Date.now() - started;
await page.locator('.card.lane .mark', { hasText: 'running' }).first().waitFor({ timeout: 60_000 });
return { wrong: wrong.filter((text) => !/503|ERR_/.test(text)), noticed, recovered, badge };
