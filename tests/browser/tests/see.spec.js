// What there is to see beside the stage: strips of CPUs, requests over time, charts, events.
import { test, expect, button, card, clock, openPaused } from './page.js';

const numbers = (cells) => cells.map((text) => Number.parseFloat(text.replace(/[^\d.]/g, '')));

test('the strips of CPUs are the table below them, and a row adds up to all the time', async ({ page }) => {
  await openPaused(page, '#preset=seed-000&t=2ms&paused=1');
  const cpus = page.locator('#cpus');
  await cpus.scrollIntoViewIfNeeded();
  await expect(cpus).toContainText('64 of 72 CPUs idle all the time');
  await expect(cpus.getByRole('img')).toHaveAccessibleName(/^A strip for each of 8 CPUs/);
  await cpus.getByText('The same as a table').click();
  await expect(cpus.locator('tbody tr')).toHaveCount(72);
  const row = numbers(await cpus.locator('tbody tr').nth(20).locator('td').allInnerTexts());
  expect(row).toHaveLength(6);
  // Each is rounded to a percent.
  expect(Math.abs(row.reduce((a, b) => a + b) - 100)).toBeLessThan(3);
});

test('a request is selected in the table, keeps the focus, and the table can be sorted', async ({ page }) => {
  await openPaused(page, '#preset=seed-000&t=2ms&paused=1');
  const table = page.locator('#spacetime');
  await table.scrollIntoViewIfNeeded();
  const third = table.locator('tbody tr').nth(2).getByRole('button');
  const rq = await third.innerText();
  await third.click();
  await expect(third).toHaveAttribute('aria-pressed', 'true');
  await expect(third).toBeFocused();
  await expect(page.locator('#inspector-title')).toHaveText(`Request ${rq}`);
  await expect(table.locator('tbody tr').nth(2)).toContainText(/Q/);
  // The rows are no stops of the Tab key; arrows go from one to the next.
  await page.keyboard.press('ArrowDown');
  await expect(table.locator('tbody tr').nth(3).getByRole('button')).toBeFocused();
  const time = table.getByRole('columnheader', { name: /^Time/ });
  await time.getByRole('button').click();
  await expect(time).toHaveAttribute('aria-sort', 'ascending');
  await time.getByRole('button').click();
  await expect(time).toHaveAttribute('aria-sort', 'descending');
  const unit = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  const spans = (await table.locator('tbody tr td:nth-child(3)').allInnerTexts()).map((text) => {
    const [, n, u] = /([\d.]+)\s(\S+)/u.exec(text);
    return Number(n) * unit[u];
  });
  expect(spans.length).toBeGreaterThan(20);
  expect(spans).toEqual([...spans].sort((a, b) => b - a));
});

test('every chart has its numbers in a table', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=1ms&paused=1');
  for (const id of ['chart-over', 'chart-latency']) {
    const figure = page.locator('figure', { has: page.locator(`#${id}`) });
    await figure.scrollIntoViewIfNeeded();
    await figure.getByText('The same as a table').click();
    const choice = page.locator(`#${id}`);
    for (const name of await choice.locator('option').allInnerTexts()) {
      await choice.selectOption(name);
      // Nothing of this job is buffered.
      const rows = figure.locator('tbody tr');
      if (name.startsWith('Dirty')) await expect(rows).toHaveCount(0);
      else await expect.poll(() => rows.count(), { message: name }).toBeGreaterThan(2);
    }
  }
});

test('events can be narrowed to a kind and to a request, and taken along as blkparse prints them', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await openPaused(page, '#preset=plug-merge&t=200us&paused=1');
  const log = page.locator('#log');
  const rows = log.locator('tbody tr');
  await page.getByLabel('Kind of events').selectOption('Locks and shared lines');
  await expect(rows.first()).toBeVisible();
  for (const letter of (await rows.locator('.letter').allInnerTexts()).slice(0, -1)) expect(letter).toBe('');
  await page.getByLabel('Kind of events').selectOption("blktrace's events");
  const of = rows.filter({ hasText: /request \d+ is complete/ }).first().getByRole('button');
  const rq = /\d+/.exec(await of.innerText())[0];
  await of.click();
  await page.getByLabel('Only the selected request').check();
  for (const text of await rows.allInnerTexts()) expect(text).toMatch(new RegExp(`(request ${rq}\\b|bio \\d+)`));
  const shown = await rows.count();
  await button(page, 'Copy for blkparse: the events that it has letters for, in its form').click();
  await expect(log).toContainText(`${shown} lines copied`);
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split('\n');
  expect(lines).toHaveLength(shown);
  for (const line of lines) expect(line).toMatch(/^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Z]+\s/);
});

