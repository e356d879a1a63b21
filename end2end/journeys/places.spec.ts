// The places of the desk: what a destination bears, one tool, deliveries, and a list as a file. Each with script and without.
import { readFileSync } from 'node:fs';
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { command, declareTool } from '../support/record.ts';
import type { Server } from '../support/server.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

const PAY = {
  name: 'pay',
  class: 'irreversible',
  destination: 'psp',
  retry_owners: { temporary: 'sdk' },
  contract: { key_location: 'Idempotency-Key', key_retention_s: 86_400, verification: 'tested_live', checked_at: '2026-09-12', attempts_cap: 4 },
};

/** Two operations of an hour ago, one of them tried three times, both uncertain. */
function lines(): string {
  const at = (seconds: number) => new Date(Date.now() - 3_600_000 + seconds * 1_000).toISOString();
  const end = (op: string, key: string, n: number, second: number) =>
    JSON.stringify({ ts: at(second), ev: 'attempt.ended', op, key, tool: 'pay', dest: 'psp', owner: 'sdk', n, outcome: 'timeout' });
  return [end('a', 'key:a', 1, 0), end('a', 'key:a', 2, 5), end('a', 'key:a', 3, 9), end('b', '=key:b', 1, 20)].join('\n');
}

async function play(page: Page, startServer: (options: object) => Promise<Server>): Promise<Server> {
  const server = await startServer({ data: 'empty', destinations: { psp: 'http://127.0.0.1:9' } });
  declareTool(server, { ...PAY, class: 'reversible' });
  declareTool(server, PAY);
  command(server, ['import', '-', '--source', 'billing', '--trust', 'verified'], lines());
  await signIn(page, server);
  return server;
}

/** Pictures of a page as it is, in the dark, and narrow; a narrow screen never moves sideways. */
async function pictures(page: Page, name: string): Promise<void> {
  await picture(page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 360, height: 800 });
  await picture(page, `${name}-narrow`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth), `${name} at 360 px`).toBeLessThanOrEqual(360);
  await expectAccessible(page);
  await page.setViewportSize({ width: 1280, height: 800 });
}

test('a budget tells what it bears, what it costs, and leads to what it counts', async ({ page, startServer }) => {
  const server = await play(page, startServer);
  await expect(async () => {
    await page.goto(`${server.url}/budgets?window=24h`);
    await expect(page.getByText('everything on record is counted')).toBeVisible({ timeout: 1_000 });
    await expect(page.getByRole('row', { name: /^psp 2 2 100 %/ })).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
  await hydrated(page);
  await expect(page.getByText('never since this is kept')).toBeVisible();
  await expect(page.getByRole('row', { name: /^irreversible pay → psp 3 \* 4 30 s \* / })).toBeVisible();
  await expectAccessible(page);
  await pictures(page, 'budgets');
  await page.getByRole('table').getByRole('link', { name: 'psp', exact: true }).click();
  await expect(page.getByText('Only what was sent and counted')).toBeVisible();
  await expect(page.getByRole('link', { name: 'key:a', exact: true })).toBeVisible();
});

test('a tool has a page of its own, and its operations lead there', async ({ page, startServer }) => {
  const server = await play(page, startServer);
  await page.goto(`${server.url}/operations?search=key:a`);
  await hydrated(page);
  await page.getByRole('link', { name: 'key:a' }).click();
  await page.getByRole('link', { name: 'pay → psp' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'pay' })).toBeVisible();
  await hydrated(page);
  await expect(page.getByRole('row', { name: 'Keeps keys ≥ 1 d, from first seen tested live on 2026-09-12' })).toBeVisible();
  const declarations = page.locator('section').filter({ has: page.getByRole('heading', { name: /^Declarations/ }) });
  await expect(declarations.locator('.version').filter({ hasText: '/class' })).toContainText('"irreversible"');
  await expectAccessible(page);
  await pictures(page, 'tool');
  await page.goto(`${server.url}/tools`);
  await page.getByRole('link', { name: 'pay', exact: true }).click();
  await page.getByRole('link', { name: 'its operations' }).click();
  await expect(page.getByRole('link', { name: 'key:a' })).toBeVisible();
});

test('a list is a file with the same rows, and none of its cells is a formula', async ({ page, startServer }) => {
  const server = await play(page, startServer);
  await page.goto(`${server.url}/operations?state=uncertain`);
  await hydrated(page);
  await pictures(page, 'operations');
  const coming = page.waitForEvent('download');
  await page.getByRole('link', { name: 'This list as CSV' }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toMatch(/^operations-\d{4}-\d\d-\d\dT\d{6}Z\.csv$/);
  const rows = readFileSync(await download.path(), 'utf8').split('\r\n');
  expect(rows[0]).toContain('"in_state_since_utc","in_state_since (UTC)"');
  expect(rows.slice(1, 3).map((row) => row.split(',')[0]).sort()).toEqual(['"\'=key:b"', '"key:a"']);
  expect(rows.slice(3)).toEqual(['']);
});

test('deliveries are looked through for those that are not matched', async ({ page, startServer }) => {
  const server = await play(page, startServer);
  await page.goto(`${server.url}/deliveries`);
  await hydrated(page);
  await expect(page.getByText('No delivery is on record')).toBeVisible();
  await page.getByRole('link', { name: 'Not matched' }).click();
  await expect(page).toHaveURL(/only=unmatched/);
  await expect(page.getByText('No delivery is like that here')).toBeVisible();
  await pictures(page, 'deliveries');
});
