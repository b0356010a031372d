import { test as plain } from '@playwright/test';
import { test, expect, clock, open, openPaused } from './page.js';

const complete = (page) => expect(page.locator('#numbers')).toContainText('Both runs are complete.', { timeout: 45_000 });
const figures = (page) => page.locator('.card-figure .figure').allInnerTexts();
const parted = (page) => expect(page.locator('#twins .twin-head')).toContainText('then they part', { timeout: 45_000 });

/** Counts what workers say to the page. */
const listen = (page) =>
  page.addInitScript(() => {
    window.heard = 0;
    const Own = window.Worker;
    window.Worker = class extends Own {
      constructor(...all) {
        super(...all);
        this.addEventListener('message', ({ data }) => (window.heard += data instanceof Uint8Array ? 1 : 0));
      }
    };
  });

test('numbers and comparison come out of workers, and are those that the page itself computes', async ({ page, context }) => {
  await listen(page);
  await openPaused(page);
  await complete(page);
  await parted(page);
  expect(page.workers().map((worker) => new URL(worker.url()).pathname)).toEqual(['/worker.js', '/worker.js']);
  expect(await page.evaluate(() => window.heard)).toBeGreaterThanOrEqual(3);

  const alone = await context.newPage();
  await alone.addInitScript(() => delete window.Worker);
  await openPaused(alone);
  await complete(alone);
  await parted(alone);
  expect(alone.workers()).toEqual([]);
  expect(await figures(alone)).toEqual(await figures(page));
  expect(await alone.locator('#twins .twin-side').allInnerTexts()).toEqual(await page.locator('#twins .twin-side').allInnerTexts());
});

test('a changed policy gets its own numbers, not those of the order that it replaced', async ({ page }) => {
  await openPaused(page);
  const kernel = page.locator('#kernel');
  await page.locator('#when-start').check();
  // The second change comes while the run of the first is under way.
  await kernel.selectOption('6.1');
  await kernel.selectOption('5.4');
  await complete(page);
  const changed = await figures(page);
  await openPaused(page, new URL(page.url()).hash);
  await page.reload();
  await complete(page);
  expect(await figures(page)).toEqual(changed);
});

test('no worker computes while the page is hidden', async ({ page }) => {
  await listen(page);
  await page.addInitScript(() => {
    // A browser without a window to hide: the page is told what it would be told.
    window.hide = (hidden) => {
      for (const [name, value] of [['visibilityState', hidden ? 'hidden' : 'visible'], ['hidden', hidden]])
        Object.defineProperty(document, name, { configurable: true, get: () => value });
      document.dispatchEvent(new Event('visibilitychange'));
    };
  });
  await open(page);
  await complete(page);
  await page.evaluate(() => {
    window.hide(true);
    window.heard = 0;
  });
  await page.evaluate(() => {
    document.querySelector('#when-start').click();
    const knob = document.querySelector('#kernel');
    knob.value = '5.4';
    knob.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await page.waitForTimeout(1_000);
  expect(await page.evaluate(() => window.heard)).toBe(0);
  await page.evaluate(() => window.hide(false));
  await expect.poll(() => page.evaluate(() => window.heard), { timeout: 30_000 }).toBeGreaterThan(0);
});

// These two break something on purpose, so that the console has errors.
plain('where the worker cannot be loaded the page computes the numbers itself', async ({ page }) => {
  await page.route('**/worker.js', (route) => route.abort());
  await openPaused(page);
  await complete(page);
  await parted(page);
});

plain('a worker that stops at a defect costs its numbers, not the page', async ({ page }) => {
  // It starts, and dies of every order.
  await page.route('**/worker.js', (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: 'onmessage = ({ data }) => { if (data instanceof WebAssembly.Module) postMessage(null); else if (typeof data === "object") throw new Error("on purpose"); };',
    }),
  );
  await open(page, '#preset=seed-002');
  await expect(page.locator('.notices')).toContainText('stopped at a defect', { timeout: 20_000 });
  await expect(page.locator('#crash')).toBeEmpty();
  await expect(page.locator('#not-started')).toHaveCount(0);
  const before = await clock(page).innerText();
  await expect(clock(page)).not.toHaveText(before);
  expect(page.url()).toContain('preset=seed-002');
});
