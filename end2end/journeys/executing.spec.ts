// What people decide is carried out at the destination, which counts: a timeout that a look-up confirms, an undo that two
// people agree to, a destination that is paused, and a workflow that goes back.
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { CHARGE, REFUND, approve, openForm, secondPerson, untilSaid } from '../support/acting.ts';
import { Destination } from '../support/destination.ts';
import { declareTool } from '../support/record.ts';
import type { Server, StartOptions } from '../support/server.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });
test.setTimeout(120_000);

const KEY = 'charge:order-1';

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

async function propose(page: Page, server: Server, amount: number, more: object = {}): Promise<string> {
  const answer = await page.request.post(`${server.url}/api/v1/operations`, {
    data: { operation_key: KEY, tool: 'charge', arguments: { order: 'order-1', amount, currency: 'EUR' }, ...more },
    headers: { origin: server.url },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return `${server.url}/operations/${(await answer.json()).id}`;
}

test('a dropped connection is uncertain until a person looks it up, and then confirmed', async ({ page, browser, startServer }) => {
  const server = await play(page, startServer);
  const noor = await secondPerson(browser, server, 'approver');
  destination.drops = 1;
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
