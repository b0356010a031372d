import { test, expect, button, clock, openPaused, open } from './page.js';

const asked = { timeout: 45_000 };

/** Asks for the selected request and waits for all twins. */
async function ask(page) {
  await button(page, 'Ask the twin').click();
  const box = page.locator('#what-if');
  await expect(box).toContainText(/As it is, the application waits .*[0-9].*\./, asked);
  await expect(box).not.toContainText('More twins run', asked);
  return box;
}

test('a request names whom it waited for, and twins measure its latency without each', async ({ page }) => {
  await openPaused(page, '#preset=seed-000&t=1.2ms&paused=1');
  await page.keyboard.press('n');
  const box = await ask(page);
  // btt's phases, then what it met, by name; general causes follow.
  await expect(box.locator('.panel-note')).toContainText(/Q2G .*D2C .*after C/);
  const met = box.locator('tbody').first();
  await expect(met.locator('tr').first()).toContainText('as it is');
  const culprits = met.locator('tr', { has: page.locator('th .cell-note') });
  await expect(culprits.first().locator('th .cell-note')).toContainText(/^(before Q|Q2G|G2I|G2D|I2D|D2C|after C): .*[0-9]/);
  await expect(culprits.filter({ hasText: /a disk like sd., at rest/ })).toHaveCount(1);
  const general = box.locator('tbody').nth(1);
  await expect(general).toContainText('if cache lines moved between CPUs at once');
  await expect(general.locator('th .cell-note')).toHaveCount(0);
  await expect(box).toContainText('%');
});

test('a bar is as long as its number, and no screen reader hears of it', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=1ms&paused=1');
  await page.keyboard.press('n');
  const box = await ask(page);
  const unit = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  const rows = await box.locator('tbody tr', { has: page.locator('.cell-bar') }).evaluateAll((rows) =>
    rows.map((row) => ({
      text: row.cells[1].firstChild.textContent,
      part: Number.parseFloat(row.querySelector('.cell-bar').style.getPropertyValue('--part')),
      hidden: row.querySelector('.cell-bar').getAttribute('aria-hidden'),
    })),
  );
  expect(rows.length).toBeGreaterThan(6);
  const ns = rows.map(({ text }) => {
    const [, n, u] = /([\d.]+)\s(\S+)/u.exec(text);
    return Number(n) * unit[u];
  });
  const longest = Math.max(...ns);
  rows.forEach((row, i) => expect(Math.abs(row.part - (ns[i] / longest) * 100)).toBeLessThan(1));
  expect(rows.every((row) => row.hidden === 'true')).toBe(true);
});

test('a request that the run leaves under way says so, and what to do', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=1ms&paused=1');
  await page.keyboard.press('End');
  // The way to the end takes a while, in which other requests are under way.
  await expect(async () => {
    await page.keyboard.press('n');
    await button(page, 'Ask the twin').click();
    const words = /The run is over before .* Ask for an earlier request/;
    await expect(page.locator('#what-if')).toContainText(words, { timeout: 3_000 });
  }).toPass(asked);
  await expect(page.locator('#what-if table')).toBeHidden();
});

test('a lock is asked in the table: who holds it, who waits, which request; keys lead to it and back', async ({ page }) => {
  await openPaused(page, '#preset=seed-000&t=2ms&paused=1');
  const table = page.locator('#contention');
  await table.locator('tbody button').first().waitFor(asked);
  // The names are no stops of the Tab key; arrows lead to them.
  await table.getByRole('group', { name: 'Table of locks and lines' }).focus();
  await page.keyboard.press('ArrowDown');
  const focused = table.locator('tbody button:focus');
  await expect(focused).toHaveCount(1);
  const name = await focused.innerText();
  // Its numbers grow, and it may come to stand elsewhere: the focus stays with it.
  const numbers = await table.locator('tbody').innerText();
  const complete = page.locator('#numbers').getByText('Both runs are complete.');
  await expect(async () => {
    const grown = (await table.locator('tbody').innerText()) !== numbers;
    expect(grown || (await complete.first().isVisible())).toBe(true);
  }).toPass(asked);
  await expect(focused).toHaveText(name);
  await page.keyboard.press('Enter');
  const answer = page.locator('#answer');
  await expect(answer).toBeVisible();
  await expect(table.locator('tbody button[aria-pressed="true"]')).toHaveText(name);
  await expect(page.locator('#why-title')).toBeFocused();
  await expect(answer).toContainText(name.split(/[([]/)[0].trim());
  await expect(answer).toContainText(/(has held it for|had it last|wrote it last)/);
  await expect(answer).toContainText(/So far it was (taken|fetched from another CPU) .* had to wait/);
  const request = answer.getByRole('button', { name: /^Why request \d+$/ }).first();
  const rq = /\d+/.exec(await request.innerText())[0];
  await request.click();
  await expect(page.locator('#inspector-title')).toHaveText(`Request ${rq}`);
  await expect(page.locator('#what-if')).toContainText(/As it is, the application waits/, asked);
  await button(page, 'Close the answer').click();
  await expect(answer).toBeHidden();
  await expect(page.locator('#inspector-title')).toBeFocused();
});

test('a part of the stage that holds no request is asked itself', async ({ page }) => {
  await openPaused(page, '#preset=seed-000&t=2ms&paused=1');
  const lock = page.locator('.stage-parts button[aria-label*="shared cache line"]').first();
  await lock.focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('#answer')).toContainText(/Its line|CPU \d+|Nobody/);
  await lock.focus();
  await expect(button(page, 'Ask why')).toBeVisible();
});

test('an idle CPU says what its task sleeps for, and leads to that request', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=1060us&paused=1');
  const cpus = page.locator('#cpus');
  await cpus.scrollIntoViewIfNeeded();
  await cpus.getByText('The same as a table').click();
  const row = cpus.locator('tbody tr').first().getByRole('button');
  await row.focus();
  await page.keyboard.press('Enter');
  const answer = page.locator('#answer');
  await expect(page.locator('#why-title')).toHaveText('Why is CPU 0 idle?');
  await expect(answer).toContainText(/has slept for .* the oldest is request \d+/);
  const request = answer.getByRole('button', { name: /^Why request/ });
  const rq = /\d+/.exec(await request.innerText())[0];
  await request.click();
  await expect(page.locator('#inspector-title')).toHaveText(`Request ${rq}`);
});

