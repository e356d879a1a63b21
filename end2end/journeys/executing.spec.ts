// What people decide is carried out at the destination, which counts: a timeout that a look-up confirms, an undo that two
// people agree to, a destination that is paused, and a workflow that goes back.
import { ANONYMOUS, expect, expectAccessible, hasJavaScript, hydrated, picture, signIn, test } from '../support/test.ts';
import { Destination } from '../support/destination.ts';
import { command, declareTool } from '../support/record.ts';
import type { Server, StartOptions } from '../support/server.ts';
import type { Browser, Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });
test.setTimeout(120_000);

const KEY = 'charge:order-1';

const CONTRACT = {
  key_location: 'Idempotency-Key',
  key_retention_s: 86_400,
  stores: '2xx_only',
  on_in_flight: 'blocks',
  scope: [],
  layer_retries: 'off',
  intermediaries: false,
  success_receipt: { pointer: '/id' },
  client_deadline_s: 1,
  max_arrival_delay_s: 1,
  lookup_count: 1,
  verification: 'tested_live',
  lookup: { by: 'key', consistency: 'strong', complete: true },
  compensation: { tool: 'refund' },
};

const CHARGE = {
  name: 'charge',
  class: 'reversible',
  destination: 'psp',
  contract: CONTRACT,
  stake: { amount_minor: 'amount', currency: 'currency' },
  dual_threshold_minor: 100_000,
  request: { method: 'POST', path: '/charges' },
  look_up: { path: '/charges?key={key}', items: '/data', receipt: '/id' },
};

const REFUND = {
  ...CHARGE,
  name: 'refund',
  contract: { ...CONTRACT, compensation: undefined },
  request: { method: 'POST', path: '/refunds/{/receipt}' },
};

let destination: Destination;
test.beforeEach(async () => {
  destination = await Destination.start();
});
test.afterEach(async () => destination.stop());

/** A server that sends to the destination, with both tools, and an administrator on the page. */
async function play(page: Page, startServer: (options: StartOptions) => Promise<Server>): Promise<Server> {
  const server = await startServer({ data: 'empty', destinations: { psp: destination.url } });
  for (const tool of [CHARGE, REFUND]) declareTool(server, tool);
  await signIn(page, server);
  return server;
}

/** The page of another person, who signs in by a one-time address. */
async function secondPerson(browser: Browser, server: Server, role: string): Promise<Page> {
  const printed = command(server, ['user', 'add', 'noor', '--name', 'Noor Haddad', '--role', role]);
  const context = await browser.newContext({ storageState: ANONYMOUS, javaScriptEnabled: hasJavaScript() });
  const page = await context.newPage();
  const path = /\/sign-in\/link\/\w+/.exec(printed)![0];
  await page.goto(server.url + path);
  return page;
}

