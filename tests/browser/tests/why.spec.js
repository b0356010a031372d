import { test, expect, button, clock, openPaused, open } from './page.js';

test('what a request’s latency would have been without one cause is measured by twins', async ({ page }) => {
  await openPaused(page, '#t=1.2ms');
  await page.keyboard.press('n');
  await button(page, 'Ask the twin').click();
  const box = page.locator('.what-if');
  await expect(box).toContainText(/As it is, the application waits .*[0-9].*\./, { timeout: 30_000 });
  await expect(box.locator('tbody tr')).toHaveCount(7, { timeout: 30_000 });
  await expect(box).not.toContainText('more twins run', { timeout: 30_000 });
  await expect(box).toContainText('%');
});

test('marks are reached by keys, in both directions', async ({ page }) => {
  await openPaused(page, '#t=0ns');
  await page.waitForTimeout(1500);
  const start = await clock(page).innerText();
  await page.keyboard.press(']');
  await expect(clock(page)).not.toHaveText(start);
  const first = await clock(page).innerText();
  await page.keyboard.press(']');
  await expect(clock(page)).not.toHaveText(first);
  await page.keyboard.press('[');
  await expect(clock(page)).toHaveText(first);
});

test('an invariant broken on purpose turns its lamp red at the event that broke it, and can be mended', async ({ page }) => {
  await openPaused(page, '#t=0ns');
  const lamp = page.locator('.lamp', { hasText: 'Every driver tag that is taken' });
  await expect(lamp).toContainText('Holds.');
  await lamp.getByRole('button', { name: 'Break it once' }).click();
  await button(page, 'To the start').click();
  await expect(lamp).toContainText('Holds.');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('slider', { name: 'Playhead' }).fill('500');
  await expect(lamp).toContainText(/Broken at .*/);
  await expect(lamp).toHaveClass(/broken/);
  await lamp.getByRole('button', { name: 'Mend it' }).click();
  await expect(lamp).toContainText('Holds.');
});

test('laws name a bottleneck for both policies', async ({ page }) => {
  await openPaused(page);
  const rows = page.locator('#laws tbody tr');
  await expect(rows.last()).toContainText('the CPUs', { timeout: 45_000 });
  await expect(rows.first()).toContainText(/\d+ = \d+/);
});

test('the kernel time machine changes the rules while the same load runs on', async ({ page }) => {
  await openPaused(page, '#t=1ms');
  const before = await clock(page).innerText();
  const machine = page.getByRole('slider', { name: /Kernel time machine/ });
  await machine.focus();
  await machine.press('End');
  await expect(page.getByRole('combobox', { name: 'Kernel', exact: true })).toHaveValue('7.0');
  await expect(clock(page)).toHaveText(before);
  await expect(page.locator('.timeline .mark-change')).toHaveCount(1);
});

test('the tour has five stops, marks each place, can be left and begun again', async ({ page }) => {
  await open(page);
  const tour = page.getByRole('region', { name: 'Tour' });
  await button(page, 'Tour').click();
  for (let stop = 1; stop <= 5; stop++) {
    await expect(tour).toContainText(`Stop ${stop} of 5`);
    await expect(page.locator('.tour-at')).toHaveCount(1);
    await tour.getByRole('button', { name: stop < 5 ? 'Next stop' : 'Done' }).click();
  }
  await expect(tour).toBeHidden();
  await expect(page.locator('.tour-at')).toHaveCount(0);
  await button(page, 'Tour').click();
  await page.keyboard.press('Escape');
  await expect(tour).toBeHidden();
});

test('a presenter has large type, and a clicker steps', async ({ page }) => {
  await openPaused(page);
  const size = () => page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize));
  const usual = await size();
  await page.keyboard.press('p');
  expect(await size()).toBeGreaterThan(usual * 1.3);
  const before = await clock(page).innerText();
  await page.keyboard.press('PageDown');
  await expect(clock(page)).not.toHaveText(before);
  await page.keyboard.press('PageUp');
  await page.keyboard.press('p');
  expect(await size()).toBe(usual);
});
