import { test, expect, open, openPaused, pasteJob, clock, pauseButton } from './page.js';

const BAD = '[global]\nioengine=libaio\niodepht=32\nrw=randread\n\n[disk]\nfilename=/dev/nvme0n1\n';
const GOOD =
  '[global]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=8\ntime_based\nruntime=60\n\n' +
  '[mine]\nfilename=/dev/nvme0n1\nnumjobs=2\n';

test('a bad job: the error stands at its line, names the remedy, and leads there', async ({ page }) => {
  await openPaused(page);
  const job = await pasteJob(page, BAD);
  const findings = page.getByRole('list', { name: 'What the reader says about the job' });
  const error = findings.getByRole('listitem').filter({ hasText: 'Error' });
  await expect(error).toContainText('line 3, column 1');
  await expect(error).toContainText("Did you mean 'iodepth'?");
  await expect(page.locator('.gutter li.error')).toHaveText('3');
  await expect(job).toHaveAttribute('aria-invalid', 'true');
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeDisabled();
  await error.getByRole('button', { name: 'line 3, column 1' }).click();
  await expect(job).toBeFocused();
  expect(await job.evaluate((area) => area.selectionStart)).toBe(BAD.indexOf('iodepht'));
});

test('a good job runs and moves', async ({ page }) => {
  await open(page);
  await pasteJob(page, GOOD);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Your own job');
  const parts = page.getByRole('group', { name: /^Parts of the stage/ });
  await expect(parts.getByRole('button', { name: /^nvme0n1\. Device nvme0n1/ })).toBeAttached();
  await expect(pauseButton(page)).toBeVisible();
  const before = await clock(page).innerText();
  await expect(clock(page)).not.toHaveText(before);
});

test('a job file can be opened', async ({ page }) => {
  await openPaused(page);
  await page.getByLabel('Open a file').setInputFiles({ name: 'own.fio', mimeType: 'text/plain', buffer: Buffer.from(GOOD) });
  await expect(page.getByRole('textbox', { name: 'Job text' })).toHaveValue(GOOD);
});

test('anything pasted gives findings, not a broken page', async ({ page }) => {
  await openPaused(page);
  for (const text of ['', '\0\0\0', '[', '[a]\nrw=\n', 'b r@9999999999999999+4', '💥'.repeat(500), '[x]\n'.repeat(2000)]) {
    await pasteJob(page, text);
    await expect(page.locator('.run-state')).not.toBeEmpty();
  }
  await pasteJob(page, GOOD);
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeEnabled();
});
