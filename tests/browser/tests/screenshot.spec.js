import { test, expect, openPaused, stillPicture } from './page.js';

// `cargo xtask test --bless` writes the picture of the README; otherwise it is only taken.
const file = process.env.MQSCOPE_BLESS ? '../../docs/images/stage.png' : '../../target/e2e/stage.png';

test('the picture in the README', async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 980 });
  await openPaused(page, '#preset=seed-000&t=5ms&paused=1');
  await page.locator('#inspector').getByRole('button', { name: 'Next' }).click();
  // Both runs to their end, so that the numbers are whole.
  await expect(page.locator('.card .progress.done')).toHaveCount(2, { timeout: 60_000 });
  await page.evaluate(() => scrollTo(0, 0));
  await stillPicture(page);
  const shot = await page.screenshot({ path: file, animations: 'disabled' });
  expect(shot.length).toBeGreaterThan(20_000);
});
