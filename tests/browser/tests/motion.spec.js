import { test, expect, button, clock, open, playButton, stillPicture } from './page.js';

test.beforeEach(({ page }) => page.emulateMedia({ reducedMotion: 'reduce' }));

test('with reduced motion nothing moves by itself, and all can be stepped', async ({ page }) => {
  await open(page);
  await expect(playButton(page)).toBeVisible();
  const [time, still] = [await clock(page).innerText(), await stillPicture(page)];
  await page.waitForTimeout(1000);
  expect(await clock(page).innerText()).toBe(time);
  expect(await stillPicture(page)).toBe(still);
  await button(page, 'One event on').click();
  await expect(clock(page)).not.toHaveText(time);
});

test('with reduced motion no style moves either', async ({ page }) => {
  await open(page);
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter((e) => {
        const style = getComputedStyle(e);
        const longest = (list) => Math.max(...list.split(',').map(parseFloat));
        return longest(style.transitionDuration) > 0.05 || (style.animationName !== 'none' && longest(style.animationDuration) > 0.05);
      })
      .map((e) => e.className || e.tagName),
  );
  expect(moving).toEqual([]);
});

test('the parts of frames are measured while they are asked for, and only then', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await open(page);
  const parts = (on) => page.evaluate(async (on) => [...(await import('./mqscope-web.js')).frameParts(on)], on);
  expect(await parts(true)).toEqual([]);
  let measured = [];
  await expect.poll(async () => (measured = measured.concat(await parts(true))).length).toBeGreaterThan(9);
  expect(measured.length % 3).toBe(0);
  expect(measured.every((ms) => ms >= 0)).toBe(true);
  // Drawing takes time.
  expect(measured.filter((_, i) => i % 3 === 2).some((ms) => ms > 0)).toBe(true);
  await parts(false);
  await page.waitForTimeout(300);
  expect(await parts(false)).toEqual([]);
});
