// Working through the queue: equal ones as one line, other orders, views of one's own, many rows by Shift, and everything by name.
import { ANONYMOUS, expect, expectAccessible, hasJavaScript, hydrated, picture, signIn, test } from '../support/test.ts';
import { REVERSIBLE_CHARGE, declareTool, importEvents } from '../support/record.ts';
import type { Server } from '../support/server.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

/** Charges of these amounts that timed out, the first the oldest; and one refund whose connection was lost. */
async function waiting(page: Page, startServer: (options: { data: 'empty' }) => Promise<Server>): Promise<Server> {
  const server = await startServer({ data: 'empty' });
  declareTool(server, { ...REVERSIBLE_CHARGE, stake: { amount_minor: 'amount_minor', currency: 'currency' } });
  const charge = (number: number, amount_minor: number) => [
    { ts: `2026-10-05T0${number}:00:00Z`, ev: 'operation.proposed', op: `op_${number}`, key: `charge:order-${number}`, tool: 'payments.charge', dest: 'psp', args: { amount_minor, currency: 'EUR' } },
    { ts: `2026-10-05T0${number}:00:30Z`, ev: 'attempt.ended', op: `op_${number}`, n: 1, outcome: 'timeout' },
  ];
  importEvents(server, [
    ...charge(1, 500),
    ...charge(2, 124_000),
    ...charge(3, 9_900),
    ...charge(4, 100),
    { ts: '2026-10-05T09:00:00Z', ev: 'attempt.ended', op: 'op_9', key: 'refund:order-9', tool: 'payments.refund', dest: 'psp', n: 1, outcome: 'conn_lost' },
  ]);
  await signIn(page, server);
  await page.goto(server.url);
  await hydrated(page);
  return server;
}

const keys = (page: Page) => page.locator('.rows--operations .rows__key');

test('equal ones are one line, and the line leads to its members', async ({ page, startServer }) => {
  await waiting(page, startServer);
  await page.getByRole('link', { name: 'Group equal ones' }).click();
  const groups = page.locator('.rows--groups tbody tr');
  await expect(groups).toHaveCount(2);
  await expectAccessible(page);
  await picture(page, 'queue-groups');
  const charges = groups.filter({ hasText: 'payments.charge' });
  await expect(charges).toContainText('Timed out');
  await expect(charges.locator('td.number')).toHaveText('4');
  await charges.getByRole('link').click();
  await expect(keys(page)).toHaveCount(4);
  await expect(page.getByText(/^Only tool payments\.charge/)).toBeVisible();
  await page.getByRole('link', { name: 'Choose all that match the filter …' }).click();
  await expect(page.getByText(/^All 4 operations that match now/)).toBeVisible();
  await page.getByRole('link', { name: 'Show the others too' }).click();
  await expect(keys(page)).toHaveCount(4);
  await page.getByRole('link', { name: 'Queue', exact: false }).first().click();
  await expect(keys(page)).toHaveCount(5);
});

test('the list has other orders, and one of them is kept under a name', async ({ page, startServer }) => {
  const server = await waiting(page, startServer);
  await page.getByRole('link', { name: 'At stake' }).click();
  await expect(page.locator('th[aria-sort=descending]')).toContainText('At stake');
  await expect(keys(page).first()).toContainText('order-2');
  await page.getByRole('link', { name: 'Age', exact: true }).click();
  await expect(page.locator('th[aria-sort=descending]')).toContainText('Age');
  await expect(keys(page).first()).toContainText('order-1');
  await page.locator('.views summary').click();
  await page.getByLabel('Name of this view').fill('Oldest first');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('The view is saved')).toBeVisible();
  await hydrated(page);
  await expectAccessible(page);

  await page.goto(server.url);
  await hydrated(page);
  await page.locator('.views summary').click();
  await picture(page, 'queue-views');
  await page.getByRole('link', { name: 'Oldest first' }).click();
  await expect(page).toHaveURL(/order=age/);
  await expect(keys(page).first()).toContainText('order-1');
  await page.locator('.views summary').click();
  await page.getByRole('button', { name: 'Forget the view Oldest first' }).click();
  await expect(page.getByText('The view is forgotten')).toBeVisible();
  await expect(page.locator('.views__link')).toHaveCount(0);

  // What was said is said once: it is no part of the list, and goes into none of its links.
  await page.goto(`${server.url}/operations?limit=2&state=uncertain`);
  await hydrated(page);
  await page.locator('.views summary').click();
  await page.getByLabel('Name of this view').fill('Doubts');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('The view is saved')).toBeVisible();
  expect(await page.getByRole('link', { name: 'Next rows' }).getAttribute('href')).not.toContain('view=');
  await page.goto(`${server.url}/operations?view=forgotten`);
  await expect(page.getByRole('link', { name: 'Clear' })).toHaveCount(0);
});

