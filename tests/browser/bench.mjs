// How fast the page is in Chromium: `cargo xtask bench --browser` calls it with the folder of the built page.
// Prints a table in Markdown. Times of a shared machine are noisy: to compare builds, give more folders and let it measure
// them in turn, `ROUNDS=3 node bench.mjs BEFORE AFTER`; it gives the median of each. `PARTS=seeks,frames` measures only those.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { chromium } from '@playwright/test';

const folders = process.argv.length > 2 ? process.argv.slice(2) : ['../../dist'];
const rounds = Number(process.env.ROUNDS ?? 1);
const rates = (process.env.RATES ?? '1,4').split(',').map(Number);
const FRAMES = 600;
/** I/Os in flight of each of report 000's eight processes, so that about 1,500 requests move. */
const DEPTH = 187;

const percentile = (list, percent) => {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] : NaN;
};
const median = (list) => percentile(list, 50);

/** In the page: counts what each animation frame takes, long tasks (those of 50 ms and more) and slow interactions. */
const watch = () => {
  const seen = { frames: [], whole: [], tasks: [], events: [] };
  window.seen = seen;
  const ask = window.requestAnimationFrame.bind(window);
  // A message is heard once the browser has laid out and painted the frame.
  const channel = new MessageChannel();
  let begin = 0;
  channel.port1.onmessage = () => seen.whole.push(performance.now() - begin);
  window.requestAnimationFrame = (callback) =>
    ask((time) => {
      const start = performance.now();
      callback(time);
      seen.frames.push(performance.now() - start);
      begin = start;
      channel.port2.postMessage(null);
    });
  const observe = (type, list, options) =>
    new PerformanceObserver((entries) => entries.getEntries().forEach((e) => list.push(e.duration))).observe({ type, buffered: true, ...options });
  observe('longtask', seen.tasks);
  observe('event', seen.events, { durationThreshold: 16 });
};

const longest = (page) => page.evaluate(() => Math.max(0, ...window.seen.tasks.splice(0)));

/** A page of its own that is watched and slowed down. */
const open = async ({ browser, url, rate }, fragment) => {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(watch);
  const client = await page.context().newCDPSession(page);
  await client.send('Emulation.setCPUThrottlingRate', { rate });
  await page.goto(`${url}${fragment}`);
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  return page;
};

/** Until both runs are known, and the one on the stage too: its picture in the timeline does not grow any more. */
const complete = async (page) => {
  await page.locator('#numbers', { hasText: 'Both runs are complete.' }).waitFor({ timeout: 180_000 });
  await explored(page);
};

const explored = (page) =>
  page.evaluate(async () => {
    const picture = () => document.querySelector('.timeline-picture .strip-ios')?.getAttribute('d');
    for (let last = '', same = 0; same < 4; same = picture() === last ? same + 1 : 0) {
      last = picture();
      await new Promise((next) => setTimeout(next, 750));
    }
  });

const pause = async (page) => {
  const button = page.getByRole('button', { name: 'Pause', exact: true });
  if (await button.isVisible()) await button.click();
};

/** Time until the playhead is where its slider was put, ms. */
const seek = (page, place) =>
  page.getByRole('slider', { name: 'Playhead' }).evaluate(async (slider, value) => {
    const begin = performance.now();
    slider.value = value;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    const share = () => parseFloat(document.querySelector('.timeline-head').style.left);
    while (Math.abs(share() - value / 100) > 0.02) await new Promise((next) => requestAnimationFrame(next));
    return performance.now() - begin;
  }, String(place));

const load = async (at) => {
  const start = Date.now();
  const page = await open(at, '#t=2ms');
  const alive = Date.now() - start;
  await page.locator('#keep').waitFor();
  await page.waitForTimeout(500);
  const task = await longest(page);
  await page.close();
  return { 'page alive after load, ms': alive, 'longest task of the load, ms': task };
};

/** In a run of about a million events, of which the budget is, and in the whole run of report 000, which has 2.6 million. */
const seeks = async (at) => {
  const { times, ...rest } = await seeksIn(at, '#t=1ms&duration=8ms');
  const whole = await seeksIn(at, '#t=2ms');
  return {
    'seek in a run of a million events, median, ms': median(times),
    'the slowest of these seeks, ms': Math.max(...times),
    'seek in the whole run of report 000, median, ms': median(whole.times),
    ...rest,
  };
};

