// One operation, whole: a very long timeline that can be read, arguments too large for a page, versions that only look alike.
import { readFileSync } from 'node:fs';
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { REVERSIBLE_CHARGE, declareTool, importEvents, manyAttempts } from '../support/record.ts';
import type { Server } from '../support/server.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

/** The only operation of a server. */
async function onlyOperation(page: Page, server: Server): Promise<{ id: string; version: number }> {
  const found = await page.request.get(`${server.url}/api/v1/operations`);
  const { rows } = await found.json();
  expect(rows).toHaveLength(1);
  return rows[0];
}

async function propose(page: Page, server: Server, args: string): Promise<string> {
  const answer = await page.request.post(`${server.url}/api/v1/operations`, {
    data: `{"operation_key":"order:7","tool":"payments.charge","arguments":${args}}`,
    headers: { origin: server.url, 'content-type': 'application/json' },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  return `${server.url}/operations/${(await answer.json()).id}`;
}

/** Pictures as four kinds of reader see it. */
async function pictures(page: Page, name: string): Promise<void> {
  const wide = page.viewportSize()!;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `${name}-${colorScheme}`);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(360);
    await picture(page, `${name}-${colorScheme}-narrow`);
    await page.setViewportSize(wide);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

test('five hundred attempts of three layers are one page that can be read', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  importEvents(server, manyAttempts());
  await signIn(page, server);
  const { id, version } = await onlyOperation(page, server);
  const remark = await page.request.post(`${server.url}/api/v1/operations/${id}/actions`, {
    data: { action: 'comment', reason: 'The run was stopped at noon.' },
    headers: { origin: server.url, 'idempotency-key': 'remark', 'if-match': `"${version}"` },
  });
  expect(remark.status(), await remark.text()).toBe(200);

  const answer = await page.goto(`${server.url}/operations/${id}`);
  expect((await answer!.body()).length, 'bytes of the page').toBeLessThan(200_000);
  await hydrated(page);
  const timeline = page.getByRole('region', { name: /^Timeline/ });
  await expect(timeline.getByText(/^500 attempts in \d+ bars: /)).toBeVisible();
  expect(await timeline.locator('.lanes__bar').count()).toBeLessThanOrEqual(90);
  for (const [layer, count] of [['agent', 2], ['worker', 18], ['sdk', 480]]) {
    await expect(timeline.locator('.lanes__name').filter({ hasText: `${layer}` })).toHaveText(`${layer}×${count}`);
  }
  // What people and destinations said stands among what was sent.
  const entries = timeline.locator('.timeline__item');
  await expect(entries.nth(0)).toContainText('commented');
  await expect(entries.nth(0)).toContainText('The run was stopped at noon.');
  await expect(entries.filter({ hasText: 'Delivery names pi_500' })).toBeVisible();
  await expect(entries.filter({ hasText: 'Look-up: absent' })).toBeVisible();

  const run = entries.filter({ hasText: '×24 the same' }).first();
  await expect(run.getByText('Attempt 499', { exact: false })).toBeHidden();
  await run.getByText('×24 the same').click();
  await expect(run.locator('.timeline__repeats li')).toHaveCount(23);
  await expect(run.getByText('Attempt 499', { exact: false })).toBeVisible();
  await expectAccessible(page);
  await pictures(page, 'operation-500');
  await expect(entries.filter({ hasText: 'Authorized at the source by user:ana' })).toBeVisible();
  await expect(entries.last()).toContainText('Proposed');

  await page.goto(`${server.url}/operations`);
  const row = page.getByRole('row', { name: /payout:run-7/ });
  await expect(row).toContainText('+488');
  expect(await row.locator('.notch').count()).toBe(12);
});

test('a timeline of more entries than a page holds goes on on the next', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  const ts = (n: number) => new Date(Date.parse('2026-10-05T00:00:00Z') + n * 60_000).toISOString();
  const attempts = Array.from({ length: 70 }, (_, n) => ({ ts: ts(n + 1), ev: 'attempt.ended', op: 'op_1', n: n + 1, outcome: 'error', http: 500 + (n % 2) }));
  importEvents(server, [
    { ts: ts(0), ev: 'operation.proposed', op: 'op_1', key: 'charge:order-1', tool: 'payments.charge', dest: 'psp', args: {} },
    ...attempts,
  ]);
  await signIn(page, server);
  const { id } = await onlyOperation(page, server);
  await page.goto(`${server.url}/operations/${id}`);
  await hydrated(page);
  const timeline = page.getByRole('region', { name: /^Timeline/ });
  const entries = timeline.locator('.timeline__item');
  await expect(timeline).toContainText('entries 1 to 50 of 71, newest first');
  await expect(entries.first()).toContainText('Attempt 70');
  await timeline.getByRole('link', { name: 'Older entries' }).click();
  await expect(timeline).toContainText('entries 51 to 71 of 71, newest first');
  await expect(entries.last()).toContainText('Proposed');
  await page.reload();
  await expect(entries.last()).toContainText('Proposed');
  await timeline.getByRole('link', { name: 'Newer entries' }).click();
  await expect(entries.first()).toContainText('Attempt 70');
});

