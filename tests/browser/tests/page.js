// What all end-to-end tests share: a page that must stay free of errors, and the words for its parts.
import { test as base, expect } from '@playwright/test';

/** A page on which any error in the console or in a script fails the test. */
export const test = base.extend({
  page: async ({ page }, use) => {
    const errors = [];
    page.on('pageerror', (error) => errors.push(`page error: ${error.message}`));
    page.on('console', (message) => {
      // Browsers ask for an icon that no page of ours names.
      const icon = message.location().url.endsWith('/favicon.ico');
      if (message.type() === 'error' && !icon) errors.push(`console: ${message.text()}`);
    });
    page.on('requestfailed', (request) => {
      // What was still on its way when the page was left is no fault of the page.
      if (request.failure()?.errorText !== 'net::ERR_ABORTED') errors.push(`not loaded: ${request.url()}`);
    });
    await use(page);
    expect(errors).toEqual([]);
  },
});

export { expect };

/** The time of the playhead, as it is read. */
export const clock = (page) => page.locator('.clock-now');

export const playButton = (page) => page.getByRole('button', { name: 'Play', exact: true });
export const pauseButton = (page) => page.getByRole('button', { name: 'Pause', exact: true });
export const button = (page, name) => page.getByRole('button', { name, exact: true });

/** Opens the page and waits until it plays and all of it is built. */
export async function open(page, fragment = '') {
  await page.goto(`/${fragment}`);
  await expect(pauseButton(page).or(playButton(page))).toBeVisible();
  await expect(page.locator('#keep')).toBeAttached();
}

/** Opens the page, and stops it. */
export async function openPaused(page, fragment = '') {
  await open(page, fragment);
  if (await pauseButton(page).isVisible()) await pauseButton(page).click();
  await expect(playButton(page)).toBeVisible();
}

/** The stage's canvas as a string that is equal for equal pictures. */
export const picture = (page) =>
  page.locator('#stage canvas').first().evaluate(async (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const hash = await crypto.subtle.digest('SHA-256', data);
    return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  });

/** The picture once it stands still: motion between two moments of the run is shown in a few frames. */
export async function stillPicture(page) {
  let last = '';
  let same = 0;
  await expect
    .poll(async () => {
      const now = await picture(page);
      same = now === last ? same + 1 : 0;
      last = now;
      return same;
    })
    .toBeGreaterThan(2);
  return last;
}

/** What the page says about the moment, without the picture. Of the events only the last: how far the list goes back
 * depends on where the page came from. */
export async function words(page) {
  return {
    clock: await clock(page).innerText(),
    stage: await page.locator('.stage-now').innerText(),
    event: (await page.locator('#log tbody tr').allInnerTexts()).at(-1) ?? '',
    request: await page.locator('#inspector').innerText(),
  };
}

/** The label of a policy's card. */
export const card = (page, side) => page.getByRole('radio', { name: new RegExp(`^${side} `) });

/** Replaces the job in the editor as pasting over all of it does. */
export async function pasteJob(page, text) {
  const job = page.getByRole('textbox', { name: 'Job text' });
  await job.fill(text);
  return job;
}
