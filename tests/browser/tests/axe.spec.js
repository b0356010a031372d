import AxeBuilder from '@axe-core/playwright';
import { test, expect, openPaused, pasteJob } from './page.js';

const violations = async (page) => {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.map((n) => n.html.slice(0, 160)).join('\n  ')}`);
};

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1280, 320]) {
    test(`axe finds nothing: ${colorScheme}, ${width} px`, async ({ page }) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await openPaused(page);
      await page.locator('#inspector').getByRole('button', { name: 'Next' }).click();
      expect(await violations(page)).toEqual([]);
    });
  }

  test(`axe finds nothing with all knobs open, a bad job and the sheet of keys: ${colorScheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await openPaused(page);
    // With a request there is its way to open too.
    await page.keyboard.press('l');
    await expect(page.locator('#inspector-title')).toHaveText(/Request \d+/);
    for (const summary of await page.locator('summary').all()) await summary.click();
    await pasteJob(page, '[a]\nrw=sideways\n');
    await expect(page.locator('.gutter li.error')).toHaveText('2');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Keys' }).click();
    expect(await violations(page)).toEqual([]);
  });
}