test('many rows are chosen by Shift, with the mouse and from the keyboard', async ({ page, startServer }) => {
  test.skip(!hasJavaScript(), 'without scripts each box is pressed by itself');
  await waiting(page, startServer);
  const boxes = page.locator('.rows__box input');
  await boxes.nth(0).click();
  await boxes.nth(3).click({ modifiers: ['Shift'] });
  await expect(page.getByText('4 of 5 chosen')).toBeVisible();
  await boxes.nth(1).click();
  await expect(page.getByText('3 of 5 chosen')).toBeVisible();

  await page.goto(page.url());
  await hydrated(page);
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expect(page.locator('.split__side')).toContainText('3 of 5');
  await page.keyboard.press('Shift+X');
  await expect(page.getByText('3 of 5 chosen')).toBeVisible();
});

test('everything a page offers is found by name', async ({ page, startServer }) => {
  test.skip(!hasJavaScript(), 'the same links are on the page');
  await waiting(page, startServer);
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: /^Type a command/ });
  await expect(field).toBeFocused();
  await expect(page.getByRole('listbox', { name: 'Commands' }).getByRole('option').first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'palette');
  await field.fill('order by stake');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/order=stake/);
  await expect(field).toBeHidden();

  await page.keyboard.press('Control+k');
  await field.fill('refund:order-9');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/operations\?search=refund%3Aorder-9/);
  await expect(page.getByRole('link', { name: 'refund:order-9' })).toBeVisible();

  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await expect(field).toBeHidden();
});

/** What a person who works without a mouse sees of where they are. */
async function expectFocusSeen(page: Page): Promise<void> {
  const seen = await page.evaluate(() => {
    const one = document.activeElement!;
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    const { top, bottom, width } = one.getBoundingClientRect();
    const isOnScreen = width > 0 && bottom > 0 && top < innerHeight;
    return { name: one.tagName, isOnScreen, hasOutline: outlineStyle !== 'none' && outlineWidth !== '0px' };
  });
  expect(seen, 'where the focus is').toMatchObject({ isOnScreen: true, hasOutline: true });
  expect(seen.name).not.toBe('BODY');
}

test('an outcome is found, opened and settled without a mouse', async ({ page, startServer }) => {
  test.skip(!hasJavaScript(), 'without scripts the browser’s own keys do it');
  const server = await waiting(page, startServer);
  const focused = page.locator(':focus');
  await page.keyboard.press('j');
  await expect(page).toHaveURL(/selected=/);
  await expect(focused).toHaveText('charge:order-3');
  await expectFocusSeen(page);
  // Also once the panel beside it has come.
  await expect(page.locator('.panel__key')).toHaveText('charge:order-3');
  await expect(focused).toHaveText('charge:order-3');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await expect(page.locator('.panel__key')).toHaveText('charge:order-3');
  await expect(focused).toHaveText('charge:order-3');
  await expectFocusSeen(page);
  await page.keyboard.press('x');
  await expect(page.getByText('1 of 5 chosen')).toBeVisible();
  await page.keyboard.press('x');

  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'charge:order-3' })).toBeFocused();
  await expectFocusSeen(page);
  const form = page.getByRole('link', { name: 'Mark succeeded', exact: true }).first();
  for (let presses = 0; !(await form.evaluate((link) => link === document.activeElement)); presses += 1) {
    expect(presses, 'the form is within reach').toBeLessThan(60);
    await page.keyboard.press('Tab');
    await expectFocusSeen(page);
  }
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Mark succeeded' })).toBeFocused();
  for (const [label, text] of [[/^Receipt/, 'pi_A'], [/^Reason/, 'Seen on their page.'], [/^To confirm/, 'order-3']] as const) {
    for (let presses = 0; !(await page.getByLabel(label).evaluate((field) => field === document.activeElement)); presses += 1) {
      expect(presses, 'the field is within reach').toBeLessThan(20);
      await page.keyboard.press('Tab');
    }
    await expectFocusSeen(page);
    // Letters that are keys of the list are letters here.
    await page.keyboard.type(text);
  }
  await page.keyboard.press('Enter');
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await page.goto(`${server.url}/actions`);
  await expect(page.locator('.rows--log tbody tr')).toHaveCount(1);
});

test('what is new is said politely, and taking it in does not lose the place', async ({ page, startServer }) => {
  test.skip(!hasJavaScript(), 'live views are what scripts add');
  const server = await waiting(page, startServer);
  const news = page.locator('.new');
  await expect(news).toHaveRole('status');
  await expect(news).toHaveText('');
  importEvents(server, [{ ts: '2026-10-05T10:00:00Z', ev: 'attempt.ended', op: 'op_new', key: 'refund:new', tool: 'payments.refund', dest: 'psp', n: 1, outcome: 'timeout' }]);
  await expect(news).toHaveText('+1 new');
  await page.getByRole('button', { name: '+1 new' }).focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: '6 outcomes need a person' })).toBeFocused();
  await expect(news).toHaveText('');
});
