import { test, expect } from './page.js';

test('the page is alive after load, without a click', async ({ page }) => {
  // Seen inside the page: the clock of the playhead moves by itself. How soon is a matter for benchmarks, not for a test.
  await page.addInitScript(() => {
    window.moved = new Promise((resolve) => {
      const seen = new Set();
      const look = () => {
        const text = document.querySelector('.clock-now')?.textContent;
        if (text) seen.add(text);
        if (seen.size >= 3) {
          resolve(seen.size);
        } else {
          requestAnimationFrame(look);
        }
      };
      requestAnimationFrame(look);
    });
  });
  await page.goto('/');
  expect(await page.evaluate(() => window.moved)).toBe(3);
});
