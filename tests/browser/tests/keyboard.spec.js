import { test, expect, clock, open, openPaused, pauseButton, playButton, words } from './page.js';

test('everything in time goes by keys alone', async ({ page }) => {
  await open(page);
  await page.keyboard.press('Space');
  await expect(playButton(page)).toBeVisible();
  await page.keyboard.press('.');
  const before = await words(page);
  await page.keyboard.press('.');
  await expect.poll(() => words(page)).not.toEqual(before);
  await page.keyboard.press(',');
  await expect.poll(() => words(page)).toEqual(before);
  await page.keyboard.press('n');
  await expect(page.locator('#inspector-title')).toHaveText(/Request \d+/);
  await page.keyboard.press('s');
  await expect(clock(page)).not.toHaveText(before.clock);
  await page.keyboard.press('Escape');
  await expect(page.locator('#inspector-title')).toHaveText('Request');
  await page.keyboard.press('b');
  await expect(page.locator('#policy-title')).toContainText('B');
  await page.keyboard.press('Home');
  await expect(clock(page)).toHaveText(/^0\.000\s000\sms/);
  await page.keyboard.press('Space');
  await expect(pauseButton(page)).toBeVisible();
});

test('the sheet of keys opens, closes, and gives the focus back', async ({ page }) => {
  await openPaused(page);
  const keys = page.getByRole('button', { name: 'Keys' });
  await keys.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeHidden();
  await expect(keys).toBeFocused();
});

test('a policy is changed and a job is run by keys alone', async ({ page }) => {
  await openPaused(page);
  await page.getByRole('combobox', { name: 'Kernel' }).focus();
  await page.keyboard.type('6.1');
  await expect(page.getByRole('combobox', { name: 'Kernel' })).toHaveValue(/^6\.1/);
  await page.getByRole('textbox', { name: 'Job text' }).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('[k]\nfilename=/dev/nvme0n1\ndirect=1\nrw=randread\n');
  const run = page.getByRole('button', { name: 'Run', exact: true });
  await expect(run).toBeEnabled();
  // Out of the text area with Tab: it is no trap.
  for (let i = 0; i < 8 && !(await run.evaluate((e) => e === document.activeElement)); i++) {
    await page.keyboard.press('Tab');
  }
  await expect(run).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your own job');
});

test('the tab key reaches every control in order, and the focus is always seen', async ({ page }) => {
  // A click would be where the tab key goes on from.
  await open(page);
  const seen = [];
  for (let i = 0; i < 200; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      const style = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      const shadow = style.boxShadow !== 'none';
      const outline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
      return {
        name: e.getAttribute('aria-label') || e.id || e.textContent.trim().slice(0, 40) || e.tagName,
        visible: (outline || shadow) && box.width > 0 && box.height > 0,
        onScreen: box.bottom > 0 && box.top < innerHeight,
        clip: { x: Math.max(box.x - 12, 0), y: Math.max(box.y - 12, 0), width: box.width + 24, height: box.height + 24 },
      };
    });
    if (!at) break;
    // Where the mark of focus is on a neighbour or a pseudo-element, the picture tells.
    if (!at.visible && at.clip.width > 24) {
      const focused = await page.screenshot({ clip: at.clip });
      const refocus = await page.evaluateHandle(() => document.activeElement);
      await refocus.evaluate((e) => e.blur());
      at.visible = !focused.equals(await page.screenshot({ clip: at.clip }));
      await refocus.evaluate((e) => e.focus());
    }
    seen.push(at);
  }
  expect(seen[0].name).toBe('Skip to the stage');
  expect(seen.filter((at) => !at.visible || !at.onScreen)).toEqual([]);
  const names = seen.map((at) => at.name).join('\n');
  for (const part of ['preset', 'Playhead', 'One event on', 'speed', 'kernel', 'depth', 'job', 'machine']) {
    expect(names).toContain(part);
  }
});

test('the parts of the stage are one stop; arrows go from part to part, Enter selects in it', async ({ page }) => {
  await openPaused(page);
  const parts = page.getByRole('group', { name: /^Parts of the stage/ }).getByRole('button');
  expect(await parts.evaluateAll((all) => all.filter((e) => e.tabIndex === 0).length)).toBe(1);
  await parts.first().focus();
  await page.keyboard.press('ArrowRight');
  await expect(parts.nth(1)).toBeFocused();
  await expect(page.locator('.stage-part')).toContainText('CPU 18');
  const device = page.getByRole('button', { name: /^sdb\. Device sdb/ });
  await device.focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('#inspector-title')).toHaveText(/Request \d+/);
});

test('l takes the slowest request, and where most of its time went is said at once', async ({ page }) => {
  await openPaused(page, '#t=5ms&paused=1');
  await page.keyboard.press('l');
  await expect(page.locator('#inspector-title')).toHaveText(/Request \d+/);
  await expect(page.locator('#inspector')).toContainText(/Longest step: [\d.]+\s(ns|µs|ms) of/);
  await expect(page.locator('#inspector')).toBeInViewport();
});
