// Actions on rows and lanes, by the labels of their buttons; the test checks their results in the database afterwards.
const page = await tab({ key: input.admin });
const dialog = page.getByRole('dialog');

// A mail is shown as its reader sees it, without running or loading anything of it.
await go(page, `/lanes/mail/rows/${input.hostile}`, input.hostile);
const frame = page.frameLocator('iframe.mail');
await frame.getByText('Hostile greetings').waitFor();
must(
  await page.evaluate(() => globalThis.hostile === undefined && document.title.endsWith('Postrider')),
  'a script of a mail ran',
);
must(!page.frames().some((one) => /hostile\.example/.test(one.url())), 'a mail opened a frame');
await button(page, 'Source').click();
await page.getByText('Content-Type').first().waitFor();
const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: '.eml' }).click()]);
must(/\.eml$/.test(download.suggestedFilename()), `the file is called ${download.suggestedFilename()}`);

// Rows: searched, sorted, paged, selected.
await go(page, '/lanes/mail?state=failed', 'mail');
must((await page.locator('tbody tr').count()) === 50, 'a page has 50 rows');
const first = await page.locator('tbody tr a').first().textContent();
await button(page, 'Next').click();
await page.waitForFunction((was) => document.querySelector('tbody tr a').textContent !== was, first);
await button(page, 'Previous').click();
await page.waitForFunction((was) => document.querySelector('tbody tr a').textContent === was, first);
await page.getByLabel('Order').selectOption('oldest');
await page.waitForFunction((was) => document.querySelector('tbody tr a').textContent !== was, first);
await page.getByLabel('Search by').selectOption('error');
await page.keyboard.press('Escape');
await page.getByLabel('Search rows').fill('no such mailbox');
await page.keyboard.press('Enter');
await page.getByText('newest 10,000').first().waitFor();
await page.getByLabel('Search by').selectOption('id');
await page.getByLabel('Search rows').fill(input.mail);
await page.keyboard.press('Enter');
await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);

// Requeue one row with its button, some by selection, and the rest of the state with the preview.
await row(page, input.mail).getByRole('link').first().click();
await page.getByRole('heading', { level: 1, name: input.mail }).waitFor();
await button(page, 'Requeue').click();
await dialog.getByText('Requeue 1 row?').waitFor();
await button(dialog, 'Requeue 1 row').click();
await toast(page, 'Requeue: 1 row changed');
await go(page, '/lanes/mail?state=failed', 'mail');
await page
  .getByLabel(/^Select \d/)
  .nth(0)
  .check();
await page
  .getByLabel(/^Select \d/)
  .nth(1)
  .check();
await page.getByText('2 rows selected').waitFor();
await button(page, 'Requeue').click();
await button(dialog, 'Cancel').click();
await button(page, 'Requeue').click();
await button(dialog, 'Requeue 2 rows').click();
await toast(page, '2 rows changed');
await page.getByText('All rows in failed').waitFor();
await button(page, 'Requeue').click();
const heading = await dialog.getByRole('heading').textContent();
must(heading === `Requeue ${input.failed - 3} rows?`, `the preview says: ${heading}`);
await dialog.getByRole('button', { name: /^Requeue/ }).click();
await toast(page, `${input.failed - 3} rows changed`);
await go(page, '/lanes/webhooks?state=DEAD', 'webhooks');
await page.getByLabel(`Select ${input.cancelled}`).check();
await button(page, 'Cancel').click();
await dialog.getByRole('button', { name: /^Cancel 1 row/ }).click();
await toast(page, 'Cancel: 1 row changed');
await go(page, '/lanes/mail?state=dispatching', 'mail');
const claimed = page.getByLabel(/^Select \d/).first();
const held = (await claimed.getAttribute('aria-label')).replace('Select ', '');
const watcher = await tab({ key: input.admin });
await go(watcher, `/lanes/mail/rows/${held}`, held);
await watcher.getByText('its lease ends in').waitFor();
await button(watcher, 'Text').click();
await watcher.evaluate(() => scrollTo(0, 60));
await claimed.check();
await page.getByText('1 row selected').waitFor();
await button(page, 'Release').click();
await dialog.getByRole('button', { name: /^Release 1 row/ }).click();
await toast(page, 'Release: 1 row changed');

// The page of a row updates automatically, without changing what stayed the same.
await watcher.locator('.heading .mark', { hasText: 'sent' }).waitFor();
await watcher.locator('.timeline').getByText('Delivered').waitFor();
const kept = await watcher.evaluate(() => [document.activeElement.textContent, scrollY]);
must(kept[0] === 'Text' && kept[1] === 60, `focus and scroll became ${kept}`);

// Pause the lane, undo that, and pause it again.
await go(page, '/lanes/mail', 'mail');
await button(page, 'Pause').click();
await button(page, 'Resume').waitFor();
await button(page.locator('.toast', { hasText: 'mail is paused' }), 'Undo').click();
await button(page, 'Pause').waitFor();
await page.locator('.machine a', { hasText: 'sent' }).click();
await page.waitForURL(/state=sent/);

await go(page, '/check', 'Check');
await button(page, 'Copy').first().click();
must(/CREATE INDEX/.test(await page.evaluate(() => navigator.clipboard.readText())), 'the statement is on the clipboard');

// Rows by keyboard.
await go(page, '/lanes/mail', 'mail');
await page.keyboard.press('j');
await page.keyboard.press('x');
await page.getByText('1 row selected').waitFor();
await page.keyboard.press('/');
must(await page.getByLabel('Search rows').evaluate((node) => node === document.activeElement), '/ focuses the search');
return wrong;
