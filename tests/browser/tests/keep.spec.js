import { readFileSync } from 'node:fs';
import { test, expect, button, clock, openPaused, pasteJob, words } from './page.js';

const save = async (page, name) => {
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, name).click()]);
  return readFileSync(await download.path());
};

test('a moment is kept with its note in the link, and leads back', async ({ page, context }) => {
  await openPaused(page, '#t=1.5ms');
  const moment = await clock(page).innerText();
  await page.getByRole('textbox', { name: 'Note' }).fill('50 % & more: here');
  await button(page, 'Keep this moment').click();
  await expect.poll(() => page.url()).toContain('mark=');
  const other = await context.newPage();
  await other.goto(page.url());
  await button(other, 'To the start').click();
  const mark = other.locator('.bookmark');
  await expect(mark).toContainText('50 % & more: here');
  await mark.getByRole('button').first().click();
  await expect(clock(other)).toHaveText(moment);
  await mark.getByRole('button', { name: /^Remove/ }).click();
  await expect(other.locator('.bookmark')).toHaveCount(0);
});

test('a scenario saved as a file is the same scenario when it is opened', async ({ page }) => {
  await openPaused(page, '#t=1.2ms&a=5.4&side=b');
  await pasteJob(page, '[own]\nioengine=libaio\ndirect=1\nrw=randread\niodepth=4\ntime_based\nruntime=9\n');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await button(page, 'Pause').click();
  await page.waitForTimeout(300);
  const before = await words(page);
  const file = await save(page, 'Scenario');
  expect(file.toString().startsWith('mqscope 1\n')).toBe(true);
  await page.goto('about:blank');
  await openPaused(page);
  await page.locator('#keep input[type=file]').setInputFiles({ name: 's.txt', mimeType: 'text/plain', buffer: file });
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your own job');
  await expect.poll(async () => (await words(page)).clock).toBe(before.clock);
});

test('a file that is no scenario is refused in words', async ({ page }) => {
  await openPaused(page);
  for (const [text, said] of [['[global]\nrw=read\n', /fio job/], ['', /empty/], ['x'.repeat(300 * 1024), /at most/]]) {
    await page.locator('#keep input[type=file]').setInputFiles({ name: 's.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
    await expect(page.locator('.notices')).toContainText(said);
  }
});

test('numbers and pictures are saved', async ({ page }) => {
  await openPaused(page);
  await expect(page.locator('#numbers')).toContainText('Both runs are complete.', { timeout: 45_000 });
  const csv = (await save(page, 'Numbers (CSV)')).toString().trim().split('\n');
  expect(csv[0]).toBe('policy,name,quantity,unit,value');
  expect(csv.filter((line) => line.startsWith('A,')).length).toBe(csv.filter((line) => line.startsWith('B,')).length);
  const shell = (await save(page, 'Settings (shell)')).toString();
  expect(shell).toContain('echo none > /sys/block/sdb/queue/scheduler');
  const png = await save(page, 'Stage (PNG)');
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  const svg = (await save(page, 'Stage (SVG)')).toString();
  expect(svg).toMatch(/^<svg [^]*<title>[^]*<\/svg>$/);
  const sound = await page.evaluate((text) => !new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror'), svg);
  expect(sound).toBe(true);
});
