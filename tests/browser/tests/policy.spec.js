import { test, expect, button, card, clock, open, openPaused, pauseButton } from './page.js';

test('another kernel from the start: the run begins anew', async ({ page }) => {
  await openPaused(page);
  await page.getByRole('radio', { name: 'from the start' }).check();
  await page.getByRole('combobox', { name: 'Kernel' }).selectOption('6.1');
  await expect(card(page, 'A')).toHaveAccessibleName(/kernel 6\.1/);
});

test('another dispatch mode from the playhead: the time stays, the policy changes', async ({ page }) => {
  await openPaused(page);
  const before = await clock(page).innerText();
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  await page.getByRole('combobox', { name: 'Dispatch mode' }).selectOption({ label: 'one by one' });
  await expect(page.locator('.card').first()).toContainText('Changed once on the way');
  await expect(clock(page)).toHaveText(before);
  await expect(page.locator('.timeline .mark-change')).toHaveCount(1);
});

test('the numbers of a policy change with it', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell');
  const figure = page.locator('.card .figure').first();
  await expect(page.locator('.card .progress.done').first()).toBeAttached({ timeout: 30_000 });
  const before = await figure.innerText();
  await page.getByRole('combobox', { name: 'Device' }).selectOption({ label: 'NVMe P4800X 375 GB (3D XPoint)' });
  await expect(figure).not.toHaveText(before);
});

test('a value that does not fit is refused, and the old one stays in force', async ({ page }) => {
  await openPaused(page);
  const depth = page.getByRole('spinbutton', { name: 'Queue depth' });
  const before = await depth.inputValue();
  await depth.fill('0');
  await depth.blur();
  await expect(depth).toHaveValue(before);
});

test('the other policy comes on the stage', async ({ page }) => {
  await openPaused(page);
  await card(page, 'B').check();
  await expect(page.locator('#policy-title')).toContainText('B');
  await expect(page.getByRole('combobox', { name: 'Dispatch mode' })).toHaveValue(/one-by-one/);
});