test('what a device is at is said in words', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=1ms&paused=1');
  await page.getByRole('button', { name: /^nvme0n1\. Device/ }).focus();
  await expect(page.locator('.stage-part')).toContainText(/dies read, .* channels busy; write buffer .* full/);
});

test('the table of requests prints by itself', async ({ page }) => {
  await openPaused(page, '#preset=seed-000&t=2ms&paused=1');
  await page.locator('#spacetime').scrollIntoViewIfNeeded();
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => document.documentElement.setAttribute('data-print', 'spacetime'));
  await expect(page.locator('#spacetime tbody tr').last()).toBeVisible();
  await expect(page.locator('#stage')).toBeHidden();
  await expect(page.locator('#numbers')).toBeHidden();
  const scrolls = await page.locator('#spacetime .scroll').evaluate((e) => e.scrollHeight > e.clientHeight + 1);
  expect(scrolls).toBe(false);
});

test('the panel of CPUs looks closer and wider, says what each width shows, and a click sets the playhead', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=5ms&paused=1');
  const cpus = page.locator('#cpus');
  await cpus.scrollIntoViewIfNeeded();
  const [closer, wider] = ['Closer to the playhead', 'Wider'].map((name) => cpus.getByRole('button', { name }));
  const said = cpus.locator('.zoom-words');
  await expect(said.first()).toBeEmpty();
  // Down to 200 ns, where the button ends and keeps the focus.
  const press = async (button, most) => {
    for (let n = 0; n < most && (await button.getAttribute('aria-disabled')) !== 'true'; n++) await button.click();
  };
  await press(closer, 20);
  await expect(closer).toBeDisabled();
  await expect(wider).toBeEnabled();
  await expect(said.first()).toContainText(/^200\sns around the playhead: kernel functions by name/u);
  await expect(said.last()).toContainText('In view:');
  await expect(closer).toBeFocused();
  await expect(cpus.getByRole('img')).toHaveAccessibleName(/kernel functions by name/);
  await cpus.getByText('The same as a table').click();
  await expect(cpus.locator('tbody tr').first()).toContainText('ns');
  // Keys work while the focus is in the panel.
  await wider.focus();
  for (let n = 0; n < 5; n++) await page.keyboard.press('-');
  await expect(said.first()).toContainText(/^50\sµs around the playhead: doorbells/u);
  await expect(said.last()).toContainText(/\d+ doorbells; \d+ interrupts/);
  // The right edge is later than the playhead.
  const before = await clock(page).innerText();
  const box = await cpus.locator('.zoom canvas').boundingBox();
  await cpus.locator('.zoom canvas').click({ position: { x: box.width - 5, y: 10 } });
  await expect(clock(page)).not.toHaveText(before);
  await expect(clock(page)).toHaveText(/^5\.03/);
  for (let n = 0; n < 3; n++) await wider.click();
  await expect(said.last()).toContainText('dies at work');
  await press(wider, 20);
  await expect(wider).toBeDisabled();
  await expect(said.first()).toContainText(/^The whole run, 20\sms: heat: shares of CPU time and I\/Os/u);
  // The width is in the link.
  await expect.poll(() => page.url(), { timeout: 5_000 }).toMatch(/zoom=(19999\d+ns|20ms)/);
  const address = page.url().replace(/zoom=\w+/, 'zoom=5us');
  await page.goto('about:blank');
  await page.goto(address);
  await cpus.scrollIntoViewIfNeeded();
  await expect(said.first()).toContainText(/^5\sµs around the playhead/u);
  await cpus.getByRole('button', { name: 'The last part of the run' }).click();
  await expect(said.first()).toBeEmpty();
  await expect(cpus).toContainText('The last 200');
});

test('marks of the timeline are named below it, and the keys reach them', async ({ page }) => {
  await openPaused(page, '#preset=dsync-journal&t=0&paused=1');
  const legend = page.getByRole('list', { name: 'Marks of the timeline' });
  await expect(card(page, 'B')).toHaveAccessibleName(/bfq/);
  await card(page, 'B').check();
  await expect(legend).toContainText('bfq idles for a task while others wait', { timeout: 30_000 });
  // Each press goes to the next mark; one of them is of this kind.
  await expect
    .poll(
      async () => {
        await page.keyboard.press(']');
        return (await page.getByRole('status').allInnerTexts()).join(' ');
      },
      { timeout: 30_000 },
    )
    .toMatch(/ms: bfq idles for a task while others wait/);
});
