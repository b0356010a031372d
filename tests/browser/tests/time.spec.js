import { test, expect, button, clock, openPaused, open, pauseButton, playButton, words } from './page.js';

test('pause stops the clock, play lets it go on', async ({ page }) => {
  await open(page);
  await pauseButton(page).click();
  const stopped = await clock(page).innerText();
  await page.waitForTimeout(500);
  expect(await clock(page).innerText()).toBe(stopped);
  await playButton(page).click();
  await expect(clock(page)).not.toHaveText(stopped);
});

test('one event on, and one back, is the same moment', async ({ page }) => {
  await openPaused(page);
  // From an event on: the page may have stopped between two.
  await button(page, 'One event on').click();
  const before = await words(page);
  await button(page, 'One event on').click();
  await expect.poll(() => words(page)).not.toEqual(before);
  await button(page, 'One event back').click();
  await expect.poll(() => words(page)).toEqual(before);
});

test('many steps back go past a checkpoint and lead forward again', async ({ page }) => {
  await openPaused(page);
  await button(page, 'One event on').click();
  const before = await words(page);
  for (let i = 0; i < 25; i++) await button(page, 'One event back').click();
  await expect(clock(page)).not.toHaveText(before.clock);
  for (let i = 0; i < 25; i++) await button(page, 'One event on').click();
  await expect.poll(() => words(page)).toEqual(before);
});

test('the playhead goes to the start, to the end and in between', async ({ page }) => {
  await openPaused(page);
  await button(page, 'To the start').click();
  await expect(clock(page)).toHaveText(/^0\.000\s000\sms/);
  const playhead = page.getByRole('slider', { name: 'Playhead' });
  await playhead.fill('5000');
  await expect(clock(page)).toHaveText(/^25\.\d\d\d\s\d\d\d\sms/);
  await button(page, 'To the end').click();
  await expect(clock(page)).toHaveText(/^(49\.999|50\.000)/, { timeout: 30_000 });
});

test('the next mark is waited for while the run is explored: marks end only where the run does', async ({ page }) => {
  await openPaused(page, '#preset=deadline-lock&duration=8ms&t=0&paused=1');
  const status = async () => (await page.getByRole('status').allInnerTexts()).join(' ');
  await expect
    .poll(
      async () => {
        for (let n = 0; n < 25; n++) await page.keyboard.press(']');
        return status();
      },
      { timeout: 45_000, intervals: [0] },
    )
    .toContain('There is no mark after this moment.');
  await expect(page.locator('.clock-end')).toHaveText(/of 8\sms$/);
  // CPUs queue for dd->lock in every part of this run, also in the last one.
  await expect(clock(page)).toHaveText(/^7\.9/);
});

test('the end is the end of the run, also of one that ends before its planned time', async ({ page }) => {
  await openPaused(page, '#preset=plug-merge&t=0&paused=1');
  await button(page, 'To the end').click();
  const share = () => page.getByRole('slider', { name: 'Playhead' }).inputValue();
  await expect.poll(share).toBe('10000');
  await expect(page.locator('.clock-end')).not.toContainText('on the way');
});

test('the speed runs from nanoseconds to seconds a second', async ({ page }) => {
  await openPaused(page);
  const speed = page.getByRole('slider', { name: 'Speed' });
  await speed.fill('0');
  await expect(page.locator('output[for=speed]')).toHaveText(/= \d+\sns$/);
  await speed.fill(await speed.getAttribute('max'));
  await expect(page.locator('output[for=speed]')).toHaveText(/= 1\ss$/);
});

test('a selected request is followed stage by stage', async ({ page }) => {
  await openPaused(page);
  await page.locator('#inspector').getByRole('button', { name: 'Next' }).click();
  await expect(page.locator('#inspector-title')).toHaveText(/Request \d+/);
  const title = await page.locator('#inspector-title').innerText();
  const story = page.getByRole('list', { name: 'Its way so far' });
  const lines = await story.getByRole('listitem').count();
  await button(page, 'To the next stage of the selected request').click();
  await expect(page.locator('#inspector-title')).toHaveText(title);
  await expect.poll(() => story.getByRole('listitem').count()).toBeGreaterThan(lines);
});

test('it plays by event as well, at a rate of its own that the link keeps', async ({ page }) => {
  await open(page, '#preset=seed-003&t=1s');
  await page.getByRole('switch', { name: 'By event' }).check();
  await expect(page.locator('output[for=speed]')).toContainText('events/s');
  await page.locator('#title').click();
  await page.keyboard.press('ArrowUp');
  await expect(page.locator('output[for=speed]')).toContainText('12');
  const before = await clock(page).innerText();
  await expect(clock(page)).not.toHaveText(before);
  await expect.poll(() => page.url()).toContain('events=12');
  const address = page.url();
  await page.goto('about:blank');
  await open(page, address.slice(address.indexOf('#')));
  await expect(page.getByRole('switch', { name: 'By event' })).toBeChecked();
});