const seeksIn = async (at, fragment) => {
  const page = await open(at, fragment);
  await complete(page);
  await pause(page);
  await longest(page);
  const times = [];
  for (const place of [9000, 1000, 7000, 3000, 5000, 500, 9500, 2000, 8000, 4000, 6000]) times.push(await seek(page, place));
  await page.keyboard.press('.');
  await page.keyboard.press(',');
  await page.waitForTimeout(300);
  const task = await longest(page);
  const event = await page.evaluate(() => Math.max(0, ...window.seen.events));
  await page.close();
  return {
    times,
    'longest task of seeks and steps, ms': task,
    'slowest of these interactions to the next paint, ms': event,
  };
};

const toggle = async (at) => {
  const page = await open(at, '#t=2ms');
  await complete(page);
  await pause(page);
  await page.getByRole('radio', { name: /^B / }).check();
  await explored(page);
  await longest(page);
  const times = await page.evaluate(async () => {
    const done = () => [...document.querySelectorAll('.progress')].every((p) => p.classList.contains('done'));
    const said = () => document.querySelector('#numbers .figure-tables').textContent;
    const before = said();
    const begin = performance.now();
    document.querySelector('#when-start').click();
    const knob = document.querySelector('#kernel');
    knob.value = '5.4';
    knob.dispatchEvent(new Event('change', { bubbles: true }));
    // The old numbers stay until the first new ones come, which may be the last.
    while (said() === before && performance.now() - begin < 10_000) await new Promise((next) => setTimeout(next, 5));
    const first = performance.now() - begin;
    while (!done()) await new Promise((next) => setTimeout(next, 5));
    return { first, whole: performance.now() - begin };
  });
  await page.waitForTimeout(1_000 * at.rate);
  const task = await longest(page);
  await page.close();
  return {
    'kernel changed from the start to its first new curves, ms': times.first,
    'kernel changed from the start to both new numbers, ms': times.whole,
    'longest task of it, ms': task,
  };
};

/** The next frames, one list for each kind. */
const frames = async (at) => {
  const first = await open(at, '#t=2ms');
  const job = (await first.locator('textarea').first().inputValue()).replace(/iodepth=128$/gm, `iodepth=${DEPTH}`);
  await first.close();
  const page = await open(at, `#t=2ms&job=${encodeURIComponent(job)}`);
  await complete(page);
  const next = async () => {
    await page.evaluate(() => ((window.seen.frames.length = 0), (window.seen.whole.length = 0)));
    await page.waitForFunction((n) => window.seen.whole.length >= n, FRAMES, { timeout: 180_000 });
    return page.evaluate((n) => [window.seen.frames.slice(0, n), window.seen.whole.slice(0, n)], FRAMES);
  };
  const [script, whole] = await next();
  const parts = (on) => page.evaluate(async (on) => [...(await import('./mqscope-web.js')).frameParts(on)], on);
  await parts(true);
  await next();
  const taken = await parts(false);
  const part = (n) => taken.filter((_, i) => i % 3 === n);
  const marks = await page.locator('.stage-now').innerText();
  const task = await longest(page);
  await page.close();
  const rows = {
    'requests on the stage': Number(marks.replace(/[\s\u2009\u202f]/g, '').match(/^\d+/)?.[0] ?? NaN),
    'longest task while it plays, ms': task,
  };
  const lists = { 'frame: simulate': part(0), 'frame: scene': part(1), 'frame: draw': part(2), 'frame: all of its script': script, 'frame: with layout and paint': whole };
  for (const [name, list] of Object.entries(lists)) {
    rows[`${name}, p50, ms`] = median(list);
    rows[`${name}, p95, ms`] = percentile(list, 95);
  }
  return rows;
};