async function propose(page: Page, server: Server, amount: number, more: object = {}): Promise<string> {
  const answer = await page.request.post(`${server.url}/api/v1/operations`, {
    data: { operation_key: KEY, tool: 'charge', arguments: { order: 'order-1', amount, currency: 'EUR' }, ...more },
    headers: { origin: server.url },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return `${server.url}/operations/${(await answer.json()).id}`;
}

/** Opens an action's form from the operation's page. */
async function openForm(page: Page, operation: string, label: string): Promise<void> {
  await page.goto(operation);
  await hydrated(page);
  await page.getByRole('link', { name: label, exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible();
  await hydrated(page);
}

async function approve(page: Page, operation: string): Promise<void> {
  await openForm(page, operation, 'Approve');
  await page.getByLabel(/^Reason/).fill('The order was checked.');
  await page.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
}

/** Opens a page again and again until it says so: with JavaScript off nobody else would. */
async function untilSaid(page: Page, url: string, words: string): Promise<void> {
  await expect(async () => {
    await page.goto(url);
    await expect(page.getByText(words).filter({ visible: true }).first()).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 60_000 });
}

test('a dropped connection is uncertain until a person looks it up, and then confirmed', async ({ page, browser, startServer }) => {
  const server = await play(page, startServer);
  const noor = await secondPerson(browser, server, 'approver');
  destination.dropsNext = true;
  destination.canBeAsked = false;
  const operation = await propose(page, server, 2_000);
  await approve(noor, operation);

  await untilSaid(page, server.url, '1 outcome needs a person');
  expect(destination.effects('/charges'), 'made, though nobody heard of it').toBe(1);

  destination.canBeAsked = true;
  await openForm(page, operation, 'Look up');
  await page.getByRole('button', { name: 'Look up' }).click();
  await expect(page.getByText('Accepted').first()).toBeVisible();
  await untilSaid(page, page.url(), 'Receipt obj_1 (P3)');
  await expectAccessible(page);
  await picture(page, 'confirmed-by-look-up');
  await page.goto(server.url);
  await expect(page.getByText('No outcome needs a person')).toBeVisible();
  expect(destination.effects('/charges')).toBe(1);
});

test('an undo that two people agree to is made once', async ({ page, browser, startServer }) => {
  const server = await play(page, startServer);
  const noor = await secondPerson(browser, server, 'approver');
  const operation = await propose(page, server, 124_000);
  await approve(noor, operation);
  await untilSaid(page, operation, 'obj_1');

  await openForm(page, operation, 'Compensate');
  await page.getByLabel(/^Reason/).fill('The customer left.');
  await page.locator('input[name=confirmation]').fill('order-1');
  await page.getByRole('button', { name: /second person/ }).click();
  await expect(page.getByText('Nothing yet: it waits for a second person.')).toBeVisible();
  const waiting = page.url();
  await noor.goto(waiting);
  await hydrated(noor);
  await noor.locator('input[name=confirmation]').fill('order-1');
  await noor.getByRole('button', { name: /^Complete/ }).click();
  await expect(noor.getByText('Noor Haddad completed it as the second person.')).toBeVisible();
  await picture(noor, 'undo-by-two-people');
  expect(destination.effects('/refunds/obj_1'), 'the undo needs an approval of its own').toBe(0);

  const undo = await noor.locator('main a[href^="/operations/"]').last().getAttribute('href');
  await approve(noor, new URL(undo!, server.url).href);
  await untilSaid(page, new URL(undo!, server.url).href, 'obj_2');
  expect(destination.effects('/charges')).toBe(1);
  expect(destination.effects('/refunds/obj_1')).toBe(1);
});

test('what is approved waits while its destination is paused, and goes out once', async ({ page, browser, startServer }) => {
  const server = await play(page, startServer);
  const noor = await secondPerson(browser, server, 'approver');
  await page.goto(`${server.url}/budgets`);
  await hydrated(page);
  await page.getByRole('button', { name: 'Pause psp' }).click();
  await expect(page.getByText('psp is paused')).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'budgets');
  const operation = await propose(page, server, 2_000);
  await approve(noor, operation);
  await noor.goto(`${server.url}/budgets`);
  await expect(noor.getByRole('button', { name: 'Resume psp' })).toBeDisabled();
  expect(destination.effects('/charges')).toBe(0);

  await page.getByRole('button', { name: 'Resume psp' }).click();
  await expect(page.getByText('psp is not paused')).toBeVisible();
  await untilSaid(page, operation, 'obj_1');
  expect(destination.effects('/charges')).toBe(1);
});

test('a workflow that fails goes back by undos that are proposed, approved and made once', async ({ page, browser, startServer }) => {
  const server = await play(page, startServer);
  const noor = await secondPerson(browser, server, 'approver');
  const step = (number: number) => ({ step: { workflow: 'order-1', number } });
  const paid = await propose(page, server, 2_000, step(1));
  const workflow = `${server.url}/workflows/order-1`;
  await page.goto(`${server.url}/workflows`);
  await hydrated(page);
  await page.getByRole('link', { name: 'order-1', exact: true }).click();
  await hydrated(page);
  await page.getByLabel('Who undoes its steps').selectOption('by_itself');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved', { exact: true })).toBeVisible();
  const shipped = await propose(page, server, 1_000, { operation_key: 'ship:order-1', ...step(2) });
  await approve(noor, shipped);
  await untilSaid(page, workflow, 'It waits for the step charge:order-1, which has not succeeded.');
  expect(destination.effects('/charges'), 'approved, and yet not its turn').toBe(0);

  await approve(noor, paid);
  await untilSaid(page, workflow, 'Every step has succeeded.');
  expect(destination.effects('/charges')).toBe(2);

  destination.declinesNext = true;
  const mailed = await propose(page, server, 1, { operation_key: 'mail:order-1', ...step(3) });
  await approve(noor, mailed);
  await untilSaid(page, workflow, 'It goes back because of mail:order-1.');
  await untilSaid(page, workflow, 'undo proposed');
  await expectAccessible(page);
  await picture(page, 'workflow-going-back');
  const undo = page.getByRole('link', { name: 'undo proposed' });
  expect(await undo.count(), 'one after the other').toBe(1);
  await approve(noor, new URL((await undo.getAttribute('href'))!, server.url).href);
  await untilSaid(page, workflow, 'undo proposed');
  await approve(noor, new URL((await undo.getAttribute('href'))!, server.url).href);
  await untilSaid(page, workflow, 'Whatever succeeded is undone, or was waived.');
  expect(destination.effects('/refunds/obj_1') + destination.effects('/refunds/obj_2')).toBe(2);
  await picture(page, 'workflow-undone');
});
