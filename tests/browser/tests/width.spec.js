import { test, expect, button, open, openPaused } from './page.js';

for (const [width, height] of [[320, 640], [768, 1024], [1920, 1080], [3840, 2160]]) {
  test(`at ${width} px nothing is cut off and everything works`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    await openPaused(page);
    const inner = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(inner).toBeLessThanOrEqual(width);
    // What sticks out would be cut off or scroll sideways; tables may scroll inside themselves.
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll('button, input, select, textarea, h1, h2, p, canvas')]
        .filter((e) => e.getClientRects().length > 0 && !e.closest('[tabindex="0"]') && !e.closest('.gutter'))
        .filter((e) => !e.closest('.hidden-text') && !e.classList.contains('hidden-text') && !e.classList.contains('part'))
        .filter((e) => {
          const box = e.getBoundingClientRect();
          return box.width > 1 && (box.left < -1 || box.right > innerWidth + 1);
        })
        .map((e) => e.outerHTML.slice(0, 120)),
    );
    expect(outside).toEqual([]);
    const before = await page.locator('.clock-now').innerText();
    await button(page, 'To the start').click();
    await expect(page.locator('.clock-now')).not.toHaveText(before);
  });
}

test('the canvas is as sharp as the screen', async ({ browser }) => {
  const context = await browser.newContext({ deviceScaleFactor: 2, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await open(page);
  for (const canvas of await page.locator('canvas').all()) {
    const ratio = await canvas.evaluate((c) => c.width / c.getBoundingClientRect().width);
    expect(ratio).toBeCloseTo(2, 1);
  }
  await context.close();
});

test('targets are large enough for a finger at 320 px', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await openPaused(page);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('.transport button, .transport input')]
      .map((e) => [e.getAttribute('aria-label') || e.textContent, e.getBoundingClientRect()])
      .filter(([, box]) => box.width < 24 || box.height < 24)
      .map(([name]) => name),
  );
  expect(small).toEqual([]);
});
