// Every page, on desktop and phone, in light and dark: its content is shown, axe-core finds nothing, nothing is cut off.
const PAGES = [
  ['overview', '/', 'Overview', /cannot be reached/],
  ['mail', '/lanes/mail', 'mail', 'dispatching'],
  ['failed', '/lanes/mail?state=failed', 'mail', 'no such mailbox'],
  ['events-lane', '/lanes/events', 'events', 'PROCESSING'],
  ['webhooks', '/lanes/webhooks', 'webhooks', 'RETRYING'],
  ['notify', '/lanes/notify', 'notify', 'skipped'],
  ['emails', '/lanes/emails', 'emails', 'SENT-ACKNOWLEDGED'],
  ['mail-row', `/lanes/mail/rows/${input.mail}`, input.mail, 'Your order'],
  ['job-row', `/lanes/webhooks/rows/${input.dead}`, input.dead, '503'],
  ['record-row', `/lanes/events/rows/${input.record}`, input.record, 'orders'],
  ['notification-row', `/lanes/notify/rows/${input.notification}`, input.notification, 'Timeline'],
  ['email-row', `/lanes/emails/rows/${input.email}`, input.email, 'Timeline'],
  ['jobs', '/jobs', 'Jobs', 'COMPLETED'],
  ['job', `/jobs/${input.dead}`, input.dead, '503'],
  ['events', '/events', 'Events', 'shop:orders:order:paid'],
  ['subscriptions', '/subscriptions', 'Subscriptions', 'crm'],
  ['pools', '/pools', 'Pools', 'slow'],
  ['accounts', '/accounts', 'Service accounts', 'shop'],
  ['keys', '/keys', 'API keys', 'viewer'],
  ['audit', '/audit', 'Audit log', 'create'],
  ['check', '/check', 'Check', 'CREATE INDEX'],
];
/** What the guide shows. */
const SHOWN = {
  'overview-desk': 'overview',
  'failed-desk': 'lane',
  'mail-row-desk': 'mail',
  'job-row-desk': 'webhook',
  'check-desk': 'check',
  'overview-phone': 'phone',
};

for (const [kind, width, dark] of [
  ['desk', 1280, false],
  ['phone', 390, true],
]) {
  const login = await tab({ width, dark });
  await login.goto(base);
  await login.getByLabel('API key').waitFor();
  await examine(login, `login, ${kind}`);
  await login.screenshot({ path: `${input.folder}/login-${kind}.png` });
  await login.context().close();
  const page = await tab({ width, dark, key: input.admin });
  for (const [name, path, title, words] of PAGES) {
    await go(page, path, title);
    await page.locator('main').getByText(words).filter({ visible: true }).first().waitFor();
    await page.locator('.live[data-state=live]').first().waitFor({ state: 'attached' });
    const file =
      input.docs && SHOWN[`${name}-${kind}`]
        ? `${input.docs}/console-${SHOWN[`${name}-${kind}`]}.png`
        : `${input.folder}/${name}-${kind}.png`;
    await page.screenshot({ path: file, fullPage: !input.docs });
    // Every row is like the others: axe-core need not look at all fifty.
    await page.evaluate(() => document.querySelectorAll('tbody tr:nth-child(n+9)').forEach((row) => row.remove()));
    await examine(page, `${name}, ${kind}`);
  }
  await page.context().close();
}
return wrong;