test('a point of a chart moves to its slowest I/O and asks it why', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=1ms&paused=1');
  const figure = page.locator('figure', { has: page.locator('#chart-over') });
  await figure.scrollIntoViewIfNeeded();
  await figure.getByText('The same as a table').click();
  const point = figure.locator('tbody tr').nth(4).getByRole('button');
  await point.waitFor(asked);
  const before = await clock(page).innerText();
  await point.click();
  const answer = page.locator('#answer');
  await expect(answer).toContainText(/Of .* I\/Os that ended there the slowest took .* request \d+/, asked);
  const rq = /request (\d+)/.exec(await answer.innerText())[1];
  await expect(page.locator('#inspector-title')).toHaveText(`Request ${rq}`);
  await expect(clock(page)).not.toHaveText(before);
  await expect(page.locator('#what-if')).toContainText(/As it is, the application waits/, asked);
});

test('answers fit a page of 320 px', async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 800 });
  await openPaused(page, '#preset=seed-000&t=1.2ms&paused=1');
  await page.keyboard.press('n');
  await ask(page);
  await page.locator('#contention tbody button').first().click();
  await expect(page.locator('#answer')).toBeVisible();
  for (const id of ['#what-if', '#answer']) {
    const over = await page.locator(id).evaluate((e) => e.scrollWidth - e.clientWidth);
    expect(over, id).toBeLessThanOrEqual(0);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
});

test('marks are reached by keys, in both directions', async ({ page }) => {
  await openPaused(page, '#t=0ns');
  await page.waitForTimeout(1500);
  const start = await clock(page).innerText();
  await page.keyboard.press(']');
  await expect(clock(page)).not.toHaveText(start);
  const first = await clock(page).innerText();
  await page.keyboard.press(']');
  await expect(clock(page)).not.toHaveText(first);
  await page.keyboard.press('[');
  await expect(clock(page)).toHaveText(first);
});

test('an invariant broken on purpose turns its lamp red at the event that broke it, and can be mended', async ({ page }) => {
  await openPaused(page, '#t=0ns');
  const lamp = page.locator('.lamp', { hasText: 'Every driver tag that is taken' });
  await expect(lamp).toContainText('Holds.');
  await lamp.getByRole('button', { name: 'Break it once' }).click();
  await button(page, 'To the start').click();
  await expect(lamp).toContainText('Holds.');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('slider', { name: 'Playhead' }).fill('500');
  await expect(lamp).toContainText(/Broken at .*/);
  await expect(lamp).toHaveClass(/broken/);
  await lamp.getByRole('button', { name: 'Mend it' }).click();
  await expect(lamp).toContainText('Holds.');
});

test('laws name a bottleneck for both policies', async ({ page }) => {
  await openPaused(page);
  const rows = page.locator('#laws tbody tr');
  await expect(rows.last()).toContainText('the CPUs', { timeout: 45_000 });
  await expect(rows.first()).toContainText(/\d+ = \d+/);
});

test('the kernel time machine changes the rules while the same load runs on', async ({ page }) => {
  await openPaused(page, '#t=1ms');
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  const before = await clock(page).innerText();
  const machine = page.getByRole('slider', { name: /Kernel time machine/ });
  await machine.focus();
  await machine.press('End');
  await expect(page.getByRole('combobox', { name: 'Kernel', exact: true })).toHaveValue('7.0');
  await expect(clock(page)).toHaveText(before);
  await expect(page.locator('.timeline .mark-change')).toHaveCount(1);
});

test('the tour has five stops, marks each place, can be left and begun again', async ({ page }) => {
  await open(page);
  const tour = page.getByRole('region', { name: 'Tour' });
  await button(page, 'Tour').click();
  for (let stop = 1; stop <= 5; stop++) {
    await expect(tour).toContainText(`Stop ${stop} of 5`);
    await expect(page.locator('.tour-at')).toHaveCount(1);
    await tour.getByRole('button', { name: stop < 5 ? 'Next stop' : 'Done' }).click();
  }
  await expect(tour).toBeHidden();
  await expect(page.locator('.tour-at')).toHaveCount(0);
  await button(page, 'Tour').click();
  await page.keyboard.press('Escape');
  await expect(tour).toBeHidden();
});

test('a presenter has large type, and a clicker steps', async ({ page }) => {
  await openPaused(page);
  const size = () => page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize));
  const usual = await size();
  await page.keyboard.press('p');
  expect(await size()).toBeGreaterThan(usual * 1.3);
  const before = await clock(page).innerText();
  await page.keyboard.press('PageDown');
  await expect(clock(page)).not.toHaveText(before);
  await page.keyboard.press('PageUp');
  await page.keyboard.press('p');
  expect(await size()).toBe(usual);
});
