import { test, expect, card, clock, openPaused } from './page.js';

test('another kernel from the start: the run begins anew', async ({ page }) => {
  await openPaused(page);
  await page.getByRole('radio', { name: 'from the start' }).check();
  await page.getByRole('combobox', { name: 'Kernel' }).selectOption('6.1');
  await expect(card(page, 'A')).toHaveAccessibleName(/kernel 6\.1/);
});

test('another dispatch mode from the playhead: the time stays, the policy changes', async ({ page }) => {
  await openPaused(page);
  const before = await clock(page).innerText();
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  await page.getByRole('combobox', { name: 'Dispatch mode' }).selectOption({ label: 'one by one' });
  await expect(page.locator('.card').first()).toContainText('Changed once on the way');
  await expect(clock(page)).toHaveText(before);
  await expect(page.locator('.timeline .mark-change')).toHaveCount(1);
});

test('the numbers of a policy change with it', async ({ page }) => {
  await openPaused(page, '#preset=psync-nvme');
  const figure = page.locator('.card .figure').first();
  await expect(page.locator('.card .progress.done').first()).toBeAttached({ timeout: 30_000 });
  const before = await figure.innerText();
  await page.getByRole('combobox', { name: 'Device' }).selectOption({ label: 'NVMe P4800X 375 GB (3D XPoint)' });
  await expect(figure).not.toHaveText(before);
});

test('a value that does not fit is refused, and the old one stays in force', async ({ page }) => {
  await openPaused(page);
  const depth = page.getByRole('spinbutton', { name: 'Queue depth' });
  const before = await depth.inputValue();
  await depth.fill('0');
  await depth.blur();
  await expect(depth).toHaveValue(before);
});

test('the other policy comes on the stage', async ({ page }) => {
  await openPaused(page);
  await card(page, 'B').check();
  await expect(page.locator('#policy-title')).toContainText('B');
  await expect(page.getByRole('combobox', { name: 'Dispatch mode' })).toHaveValue(/one-by-one/);
});