/** Wasm memory, which never shrinks, after everything has been looked at. */
const memory = async (at) => {
  const page = await open(at, '#t=2ms');
  await complete(page);
  await page.getByRole('radio', { name: /^B / }).check();
  await explored(page);
  await page.locator('#both').click();
  await pause(page);
  for (const place of [9000, 1000, 7000, 500, 9500]) await seek(page, place);
  await page.evaluate(() => {
    document.querySelector('#when-start').click();
    const knob = document.querySelector('#kernel');
    knob.value = '5.4';
    knob.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await complete(page);
  const module = new URL('mqscope-web.js', page.url()).href;
  const size = async (address) => (await (await import(address)).default()).memory.buffer.byteLength / 2 ** 20;
  const [own, ...workers] = await Promise.all([page, ...page.workers()].map((place) => place.evaluate(size, module)));
  await page.close();
  return { 'wasm memory of the page, MiB': own, 'wasm memory of the larger worker, MiB': Math.max(...workers) };
};

/** Scores of Lighthouse, where it is installed; it is no dependency, for it is ten times the size of all others. */
const lighthouse = async ({ url, debugging }) => {
  const places = [process.env.LIGHTHOUSE, execFileSync('npm', ['root', '-g'], { encoding: 'utf8' }).trim()];
  const found = places.map((place) => place && join(place, 'lighthouse/core/index.js')).find((path) => path && existsSync(path));
  if (!found) {
    console.error('Lighthouse is left out; to have it: npm install -g lighthouse (or LIGHTHOUSE=the node_modules that hold it)');
    return {};
  }
  const { default: run } = await import(found);
  const { lhr } = await run(url, { port: debugging, output: 'json', logLevel: 'error', formFactor: 'desktop', screenEmulation: { disabled: true }, throttlingMethod: 'provided' });
  return Object.fromEntries(Object.values(lhr.categories).map((c) => [`Lighthouse, ${c.title.toLowerCase()}`, c.score * 100]));
};

/** Bytes of everything that a visit loads, compressed. */
const bytes = ({ folder }) => {
  const files = (folder) =>
    readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? files(path) : [path];
    });
  const loaded = files(folder).filter((path) => /\.(html|css|js|wasm|svg|webmanifest)$/.test(path) && !/embed-example/.test(path));
  const sizes = loaded.map((path) => [path, brotliCompressSync(readFileSync(path)).length]);
  const sum = (list) => list.reduce((sum, [, size]) => sum + size, 0);
  return { 'brotli bytes of everything': sum(sizes), 'of it wasm': sum(sizes.filter(([path]) => path.endsWith('.wasm'))) };
};

/** Those that the processor's speed is no part of come once. */
const throttled = { load, seeks, toggle, frames };
const plain = { memory, lighthouse, bytes };
const wanted = (process.env.PARTS ?? [...Object.keys(throttled), ...Object.keys(plain)].join()).split(',');

const servers = folders.map((folder) => {
  const port = 20000 + Math.floor(Math.random() * 20000);
  const server = spawn('npx', ['sirv', folder, '--host', '127.0.0.1', '--port', String(port), '--quiet'], { detached: true, stdio: 'ignore' });
  return { folder, server, url: `http://127.0.0.1:${port}/` };
});
process.on('exit', () => {
  for (const { server } of servers) {
    try {
      process.kill(-server.pid);
    } catch {
      // It has gone already.
    }
  }
});
await new Promise((next) => setTimeout(next, 1500));
const debugging = 40000 + Math.floor(Math.random() * 20000);
const browser = await chromium.launch({
  executablePath: process.env.CHROME || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', `--remote-debugging-port=${debugging}`],
});

/** What was measured: row, then column (folder and throttling), then one number a round. */
const table = new Map();
const columns = folders.flatMap((folder) => rates.map((rate) => `${folders.length > 1 ? `${folder}, ` : ''}${rate}x`));
for (let round = 0; round < rounds; round++) {
  for (const [name, part] of Object.entries({ ...throttled, ...plain })) {
    if (!wanted.includes(name)) continue;
    for (const [index, place] of servers.entries()) {
      for (const [column, rate] of (name in throttled ? rates : rates.slice(0, 1)).entries()) {
        const rows = await part({ browser, debugging, rate, ...place });
        for (const [row, value] of Object.entries(rows)) {
          if (!table.has(row)) table.set(row, columns.map(() => []));
          table.get(row)[index * rates.length + column].push(value);
        }
      }
    }
  }
}
await browser.close();
const say = (list) => {
  const value = median(list);
  return Number.isFinite(value) ? value.toFixed(value < 10 ? 1 : 0) : '';
};
console.log(`| what | ${columns.join(' | ')} |\n|---|${'---|'.repeat(columns.length)}`);
for (const [row, cells] of table) console.log(`| ${row} | ${cells.map(say).join(' | ')} |`);
process.exit(0);
