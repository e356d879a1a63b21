// What journeys do that act: tools of a destination that keeps what it made, other people, and the forms of actions.
import type { Browser, Page } from '@playwright/test';
import { command } from './record.ts';
import type { Server } from './server.ts';
import { ANONYMOUS, expect, hasJavaScript, hydrated } from './test.ts';

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

/** Makes a charge, and can be asked what became of it. A failed try would run again under its key. */
export const CHARGE = {
  name: 'charge',
  class: 'reversible',
  destination: 'psp',
  contract: CONTRACT,
  stake: { amount_minor: 'amount', currency: 'currency' },
  dual_threshold_minor: 100_000,
  request: { method: 'POST', path: '/charges' },
  look_up: { path: '/charges?key={key}', items: '/data', receipt: '/id' },
};

/** Undoes a charge. */
export const REFUND = {
  ...CHARGE,
  name: 'refund',
  contract: { ...CONTRACT, compensation: undefined },
  request: { method: 'POST', path: '/refunds/{/receipt}' },
};

/** The page of another person, who signs in by a one-time address. */
export async function secondPerson(browser: Browser, server: Server, role: string): Promise<Page> {
  const printed = command(server, ['user', 'add', 'noor', '--name', 'Noor Haddad', '--role', role]);
  const context = await browser.newContext({ storageState: ANONYMOUS, javaScriptEnabled: hasJavaScript() });
  const page = await context.newPage();
  const path = /\/sign-in\/link\/\w+/.exec(printed)![0];
  await page.goto(server.url + path);
  return page;
}

/** Opens an action's form from the operation's page. */
export async function openForm(page: Page, operation: string, label: string): Promise<void> {
  await page.goto(operation);
  await hydrated(page);
  await page.getByRole('link', { name: label, exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible();
  await hydrated(page);
}

/** Approves an operation. */
export async function approve(page: Page, operation: string): Promise<void> {
  await openForm(page, operation, 'Approve');
  await page.getByLabel(/^Reason/).fill('The order was checked.');
  await page.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
}

/** Opens a page again and again until it says so: with JavaScript off nobody else would. */
export async function untilSaid(page: Page, url: string, words: string): Promise<void> {
  await expect(async () => {
    await page.goto(url);
    await expect(page.getByText(words).filter({ visible: true }).first()).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 60_000 });
}

/** What the API tells of an operation: its state and version at the least. */
export async function read(page: Page, server: Server, id: string): Promise<{ state: string; version: number }> {
  const answer = await page.request.get(`${server.url}/api/v1/operations/${id}`);
  expect(answer.status()).toBe(200);
  return answer.json();
}

/** Proposes an operation, its arguments as they are written here; its id. */
export async function propose(page: Page, server: Server, key: string, args: string): Promise<string> {
  const answer = await page.request.post(`${server.url}/api/v1/operations`, {
    data: `{"operation_key":${JSON.stringify(key)},"tool":"charge","arguments":${args}}`,
    headers: { origin: server.url, 'content-type': 'application/json' },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return (await answer.json()).id;
}

/** Acts on an operation as it is now, as a program would that somebody gave their rights to. */
export async function act(page: Page, server: Server, id: string, action: string): Promise<void> {
  const { version } = await read(page, server, id);
  const answer = await page.request.post(`${server.url}/api/v1/operations/${id}/actions`, {
    data: { action, reason: 'The order was checked.' },
    headers: { origin: server.url, 'idempotency-key': `"${action}-${id}"`, 'if-match': `"${version}"` },
  });
  expect(answer.status(), await answer.text()).toBe(200);
}

/** Waits until an operation is in a state. */
export async function untilState(page: Page, server: Server, id: string, state: RegExp): Promise<void> {
  await expect.poll(async () => (await read(page, server, id)).state, { timeout: 60_000 }).toMatch(state);
}

/** What a form would send. */
export async function formFields(page: Page, action: string): Promise<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const field of await page.locator(`form[action="${action}"] [name]`).all()) {
    fields[(await field.getAttribute('name'))!] = await field.inputValue();
  }
  return fields;
}
