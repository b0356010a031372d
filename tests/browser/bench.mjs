// How fast the page is in Chromium: `cargo xtask bench --browser` calls it with the folder of the built page.
// Prints a table in Markdown. Times of a shared machine are noisy; the ratio of the two throttlings is not.
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { chromium } from '@playwright/test';

const dist = process.argv[2] ?? '../../dist';
const FRAMES = 600;
const port = 20000 + Math.floor(Math.random() * 20000);

/** Bytes of everything that a visit loads, compressed. */
const bytes = () => {
  const files = (folder) =>
    readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? files(path) : [path];
    });
  const loaded = files(dist).filter((path) => /\.(html|css|js|wasm|svg|webmanifest)$/.test(path) && !/embed-example/.test(path));
  const sizes = loaded.map((path) => [path, brotliCompressSync(readFileSync(path)).length]);
  const wasm = sizes.filter(([path]) => path.endsWith('.wasm')).reduce((sum, [, size]) => sum + size, 0);
  return { all: sizes.reduce((sum, [, size]) => sum + size, 0), wasm };
};

const percentile = (list, percent) => {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] : NaN;
};

/** Counts what each animation frame's scripts take, long tasks and slow interactions. */
const watch = () => {
  const seen = { frames: [], tasks: [], events: [] };
  window.seen = seen;
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) =>
    ask((time) => {
      const start = performance.now();
      callback(time);
      seen.frames.push(performance.now() - start);
    });
  const observe = (type, list, options) =>
    new PerformanceObserver((entries) => entries.getEntries().forEach((e) => list.push(e.duration))).observe({ type, buffered: true, ...options });
  observe('longtask', seen.tasks);
  observe('event', seen.events, { durationThreshold: 16 });
};

const measure = async (browser, rate) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(watch);
  const client = await page.context().newCDPSession(page);
  await client.send('Emulation.setCPUThrottlingRate', { rate });
  const start = Date.now();
  await page.goto(`http://127.0.0.1:${port}/#t=2ms`);
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  const alive = Date.now() - start;
  const load = await page.evaluate(() => Math.max(0, ...window.seen.tasks));
  // The numbers come first; then the picture alone is measured.
  await page.locator('#numbers', { hasText: 'Both runs are complete.' }).waitFor({ timeout: 180_000 });
  await page.waitForTimeout(4_000 * rate);
  await page.evaluate(() => ((window.seen.frames.length = 0), (window.seen.tasks.length = 0)));
  await page.waitForFunction((n) => window.seen.frames.length >= n, FRAMES, { timeout: 180_000 });
  const frames = await page.evaluate((n) => window.seen.frames.slice(0, n), FRAMES);
  const marks = await page.locator('.stage-now').innerText();
  const pause = page.getByRole('button', { name: 'Pause', exact: true });
  if (await pause.isVisible()) await pause.click();
  const seeks = [];
  for (const place of [9000, 1000, 7000, 3000, 5000, 500, 9500]) {
    seeks.push(
      await page.getByRole('slider', { name: 'Playhead' }).evaluate(async (slider, value) => {
        const begin = performance.now();
        slider.value = value;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        const share = () => parseFloat(document.querySelector('.timeline-head').style.left);
        while (Math.abs(share() - value / 100) > 0.02) await new Promise((next) => requestAnimationFrame(next));
        return performance.now() - begin;
      }, String(place)),
    );
  }
  await page.keyboard.press('.');
  await page.keyboard.press(',');
  await page.getByRole('radio', { name: /^B / }).check();
  const toggle = await page.evaluate(async () => {
    const done = () => [...document.querySelectorAll('.progress')].every((p) => p.classList.contains('done'));
    const begin = performance.now();
    document.querySelector('#when-start').click();
    const knob = document.querySelector('#kernel');
    knob.value = '5.4';
    knob.dispatchEvent(new Event('change', { bubbles: true }));
    // The old numbers stay until the first new ones come.
    while (done() && performance.now() - begin < 5_000) await new Promise((next) => setTimeout(next, 5));
    const first = performance.now() - begin;
    while (!done()) await new Promise((next) => setTimeout(next, 5));
    return { first, whole: performance.now() - begin };
  });
  const { tasks, events } = await page.evaluate(() => window.seen);
  await page.close();
  return {
    'page alive after load, ms': alive,
    'longest task of the load, ms': load,
    'frame script p50, ms': percentile(frames, 50),
    'frame script p95, ms': percentile(frames, 95),
    'seek in the run of report 000, median, ms': percentile(seeks, 50),
    'seek, slowest, ms': Math.max(...seeks),
    'kernel changed from the start to its first new curves, ms': toggle.first,
    'kernel changed from the start to all its numbers, ms': toggle.whole,
    'longest task afterwards, ms': Math.max(0, ...tasks),
    'slowest interaction to the next paint, ms': Math.max(0, ...events),
    marks: Number(marks.replace(/[\s\u2009\u202f]/g, '').match(/^\d+/)?.[0] ?? NaN),
  };
};

const server = spawn('npx', ['sirv', dist, '--host', '127.0.0.1', '--port', String(port), '--quiet'], { detached: true, stdio: 'ignore' });
const stop = () => {
  try {
    process.kill(-server.pid);
  } catch {
    // It has gone already.
  }
};
process.on('exit', stop);
await new Promise((next) => setTimeout(next, 1500));
const browser = await chromium.launch({
  executablePath: process.env.CHROME || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
});
const results = [await measure(browser, 1), await measure(browser, 4)];
await browser.close();
const say = (value) => (Number.isFinite(value) ? value.toFixed(value < 10 ? 1 : 0) : '–');
console.log('| what | 1x | 4x throttled |\n|---|---|---|');
for (const key of Object.keys(results[0])) console.log(`| ${key} | ${say(results[0][key])} | ${say(results[1][key])} |`);
const { all, wasm } = bytes();
console.log(`| brotli bytes of everything | ${all} | |\n| of it wasm | ${wasm} | |`);
process.exit(0);
