import AxeBuilder from '@axe-core/playwright';
import { test, expect, open } from './page.js';

/** Numbers that look random and are the same in every run. */
const sequence = (seed) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};

const KEYS = [' ', '.', ',', 's', 'n', 'w', 'm', 't', 'a', 'b', '[', ']', 'p', '?', 'Escape', 'ArrowLeft', 'ArrowRight', 'ArrowUp',
  'ArrowDown', 'Home', 'End', 'Tab', 'Enter', 'PageDown', 'PageUp'];

/** One of what can be pressed, changed or written into; files and what leaves the page are left alone. */
const touch = (page, at) =>
  page.evaluate((at) => {
    const open = document.querySelector('dialog[open]');
    const all = [...(open ?? document).querySelectorAll('button, select, summary, input:not([type=file]), textarea')];
    const usable = all.filter((e) => !e.disabled && e.offsetParent !== null && !/\((CSV|PNG|SVG)\)|^Scenario$/.test(e.textContent.trim()));
    const element = usable[Math.floor(at * usable.length)];
    if (!element) return;
    const change = (value) => {
      element.value = value;
      element.dispatchEvent(new Event('input', { bubbles: true }));
      element.dispatchEvent(new Event('change', { bubbles: true }));
    };
    const part = (at * 7919) % 1;
    if (element.tagName === 'SELECT') change(element.options[Math.floor(part * element.options.length)].value);
    else if (element.type === 'range') change(String(Math.round(element.min * (1 - part) + element.max * part)));
    else if (element.tagName === 'TEXTAREA' || element.type === 'text' || element.type === 'number') change(['', '7', '-1', 'x=\u0000', '64'][Math.floor(part * 5)]);
    else element.click();
  }, at);

for (const seed of [1, 2]) {
  test(`after a few hundred random interactions the page works and axe finds nothing (${seed})`, async ({ page }) => {
    test.setTimeout(300_000);
    const random = sequence(seed);
    await open(page);
    for (let i = 0; i < 200; i++) {
      if (random() < 0.5) await page.keyboard.press(KEYS[Math.floor(random() * KEYS.length)]);
      else await touch(page, random());
    }
    await page.waitForTimeout(500);
    await expect(page.locator('#crash')).toBeEmpty();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect(page.getByRole('heading', { level: 1 })).not.toBeEmpty();
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(', ')}`)).toEqual([]);
    await page.locator('#title').waitFor();
  });
}