test('eight mebibytes of arguments are a part on the page and a file to the byte', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  await signIn(page, server);
  const frame = '{"id":1970670598291982290,"text":""}';
  const args = frame.replace('""', `"${'x'.repeat(8 * 1024 * 1024 - frame.length)}"`);
  const operation = await propose(page, server, args);

  const answer = await page.goto(operation);
  expect((await answer!.body()).length, 'bytes of the page').toBeLessThan(100_000);
  await hydrated(page);
  await expect(page.getByText('The first 4,096 of 8,388,608 bytes, as received.')).toBeVisible();
  await expect(page.getByText('{"id":1970670598291982290,"text":"xxx', { exact: false })).toBeVisible();
  await expectAccessible(page);
  await pictures(page, 'operation-8-mib');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download all bytes, exactly as received' }).click();
  const file = readFileSync(await (await download).path(), 'utf8');
  expect(file === args, 'the file is what was sent').toBe(true);

  await page.getByRole('link', { name: 'Change arguments', exact: true }).first().click();
  await expect(page.getByText('These arguments are too large to be edited here.', { exact: false })).toBeVisible();
  await expect(page.locator('textarea')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Change arguments' })).toHaveCount(0);
  await hydrated(page);
  await expectAccessible(page);
  await picture(page, 'arguments-by-api');
});

test('versions that only look alike say so wherever they are compared', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  await signIn(page, server);
  const operation = await propose(page, server, '{"payee":"Caf\\u00e9","amount":1.0,"due":"2026-07-31T18:30:00-07:00"}');
  await page.goto(operation);
  await hydrated(page);
  await page.getByRole('link', { name: 'Change arguments', exact: true }).first().click();
  await page.getByRole('textbox', { name: 'Arguments' }).fill('{"payee":"Cafe\u0301","amount":1.00,"due":"2026-08-01T01:30:00Z"}');
  await page.getByLabel(/^Reason/).fill('As the bank spells it.');
  await page.getByRole('button', { name: 'Change arguments' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  for (const place of [operation, `${server.url}/approvals`]) {
    await page.goto(place);
    await hydrated(page);
    for (const said of ['differs only in Unicode composition', 'differs only in how the number is spelled', 'names the same instant']) {
      await expect(page.getByText(said).first()).toBeVisible();
    }
    await expect(page.getByText(/^They differ only in Unicode composition, in how a number is spelled and /).first()).toBeVisible();
    await expectAccessible(page);
  }
  await picture(page, 'approvals-alike');
  await page.goto(operation);
  await hydrated(page);
  await expect(page.getByText('Version 2', { exact: true })).toBeVisible();
  await pictures(page, 'operation-versions');
});
