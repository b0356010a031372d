import { test, expect } from './page.js';

// A loaded machine may miss the second once; a page that needs longer misses it every time.
test.describe.configure({ retries: 2 });

test('the page is alive within a second of load, without a click', async ({ page }) => {
  // Measured inside the page: the clock of the playhead must have moved on a second after the load event.
  await page.addInitScript(() => {
    window.moved = new Promise((resolve) => {
      const start = performance.now();
      const seen = new Set();
      const look = () => {
        const text = document.querySelector('.clock-now')?.textContent;
        if (text) seen.add(text);
        if (seen.size >= 3) {
          const loaded = performance.getEntriesByType('navigation')[0].loadEventEnd || start;
          resolve(performance.now() - loaded);
        } else {
          requestAnimationFrame(look);
        }
      };
      requestAnimationFrame(look);
    });
  });
  await page.goto('/');
  const ms = await page.evaluate(() => window.moved);
  expect(ms).toBeLessThan(1000);
});
