// Unusual cases: deep links through the sign-in page, objects that do not exist, very long texts.
const LINK = `${base}/#/lanes/mail?state=failed`;

// A deep link opens its page after the sign-in, and the side bar marks that page.
const page = await tab();
await page.goto(LINK);
await page.getByLabel('API key').fill(input.admin);
await page.getByRole('button', { name: 'Sign in' }).click();
await page.waitForURL(LINK);
await page.locator('#nav a[aria-current=page]', { hasText: 'mail' }).waitFor();

// An object that does not exist is named in the message, with a link to those that do.
for (const [path, name, leads] of [
  ['/lanes/mail/rows/999999999', '999999999', '#/lanes/mail'],
  ['/lanes/nobody', 'nobody', '#/'],
  ['/jobs/0HZXEQ5Y8JZZZ', '0HZXEQ5Y8JZZZ', '#/jobs'],
]) {
  await go(page, path, name);
  await page.getByText('It does not exist, or no longer exists').waitFor();
  const href = await page.locator('main a').getAttribute('href');
  must(href === leads, `from ${path} one is led to ${href}`);
  must((await button(page, 'Retry').count()) === 0, `${path} would be tried again`);
}
await go(page, '/lanes/mail?state=nobody', 'mail');
await page.locator('main .empty', { hasText: 'state' }).waitFor();
must(!(await page.locator('main .empty').textContent()).includes('errors'), 'a refusal does not say what is wrong');
must(await page.getByRole('toolbar', { includeHidden: true }).isHidden(), 'rows that could not be had are offered to be moved');

// The reason why a row waits is shown if the state alone does not give it.
await go(page, `/lanes/mail/rows/${input.strange}`, input.strange);
await page.getByText('no state of the contract').waitFor();
await go(page, `/jobs/${input.pending}`, input.pending);
await page.getByText(/Due in \d+ min · until \d\d:\d\d:\d\d \S+/).waitFor();

// A form reports all missing fields at once; a secret is not lost by pressing a key accidentally.
const dialog = page.getByRole('dialog');
await go(page, '/accounts', 'Service accounts');
await button(page, 'New account').click();
await button(dialog, 'Create').click();
must((await dialog.getByText('is required').count()) === 3, 'a form names every missing field at once');
await dialog.getByLabel('Code').fill('once');
await dialog.getByLabel('Name').fill('<b>שלום</b> 🎉');
await dialog.getByLabel('Hosts').fill('*');
await button(dialog, 'Create').click();
await dialog.getByText('whsec_').waitFor();
await page.keyboard.press('Escape');
must(await dialog.getByText('whsec_').isVisible(), 'Escape took the secret away');
await button(dialog, 'Done').click();
await row(page, '<b>שלום</b> 🎉').waitFor();

// The search term is part of the address on every page with a search.
await go(page, '/events', 'Events');
await page.getByLabel('Type').fill('shop:orders:order:lost');
await button(page, 'Search').click();
await page.waitForURL(/code=shop/);
await go(page, '/audit', 'Audit log');
await page.getByLabel('Object type').selectOption('serviceAccount');
await page.waitForURL(/entity=serviceAccount/);
await row(page, 'create serviceAccount').first().waitFor();
await page.reload();
await row(page, 'create serviceAccount').first().waitFor();
must((await row(page, 'session').count()) === 0, 'what is looked for is lost when the page is loaded again');
must((await page.getByLabel('Object type').inputValue()) === 'serviceAccount', 'the address is not heard');

// Very long texts at both widths: nothing is wider than its window, and long elements scroll separately.
for (const width of [1280, 390]) {
  const narrow = await tab({ width, key: input.admin });
  for (const [path, title] of [
    ['/events', 'Events'],
    ['/subscriptions', 'Subscriptions'],
    ['/pools', 'Pools'],
    ['/jobs', 'Jobs'],
    [`/jobs/${input.endless}`, input.endless],
    ['/lanes/mail', 'mail'],
    [`/lanes/mail/rows/${input.strange}`, input.strange],
  ]) {
    await go(narrow, path, title);
    await narrow.screenshot({ path: `${input.folder}/odd-${path.replaceAll(/\W+/g, '-')}-${width}.png` });
    await examine(narrow, `${path} with long texts at ${width} px`);
  }
  const box = await narrow.locator('.long').first().boundingBox();
  must(box.height < 200, `a long text takes ${box.height} px`);
  await narrow.context().close();
}
return wrong;
