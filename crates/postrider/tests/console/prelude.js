// The start of every console test script: a signed-in page whose errors are collected in `wrong`.
const { base } = input;
const wrong = [];
const TIMEOUT = 20_000;

/** Whether a test causes this error on purpose: the browser reports every response of 4xx as an error. */
const isExpected = (text) => /Failed to load resource: the server responded with a status of (401|403|404|409|422)/.test(text);

/** Opens a browser window. A request to another host, or an error on its console, is recorded in `wrong`. */
async function tab({ width = 1280, dark = false, key } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: width > 800 ? 800 : 844 },
    colorScheme: dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(TIMEOUT);
  const page = await context.newPage();
  page.on('console', (message) => {
    // The browser reports what a mail's HTML may not do as an error of its frame; and a mail that has been
    // closed as well.
    const framed =
      message.location().url.endsWith('/mail.html') ||
      /sandbox|hostile\.example.* violates|Framing .* violates .*frame-ancestors/.test(message.text());
    if (message.type() === 'error' && !framed && !isExpected(message.text())) wrong.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`${page.url()}: ${error.stack}`));
  // Requests blocked by the content security policy fail as "csp"; any other foreign request was really sent.
  const foreign = (request) => !/^(data|blob):/.test(request.url()) && !request.url().startsWith(base);
  page.on('requestfinished', (request) => foreign(request) && wrong.push(`requested ${request.url()}`));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    if (foreign(request) && why !== 'csp') wrong.push(`requested ${request.url()}: ${why}`);
  });
  if (key) await sign(page, key);
  return page;
}

async function sign(page, key) {
  await page.goto(`${base}/console/login`);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${base}/`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

/** Opens a page of the console and waits until all its data is shown. */
async function go(page, path, title) {
  await page.goto(`${base}/#${path}`);
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]') && !document.querySelector('.pages:empty'));
}

/** Records axe-core's violations. Elements that it cannot check (text over drawings, foreign frames) do not count. */
async function examine(page, what) {
  // A list that is still fading in has other colours.
  await page.evaluate(() => {
    const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
    return Promise.all(fading.map((one) => one.finished.catch(() => {})));
  });
  for (const finding of await audit(page)) if (!finding.startsWith('incomplete')) wrong.push(`${what}: ${finding}`);
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (wide > room) wrong.push(`${what}: ${wide - room} px wider than its window`);
}

/** Waits for a toast with this text and removes it, so that it is not mistaken for the next one. */
async function toast(page, text) {
  const note = page.locator('.toast', { hasText: text });
  await note.waitFor();
  await note.evaluate((element) => element.remove());
}
const row = (page, text) => page.locator('main tbody tr', { hasText: text });
const button = (where, name) => where.getByRole('button', { name, exact: true });
function must(holds, what) {
  if (!holds) wrong.push(what);
}
