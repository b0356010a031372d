import { test, expect, clock, open, pauseButton, picture } from './page.js';

test('requests move on the stage', async ({ page }) => {
  await open(page);
  const before = await picture(page);
  await expect.poll(() => picture(page)).not.toBe(before);
  await expect(page.locator('.stage-now')).toContainText('requests');
});

test('the page opens on report 000: two RAID volumes, two policies', async ({ page }) => {
  await open(page);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('RAID');
  await expect(page.getByRole('radio', { name: /^A take all/ })).toBeChecked();
  await expect(page.getByRole('radio', { name: /^B one by one/ })).not.toBeChecked();
  // Both runs go on in the background until their numbers are complete.
  const figures = page.locator('.card-figure .figure');
  await expect(figures).toHaveCount(2);
  for (const figure of await figures.all()) await expect(figure).toHaveText(/[\d.]+\s[kM]/);
});

test('idle CPUs are folded, busy ones are lanes', async ({ page }) => {
  await open(page);
  const parts = page.getByRole('group', { name: /^Parts of the stage/ });
  await expect(parts.getByRole('button', { name: /idle CPUs of node 0, folded/ })).toBeAttached();
  await expect(parts.getByRole('button', { name: /^CPU \d+\. / })).toHaveCount(8);
});

test('a hidden page stands still', async ({ page }) => {
  await open(page);
  await expect(pauseButton(page)).toBeVisible();
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
    Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await page.waitForTimeout(300);
  const before = await clock(page).innerText();
  await page.waitForTimeout(700);
  expect(await clock(page).innerText()).toBe(before);
});
