// Looks at each mail as one screen shows it: what it loads, how wide it gets, what axe-core says; and a screenshot.
const looks = [];
for (const { html, width, dark, file } of input) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light' });
  const page = await context.newPage();
  const loaded = [];
  page.on('request', (request) => loaded.push(request.url()));
  await page.setContent(html);
  await page.screenshot({ path: file, fullPage: true });
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
  looks.push({ wide, loaded, wrong: await audit(page) });
  await context.close();
}
return looks;
