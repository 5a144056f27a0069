// Permissions: actions that would be refused are not offered, and are refused if they are sent anyway.
const ACTIONS = /^(Requeue|Cancel|Release|Pause|Resume|Retry|Replay|Publish|New |Edit|Test|Rotate|Deactivate|Revoke|Mark)/;

const viewer = await tab({ key: input.viewer });
const places = [
  ['/', 'Overview'],
  ['/lanes/mail?state=failed', 'mail'],
  [`/lanes/mail/rows/${input.mail}`, input.mail],
  ['/lanes/webhooks?state=DEAD', 'webhooks'],
  ['/jobs?status=ERROR', 'Jobs'],
  [`/jobs/${input.dead}`, input.dead],
  ['/events', 'Events'],
  ['/subscriptions', 'Subscriptions'],
  ['/pools', 'Pools'],
  ['/check', 'Check'],
];
for (const [path, title] of places) {
  await go(viewer, path, title);
  const offered = await viewer.locator('main button').allTextContents();
  must(!offered.some((text) => ACTIONS.test(text)), `a viewer is offered ${offered} at ${path}`);
  must((await viewer.getByLabel(/^Select/).count()) === 0, `a viewer may select at ${path}`);
}
for (const name of ['Service accounts', 'API keys', 'Audit log'])
  must((await viewer.locator('#nav').getByText(name).count()) === 0, `a viewer is shown ${name}`);

/** Sends as the page would, with or without the token. */
const send = (page, method, path, token) =>
  page.evaluate(
    async ([how, where, proof]) => {
      const csrf = proof ? { 'x-csrf-token': (await (await fetch('/console/session')).json()).csrf } : {};
      const answer = await fetch(where, {
        method: how,
        headers: { 'content-type': 'application/json', ...csrf },
        body: how === 'GET' ? undefined : '{}',
      });
      return answer.status;
    },
    [method, path, token],
  );
must((await send(viewer, 'POST', '/api/v1/lanes/mail/pause', true)) === 403, 'a viewer paused a lane');
must((await send(viewer, 'GET', '/api/v1/api-keys', true)) === 403, 'a viewer saw the keys');

const admin = await tab({ key: input.admin });
must((await send(admin, 'POST', '/api/v1/lanes/notify/pause', false)) === 403, 'a request without the token was accepted');
must((await send(admin, 'POST', '/api/v1/lanes/notify/pause', true)) === 200, 'a request with the token was refused');
const [cookie] = await admin.context().cookies();
must(cookie.httpOnly && cookie.sameSite === 'Strict', `the cookie is ${JSON.stringify(cookie)}`);

// A key of one client sees its jobs, and no lanes.
const client = await tab({ key: input.client });
await client.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
await row(client, input.acme).waitFor();
must((await row(client, input.dead).count()) === 0, "a client's key sees a job of another client");
must((await client.locator('#nav').getByText('Overview').count()) === 0, "a client's key is shown the lanes");
must((await send(client, 'GET', '/api/v1/overview', true)) === 403, "a client's key saw the overview");
must((await send(client, 'GET', `/api/v1/dispatch-jobs/${input.dead}`, true)) === 404, "a client's key saw another client's job");

// A producer sees that a job exists, but not the data that another key put into it; and no rows at all.
const producer = await tab({ key: input.producer });
await go(producer, `/jobs/${input.dead}`, input.dead);
await producer.getByText('None, or not visible to your API key.').waitFor();
must(!(await producer.locator('main').textContent()).includes('19.90'), "a producer's page shows another's payload");
for (const path of ['rows', `rows/${input.dead}`])
  must((await send(producer, 'GET', `/api/v1/lanes/webhooks/${path}`, true)) === 403, `a producer saw ${path}`);
must((await send(producer, 'POST', `/api/v1/dispatch-jobs/${input.dead}/retry`, true)) === 403, 'a producer retried a job');

// A forged cookie is not accepted; an invalid key is reported.
const forger = await tab();
await forger.context().addCookies([{ name: cookie.name, value: `${cookie.value.slice(0, -4)}AAAA`, url: base }]);
await forger.goto(base);
await forger.waitForURL(/\/console\/login/);
await forger.getByLabel('API key').fill('pr_0000000000000_nothing');
await forger.getByRole('button', { name: 'Sign in' }).click();
await forger.getByText('Invalid or revoked API key').waitFor();

// A page that the key may not open says so, and offers none of its actions.
await go(viewer, '/keys', 'API keys');
await viewer.getByText('Access denied').waitFor();
must((await button(viewer, 'New key').count()) === 0, 'a viewer is offered a new key');
await viewer.keyboard.press('g');
await viewer.keyboard.press('l');
must(viewer.url().endsWith('#/keys'), `a viewer is led to ${viewer.url()}`);

// Revoking a key ends its sessions at once, and an open overview stops showing old figures.
await go(viewer, '/', 'Overview');
await viewer.locator('.foot .live[data-state=live]').waitFor();
must((await send(admin, 'POST', `/api/v1/api-keys/${input.viewerId}/revoke`, true)) === 200, 'the key could not be revoked');
const after = await viewer.context().request.get(`${base}/api/v1/overview`);
must(after.status() === 401, 'the session of a revoked key went on');
await viewer.getByText('Your session has ended').waitFor();
return wrong;
