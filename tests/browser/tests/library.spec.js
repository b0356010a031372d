import { test, expect } from './page.js';

test('the example page simulates with the module alone', async ({ page }) => {
  await page.goto('/embed-example.html');
  await page.getByRole('button', { name: /^Run/ }).click();
  await expect(page.getByRole('table')).toBeVisible();
  const hashes = await page.getByRole('row', { name: /state hash/ }).getByRole('cell').allInnerTexts();
  expect(hashes.every((hash) => /^[0-9a-f]{16}$/.test(hash))).toBe(true);
  expect(new Set(hashes).size).toBe(2);
});

test('simulate gives a report, and the same one again', async ({ page }) => {
  await page.goto('/embed-example.html');
  const reports = await page.evaluate(async () => {
    const { default: init, simulate } = await import('./mqscope-web.js');
    await init();
    const scenario = {
      seed: 3,
      duration_ns: 2_000_000,
      machine: 'small',
      kernel: '6.1',
      devices: [{ name: 'nvme0n1', model: 'p4510-2t' }],
      workload: { jobs: [{ name: 'j', engine: 'libaio', pattern: 'random', iodepth: 16, time_based: true }] },
    };
    return [simulate(scenario), simulate(scenario)];
  });
  expect(reports[0].total.ios).toBeGreaterThan(0);
  expect(reports[1]).toEqual(reports[0]);
});

test('a scenario that cannot run is an exception that says why', async ({ page }) => {
  await page.goto('/embed-example.html');
  const message = await page.evaluate(async () => {
    const { default: init, simulate } = await import('./mqscope-web.js');
    await init();
    try {
      simulate({ kernel: '9.9', devices: [{ name: 'sda', model: 'null' }], workload: { jobs: [{}] } });
    } catch (error) {
      return String(error);
    }
    return '';
  });
  expect(message).toContain("unknown kernel '9.9'");
});
