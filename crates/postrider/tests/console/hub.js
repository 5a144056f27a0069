// What can be done with jobs, accounts, pools, subscriptions, events and keys, by the words on the buttons.
const page = await tab({ key: input.admin });
const dialog = page.getByRole('dialog');

// Jobs: found, tried again, vouched for, cancelled.
await go(page, '/jobs', 'Jobs');
await button(page, 'ERROR').click();
await row(page, input.retried).getByRole('link').click();
await button(page, 'Retry').click();
await toast(page, 'It goes again now');
await go(page, `/jobs/${input.dead}`, input.dead);
await button(page, 'Mark as completed').click();
await button(dialog, 'Mark as completed').click();
await toast(page, 'It counts as delivered');
await go(page, `/jobs/${input.pending}`, input.pending);
await button(page, 'Cancel').click();
await button(dialog, 'Cancel').click();
await toast(page, 'It is cancelled');
await go(page, '/jobs?status=ERROR', 'Jobs');
await button(page, 'Retry the spent ones').click();
await button(dialog, 'Retry').click();
await toast(page, 'go again');

// A service account, whose secret is shown once; a pool; a subscription with both.
await go(page, '/accounts', 'Service accounts');
await button(page, 'New account').click();
await dialog.getByLabel('Code').fill('billing');
await dialog.getByLabel('Name').fill('Billing');
await button(dialog, 'Create').click();
const secret = page.locator('dialog .secret code');
must(/^whsec_/.test(await secret.textContent()), 'the secret is shown');
await button(page.locator('dialog .secret'), 'Copy').click();
must((await page.evaluate(() => navigator.clipboard.readText())).startsWith('whsec_'), 'the secret is on the clipboard');
await button(page, 'I have it').click();
await button(row(page, 'billing'), 'Rotate').click();
await button(dialog, 'Rotate').click();
await secret.waitFor();
await button(page, 'I have it').click();
await button(row(page, 'billing'), 'Edit').click();
await dialog.getByLabel('Name').fill('Billing & co.');
await button(dialog, 'Save').click();
await row(page, 'Billing & co.').waitFor();
await button(row(page, 'billing'), 'Deactivate').click();
await row(page, 'billing').getByText('off').waitFor();
await button(page.locator('.toast', { hasText: 'is off' }), 'Undo').click();
await row(page, 'billing').getByText('active').waitFor();

await go(page, '/pools', 'Pools');
await button(page, 'New pool').click();
await dialog.getByLabel('Code').fill('gentle');
await dialog.getByLabel('Name').fill('Gentle');
await dialog.getByLabel('Deliveries at once').fill('4');
await button(dialog, 'Create').click();
await button(row(page, 'gentle'), 'Edit').click();
await dialog.getByLabel('Deliveries a minute').fill('600');
await button(dialog, 'Save').click();
await row(page, 'gentle').getByText('600').waitFor();
await button(row(page, 'gentle'), 'Pause').click();
await row(page, 'gentle').getByText('paused').waitFor();
await button(row(page, 'gentle'), 'Resume').click();
await row(page, 'gentle').getByText('active').waitFor();

await go(page, '/subscriptions', 'Subscriptions');
await button(page, 'New subscription').click();
await dialog.getByLabel('Code').fill('stock');
await dialog.getByLabel('Name').fill('Stock');
await dialog.getByLabel('Events').fill('shop:orders:*:*');
await dialog.getByLabel('Target URL').fill('ftp://nowhere');
await button(dialog, 'Create').click();
await dialog.locator('[aria-invalid=true]').waitFor();
await dialog.getByLabel('Target URL').fill(input.receiver);
await dialog.getByLabel('Signed by').selectOption({ label: 'billing' });
await dialog.getByLabel('Pool').selectOption({ label: 'gentle' });
await button(dialog, 'Create').click();
await row(page, 'stock').waitFor();
await button(row(page, 'stock'), 'Edit').click();
await dialog.getByLabel('Headers').fill('X-Shop: 7');
await button(dialog, 'Save').click();
await toast(page, 'stock is changed');
await button(row(page, 'stock'), 'Pause').click();
await row(page, 'stock').getByText('paused').waitFor();
await button(row(page, 'stock'), 'Resume').click();
await row(page, 'stock').getByText('active').waitFor();
await button(row(page, 'stock'), 'Test').click();
await page.waitForURL(/#\/jobs\//);

// An event makes a job, and is replayed.
await go(page, '/events', 'Events');
await button(page, 'Publish').click();
await dialog.getByLabel('Type').fill('shop:orders:order:shipped');
await dialog.getByLabel('Data, as JSON').fill('{ "order": ');
await button(dialog, 'Publish').click();
await dialog.getByText('is no JSON').waitFor();
await dialog.getByLabel('Data, as JSON').fill('{ "order": 17 }');
await button(dialog, 'Publish').click();
await toast(page, 'Taken in: 1 job made');
await row(page, 'order:shipped').getByRole('link').click();
await page.getByRole('heading', { level: 1, name: 'shop:orders:order:shipped' }).waitFor();
await button(page, 'Replay').click();
await button(dialog, 'Replay').click();
await toast(page, '1 job made');
await page.getByRole('link', { name: 'Its jobs' }).click();
await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);

// A key, shown once, then revoked.
await go(page, '/keys', 'API keys');
await button(page, 'New key').click();
await dialog.getByLabel('Name').fill('reader');
await button(dialog, 'Create').click();
must(/^pr_/.test(await secret.textContent()), 'the key is shown');
await button(page, 'I have it').click();
await button(row(page, 'reader'), 'Revoke').click();
await button(dialog, 'Revoke').click();
await row(page, 'reader').getByText('revoked').waitFor();
await go(page, '/audit', 'Audit log');
await row(page, 'revoke apiKey').first().waitFor();

// The keyboard, the colours, and out.
await page.keyboard.press('?');
await dialog.getByText('look again').waitFor();
await page.keyboard.press('Escape');
await dialog.waitFor({ state: 'detached' });
await page.keyboard.press('g');
await page.keyboard.press('j');
await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
await row(page, '').first().waitFor();
await page.keyboard.press('j');
await page.keyboard.press('j');
await page.keyboard.press('k');
await page.keyboard.press('Enter');
await page.waitForURL(/#\/jobs\/./);
await page.getByLabel(/^Colours/).click();
must((await page.evaluate(() => document.documentElement.dataset.theme)) === 'dark', 'it turns dark');
await button(page, 'Sign out').click();
await page.waitForURL(/\/console\/login/);
await page.goto(base);
await page.waitForURL(/\/console\/login/);
return wrong;
