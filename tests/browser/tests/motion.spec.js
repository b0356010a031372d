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
