import { defineConfig } from '@playwright/test';

// The configuration is read again by every worker: the port is chosen once and inherited.
process.env.MQSCOPE_PORT ??= String(20000 + Math.floor(Math.random() * 20000));
const port = process.env.MQSCOPE_PORT;

export default defineConfig({
  testDir: 'tests',
  outputDir: '../../target/e2e',
  timeout: 60_000,
  globalTimeout: 25 * 60_000,
  expect: { timeout: 10_000 },
  workers: 1,
  // A shared machine may stall for seconds: one more try, which the report names as flaky.
  retries: process.env.CI ? 1 : 0,
  forbidOnly: !!process.env.CI,
  reporter: [['list'], ['json']],
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    viewport: { width: 1280, height: 800 },
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
    launchOptions: {
      // Debian's Chromium, found by `cargo xtask test`; Playwright's own is not downloaded.
      executablePath: process.env.CHROME || '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
    },
  },
  webServer: {
    command: `npx sirv ../../dist --host 127.0.0.1 --port ${port} --quiet`,
    url: `http://127.0.0.1:${port}/`,
    reuseExistingServer: false,
    timeout: 30_000,
  },
});
