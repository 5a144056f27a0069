// The start of every console test script: a signed-in page whose errors are collected in `wrong`.
const { base } = input;
const wrong = [];
const PATIENCE = 20_000;

/** Errors that a test brings about on purpose: an answer of 4xx is one for the browser, too. */
const meant = (text) => /Failed to load resource: the server responded with a status of (401|403|404|409|422)/.test(text);

/** A browser's window; nothing that it loads may come from elsewhere, nothing that it says may be an error. */
async function tab({ width = 1280, dark = false, key } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: width > 800 ? 800 : 844 },
    colorScheme: dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on('console', (said) => {
    // The browser reports what a mail's HTML may not do as an error of its frame; and a mail that has been
    // closed as well.
    const framed =
      said.location().url.endsWith('/mail.html') ||
      /sandbox|hostile\.example.* violates|Framing .* violates .*frame-ancestors/.test(said.text());
    if (said.type() === 'error' && !framed && !meant(said.text())) wrong.push(`${page.url()}: ${said.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`${page.url()}: ${error.stack}`));
  // Requests blocked by the content security policy fail as "csp"; any other foreign request was really sent.
  const foreign = (request) => !/^(data|blob):/.test(request.url()) && !request.url().startsWith(base);
  page.on('requestfinished', (request) => foreign(request) && wrong.push(`asked for ${request.url()}`));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    if (foreign(request) && why !== 'csp') wrong.push(`asked for ${request.url()}: ${why}`);
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

/** Goes to a page of the console and waits until it shows all that it asked for. */
async function go(page, path, title) {
  await page.goto(`${base}/#${path}`);
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true]') && !document.querySelector('.pages:empty'));
}

/** axe-core's violations. What it can't judge (text over drawings, a frame that it may not enter) is no finding. */
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

/** Waits until it is said, and for it to be gone, so that the next one is not taken for it. */
async function toast(page, text) {
  const said = page.locator('.toast', { hasText: text });
  await said.waitFor();
  await said.evaluate((note) => note.remove());
}
const row = (page, text) => page.locator('main tbody tr', { hasText: text });
const button = (where, name) => where.getByRole('button', { name, exact: true });
function must(holds, what) {
  if (!holds) wrong.push(what);
}
