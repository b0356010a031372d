import AxeBuilder from '@axe-core/playwright';
import { test, expect, button, card, clock, open, openPaused, playButton } from './page.js';

const inside = (page) => page.locator('#elevator');
const scheduler = (page) => page.getByRole('combobox', { name: 'Scheduler' });
const next = (page) => inside(page).locator('.next').getByRole('button', { name: /^Request \d+$/ });
const serial = async (locator) => Number((await locator.innerText()).trim());

/** Mixed reads and writes on mq-deadline, stopped where many requests are queued. */
async function openDeadline(page) {
  await openPaused(page, '#preset=deadline-mix&side=b&t=10ms&paused=1');
  await inside(page).scrollIntoViewIfNeeded();
  await expect(next(page)).toBeVisible();
}

test('without a scheduler the panel says so, and one can be chosen', async ({ page }) => {
  await openPaused(page, '#preset=deadline-mix&t=10ms&paused=1');
  await inside(page).scrollIntoViewIfNeeded();
  await expect(inside(page)).toContainText('The scheduler is none');
  const before = await clock(page).innerText();
  await scheduler(page).selectOption('mq-deadline');
  await expect(inside(page).getByRole('heading', { level: 2 })).toHaveText('Inside mq-deadline');
  // The run is another one from its start; the playhead stays.
  await expect(clock(page)).toHaveText(before);
  await expect(inside(page).getByRole('heading', { level: 3, name: /sort_list\[READ\]/ })).toBeVisible();
  await expect(card(page, 'A')).toHaveAccessibleName(/mq-deadline/);
  await page.getByRole('button', { name: 'Reset scheduler' }).click();
  await expect(scheduler(page)).toHaveValue('none');
  await expect(inside(page)).toContainText('The scheduler is none');
});

/** Steps until a request is taken from the scheduler: what was announced before that event, and what the event says. */
const stepToDispatch = (page) =>
  page.evaluate(async () => {
    const forward = document.querySelector('button[aria-label="One event on"]');
    const event = () => [...document.querySelectorAll('#log tbody tr')].at(-1)?.innerText ?? '';
    const before = event();
    for (let steps = 0; steps < 400; steps++) {
      const announced = document.querySelector('#elevator .next button')?.innerText ?? 'none';
      forward.click();
      await new Promise((done) => setTimeout(done, 10));
      const text = event();
      if (text !== before && /takes request \d+ from the elevator/.test(text)) return { announced, text };
    }
    return { announced: 'nothing', text: 'no dispatch in 400 events' };
  });

test('the request announced as next is the one that goes', async ({ page }) => {
  await openDeadline(page);
  const { announced, text } = await stepToDispatch(page);
  expect(text).toContain(`takes request ${announced} from the elevator`);
  await expect(next(page)).not.toHaveText(announced);
  // And back: it stands there again, announced.
  await button(page, 'One event back').click();
  await expect(next(page)).toHaveText(announced);
});

test('a queued request is selected from the list, and marked as next in words', async ({ page }) => {
  await openDeadline(page);
  const marked = inside(page).locator('li.next-item').first();
  await expect(marked).toContainText('next');
  const rq = await serial(marked.getByRole('button'));
  await marked.getByRole('button').click();
  await expect(page.locator('#inspector-title')).toHaveText(`Request ${rq}`);
  await expect(page.locator('#inspector')).toContainText('In the elevator');
});

test('the stage has the scheduler as a part of its own', async ({ page }) => {
  await openDeadline(page);
  const part = page.getByRole('button', { name: /nullb0 mq-deadline\. Scheduler mq-deadline/ });
  await part.focus();
  await expect(page.locator('.stage-part')).toContainText('sched tags in use');
});

test('nothing jumps while it plays', async ({ page }) => {
  await openDeadline(page);
  const height = () => inside(page).evaluate((e) => e.getBoundingClientRect().height);
  const before = await height();
  await playButton(page).click();
  for (let i = 0; i < 5; i++) {
    await page.waitForTimeout(250);
    expect(await height()).toBe(before);
  }
});

test('an attribute of the scheduler is changed, kept in the address, and put back', async ({ page, context }) => {
  await openDeadline(page);
  await page.getByText('mq-deadline in queue/iosched').click();
  const batch = page.getByRole('spinbutton', { name: 'fifo_batch' });
  await expect(batch).toHaveValue('16');
  await batch.fill('1');
  await batch.blur();
  await expect(inside(page).getByRole('definition').first()).toHaveText(/of 1$/);
  await expect.poll(() => page.url()).toContain('b.q=mq-deadline,fifo_batch:1');
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByText('mq-deadline in queue/iosched').click();
  await expect(other.getByRole('spinbutton', { name: 'fifo_batch' })).toHaveValue('1');
  await other.close();
  await page.getByRole('button', { name: 'Reset fifo_batch' }).click();
  await expect(batch).toHaveValue('16');
});

test('an attribute that the scheduler does not have is refused in words', async ({ page }) => {
  await open(page, '#preset=deadline-mix&a.q=kyber,fifo_batch:4');
  await expect(page.locator('.notices')).toContainText('fifo_batch');
  await expect(scheduler(page)).toHaveValue('none');
});

test('a knob is found by a word of its help, changed and reset', async ({ page }) => {
  await openPaused(page);
  await page.getByRole('searchbox', { name: /^Find one of/ }).fill('AIO_PLUG_THRESHOLD');
  await expect(page.locator('#find-count')).toHaveText('1 found');
  const found = page.locator('.found');
  const knob = found.getByRole('spinbutton', { name: 'Aio plug above' });
  await expect(knob).toHaveValue('0');
  await knob.fill('2');
  await knob.blur();
  await expect(found).toContainText('4.14 has 0');
  await found.getByRole('button', { name: 'Reset aio plug above' }).click();
  await expect(knob).toHaveValue('0');
  await page.getByRole('searchbox', { name: /^Find one of/ }).fill('zzz');
  await expect(page.locator('#find-count')).toContainText('Nothing');
  await page.getByRole('searchbox', { name: /^Find one of/ }).fill('');
  await expect(page.locator('.groups summary').first()).toBeVisible();
});

for (const colorScheme of ['light', 'dark']) {
  for (const width of [1280, 320]) {
    test(`axe finds nothing with a scheduler: ${colorScheme}, ${width} px`, async ({ page }) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await openDeadline(page);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join('\n')}`)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    });
  }
}