test('undo returns to the run before the change, at the moment of the change', async ({ page }) => {
  await openPaused(page);
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  const at = await clock(page).innerText();
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveCount(0);
  await page.getByRole('combobox', { name: 'Dispatch mode' }).selectOption({ label: 'one by one' });
  await expect(page.locator('.card').first()).toContainText('Changed once on the way');
  await page.getByRole('button', { name: 'One event on' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(page.locator('.card').first()).not.toContainText('Changed once on the way');
  await expect(clock(page)).toHaveText(at);
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveCount(0);
});

test('a kernel slider swept while time runs is one change and one step back', async ({ page }) => {
  await open(page, '#preset=nvme-doorbell&t=2ms&speed=100us');
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  const kernel = page.getByRole('combobox', { name: 'Kernel', exact: true });
  const first = await kernel.inputValue();
  const machine = page.getByRole('slider', { name: /Kernel time machine/ });
  await machine.focus();
  for (let n = 0; n < 3; n++) await machine.press('ArrowRight');
  const at = Number(await machine.inputValue());
  await pauseButton(page).click();
  await expect(page.locator('.timeline .mark-change')).toHaveCount(1);
  await expect(card(page, 'A')).toBeChecked();
  await expect(page.locator('.card').first()).toContainText('Changed once on the way, at');
  await button(page, 'Undo').click();
  await expect(page.locator('.timeline .mark-change')).toHaveCount(0);
  await expect(kernel).toHaveValue(first);
  expect(Number(await machine.inputValue())).toBe(at - 3);
  await expect(button(page, 'Undo')).toHaveCount(0);
});

test('a run that is changed on the way says that its numbers are mixed, and gives those of its parts', async ({ page }) => {
  await openPaused(page, '#preset=nvme-doorbell&t=10ms&paused=1');
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  await page.getByRole('combobox', { name: 'Kernel', exact: true }).selectOption('4.14');
  const own = page.locator('.card').first();
  await expect(own.locator('.unit')).toHaveText('IOPS, parts mixed');
  await expect(own.locator('.card-foot')).toContainText(/before .* IOPS, mean latency .*; since then .* IOPS, mean/, { timeout: 30_000 });
  // What is half of one policy is not compared with another.
  await expect(page.locator('.card').last().locator('.against')).toBeEmpty();
});

test('a change at the end of the run is made from the start, and said so', async ({ page }) => {
  await openPaused(page, '#preset=plug-merge');
  await page.getByRole('radio', { name: 'from the playhead' }).check();
  await button(page, 'To the end').click();
  await page.getByRole('combobox', { name: 'Kernel', exact: true }).selectOption('5.4');
  await expect(page.locator('.notice')).toContainText('made from the start');
  await expect(page.locator('.timeline .mark-change')).toHaveCount(0);
  await expect(page.locator('.card').first()).not.toContainText('Changed');
});

test('going back in the browser returns to the scenario before', async ({ page }) => {
  await openPaused(page);
  const title = page.getByRole('heading', { level: 1 });
  const before = await title.innerText();
  await expect(page).toHaveURL(/#/);
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('plug-merge');
  await expect(title).not.toHaveText(before);
  await expect(page).toHaveURL(/plug-merge/);
  await page.goBack();
  await expect(title).toHaveText(before);
  // What went back is not undone once more.
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveCount(0);
  await page.goForward();
  await expect(title).not.toHaveText(before);
});

test('each change of the kernel is one step back', async ({ page }) => {
  await openPaused(page, '#preset=plug-merge');
  const kernel = page.getByRole('combobox', { name: 'Kernel' });
  await page.getByRole('radio', { name: 'from the start' }).check();
  for (const row of ['5.4', '6.1', '6.18']) {
    await kernel.selectOption(row);
    await expect(page).toHaveURL(new RegExp(`a=${row.replace('.', '\\.')}`));
  }
  for (const row of ['6.1', '5.4']) {
    await page.goBack();
    await expect(kernel).toHaveValue(row);
    // Longer than the address takes to be written: that is no step of its own.
    await page.waitForTimeout(900);
  }
  await page.goForward();
  await expect(kernel).toHaveValue('6.1');
});

test('a value that is refused twice is one message', async ({ page }) => {
  await openPaused(page);
  const depth = page.getByRole('spinbutton', { name: 'Queue depth' });
  for (const value of ['0', '99999999']) {
    await depth.fill(value);
    await depth.blur();
  }
  const seed = page.getByRole('textbox', { name: 'Seed' });
  await seed.fill('-1');
  await seed.blur();
  await expect(page.locator('.notice')).toHaveCount(1);
});

test('rules that the run does not read say so, and why', async ({ page }) => {
  await openPaused(page);
  const group = (name) => page.locator('#policy summary').filter({ hasText: name });
  await expect(group('kyber')).toContainText('not read here');
  await expect(group('Plug')).not.toContainText('not read here');
  await expect(page.locator('#first-dispatch_mode-help')).not.toContainText('Not read here');
  await page.getByLabel('Scheduler', { exact: true }).selectOption('kyber');
  await expect(group('kyber').first()).not.toContainText('not read here');
  await expect(page.locator('#first-dispatch_mode-help')).toContainText('Not read here: each disk has a scheduler');
});

test('a kernel whose blk-mq disks have no scheduler offers none', async ({ page }) => {
  await openPaused(page, '#a=4.4');
  await expect(page.getByLabel('Scheduler', { exact: true }).locator('option')).toHaveText(['none']);
  await expect(page.locator('#scheduler-help')).toContainText('have no scheduler');
});

test('a setting says where it stands in the kernel and which command makes it on a real machine', async ({ page }) => {
  await openPaused(page);
  const help = page.locator('#scheduler-help');
  await expect(help).toContainText('echo none > /sys/block/sdb/queue/scheduler');
  await page.getByLabel('Scheduler', { exact: true }).selectOption('mq-deadline');
  await expect(help).toContainText('echo mq-deadline > /sys/block/sdb/queue/scheduler');
  await page.locator('#policy summary').filter({ hasText: 'Plug' }).click();
  const source = page.locator('#all-plug_merge-help a');
  await expect(source).toHaveText('block/blk-core.c in v4.14');
  await page.getByRole('radio', { name: 'from the start' }).check();
  await page.getByRole('combobox', { name: 'Kernel' }).selectOption('6.1');
  await expect(source).toHaveText('block/blk-merge.c in v6.1');
  await expect(source).toHaveAttribute('href', /linux\/v6\.1\/A\/ident\/blk_attempt_plug_merge$/);
});

test('a kernel slider swept from the start is one step back as well', async ({ page }) => {
  await openPaused(page, '#preset=plug-merge');
  const machine = page.getByRole('slider', { name: /Kernel time machine/ });
  const kernel = page.getByRole('combobox', { name: 'Kernel', exact: true });
  const before = await kernel.inputValue();
  await machine.focus();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowLeft');
  await expect(kernel).not.toHaveValue(before);
  await button(page, 'Undo').click();
  await expect(kernel).toHaveValue(before);
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveCount(0);
});
