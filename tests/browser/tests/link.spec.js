import { test, expect, button, openPaused, open, pasteJob, pauseButton, playButton, stillPicture, words } from './page.js';

/** The address is written with a delay. */
const settled = async (page) => {
  let last = '';
  await expect
    .poll(async () => {
      const now = page.url();
      const same = now === last && now.includes('#');
      last = now;
      return same;
    }, { intervals: [800] })
    .toBe(true);
  return last;
};

test('a reload from the address gives the same picture', async ({ page, context }) => {
  await openPaused(page);
  await page.locator('#inspector').getByRole('button', { name: 'Next' }).click();
  for (let i = 0; i < 7; i++) await button(page, 'One event on').click();
  const address = await settled(page);
  const [before, pictureBefore] = [await words(page), await stillPicture(page)];
  const other = await context.newPage();
  await other.goto(address);
  await expect(playButton(other)).toBeVisible();
  await expect.poll(() => words(other)).toEqual(before);
  expect(await stillPicture(other)).toBe(pictureBefore);
  await other.close();
});

test('a job of one’s own and changed policies survive a reload', async ({ page }) => {
  await openPaused(page);
  await pasteJob(page, '[own]\nioengine=io_uring\ndirect=1\nrw=randwrite\nfilename=/dev/nvme0n1\ntime_based\nruntime=9\n');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  if (await pauseButton(page).isVisible()) await pauseButton(page).click();
  await page.getByRole('radio', { name: 'from the start' }).check();
  await page.getByRole('combobox', { name: 'Kernel' }).selectOption('5.4');
  const address = await settled(page);
  const before = await words(page);
  await page.goto('about:blank');
  await page.goto(address);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your own job');
  await expect(page.getByRole('combobox', { name: 'Kernel' })).toHaveValue('5.4');
  await expect.poll(async () => (await words(page)).clock).toBe(before.clock);
});

test('an address that cannot be read opens the page and says so', async ({ page }) => {
  await open(page, '#v=1&preset=nothing&a=9.99&t=abc');
  await expect(page.locator('.notices')).not.toBeEmpty();
});
