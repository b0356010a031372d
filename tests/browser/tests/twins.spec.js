import { test, expect, button, clock, open, openPaused, pauseButton, picture, playButton, stillPicture } from './page.js';

const twins = (page) => page.locator('#twins');
const parted = async (page) => {
  await expect(twins(page).locator('.twin-head')).toContainText('then they part', { timeout: 45_000 });
};

test('where two policies part is said in words, and shown on the stage of either', async ({ page }) => {
  await openPaused(page);
  await parted(page);
  await expect(twins(page).locator('.twin-side')).toHaveCount(2);
  for (const side of ['A', 'B']) {
    const says = await twins(page).locator('.twin-side').nth(side === 'A' ? 0 : 1).innerText();
    await button(page, `Show it in ${side}`).click();
    await expect(page.getByRole('radio', { name: new RegExp(`^${side} `) })).toBeChecked();
    await expect(clock(page)).toHaveText(/ms|µs/);
    // The event that the panel names is the one the run now stands at.
    const time = says.match(/[\d.\s\u2009\u202f]+(?:ms|µs|ns|s)/)[0].trim();
    expect((await clock(page).innerText()).replace(/\s/g, '')).toBe(time.replace(/\s/g, ''));
  }
});

test('the rules in which two policies differ are listed', async ({ page }) => {
  await openPaused(page, '#preset=seed-004&a=4.4&b=6.1');
  const summary = twins(page).getByText(/What differs between A and B: \d+/);
  await summary.click();
  const rows = twins(page).getByRole('group', { name: 'What differs between A and B' }).locator('tbody tr');
  expect(await rows.count()).toBeGreaterThan(5);
  expect(await summary.innerText()).toContain(`: ${await rows.count()}`);
});

test('which of the differences matter is tried one at a time, and those that do stand first', async ({ page }) => {
  test.setTimeout(180_000);
  await openPaused(page, '#preset=seed-004&a=4.4&b=6.1');
  // From the numbers on top: what makes the difference?
  await page.locator('.card').nth(1).getByRole('button', { name: 'Why?' }).click({ timeout: 60_000 });
  await expect(page.locator('#twins-title')).toBeFocused();
  await expect(twins(page).locator('.differ-ask')).toContainText(/\d+ of the \d+ alone change/, { timeout: 150_000 });
  const rows = twins(page).getByRole('group', { name: 'What differs between A and B' }).locator('tbody tr');
  await expect(rows.nth(0)).toContainText(/All of them: B.*%/);
  await expect(rows.nth(1)).toContainText(/the seed that changes most.*%/);
  const iops = async (row) => Math.abs(Number.parseFloat((await row.locator('td').nth(0).innerText()).replace('−', '-')));
  expect(await iops(rows.nth(2))).toBeGreaterThan(await iops(rows.nth(1)));
  await expect(rows.last()).toContainText('no change');
  // Other rules: what was tried says nothing about them.
  await page.getByLabel('Kernel', { exact: true }).selectOption('4.19');
  await expect(twins(page).locator('.differ-ask')).not.toContainText('alone change');
});

test('each I/O of one policy is compared with the same I/O of the other', async ({ page }) => {
  await openPaused(page);
  await expect(twins(page).locator('.panel-note').first()).toHaveText('', { timeout: 45_000 });
  await expect(twins(page)).toContainText(/Of [\d\s\u2009]+ I\/Os that both runs have completed/);
  await expect(twins(page).locator('.ribbon rect').first()).toBeAttached();
  await twins(page).getByText('The I/Os that differ most').click();
  const rows = twins(page).getByRole('group', { name: 'I/Os that differ most' }).locator('tbody tr');
  await expect(rows).toHaveCount(12);
  await rows.first().getByRole('button').click();
  await expect(page.locator('#inspector h2')).toHaveText(/Request \d+/);
});

test('both policies stand on the stage at the same moment, and a link keeps that', async ({ page }) => {
  await openPaused(page);
  await page.keyboard.press('t');
  const canvases = page.locator('#stage canvas');
  await expect(canvases).toHaveCount(2);
  await page.keyboard.press('.');
  await expect.poll(() => page.url(), { timeout: 5_000 }).toContain('both=1');
  const address = page.url();
  await page.goto('about:blank');
  await page.goto(address);
  await expect(page.locator('#stage canvas')).toHaveCount(2);
  await page.locator('.twin-stage canvas').click();
  await expect(page.getByRole('radio', { name: /^B / })).toBeChecked();
  await page.getByRole('switch', { name: 'A and B together' }).uncheck();
  await expect(page.locator('#stage canvas')).toHaveCount(1);
});

test('both move while it plays and stand while it does not', async ({ page }) => {
  await open(page, '#both=1');
  const twin = page.locator('.twin-stage canvas');
  const look = () => twin.evaluate((canvas) => canvas.toDataURL().length + canvas.toDataURL().slice(-4000));
  const first = await look();
  await expect.poll(look).not.toBe(first);
  await pauseButton(page).click();
  await expect(playButton(page)).toBeVisible();
  await stillPicture(page);
  const still = await look();
  await page.waitForTimeout(600);
  expect(await look()).toBe(still);
  expect(await picture(page)).toBe(await stillPicture(page));
});
