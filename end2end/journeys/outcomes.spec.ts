// Attempts and outcomes: the chart's table says the same with script and without, and every number leads to exactly the
// operations that it counts.
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { command } from '../support/record.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

/** Three operations of an hour ago: one tried three times, one uncertain, one that went well. */
function lines(): string {
  const at = (seconds: number) => new Date(Date.now() - 3_600_000 + seconds * 1_000).toISOString();
  const end = (op: string, n: number, second: number, more: object) =>
    JSON.stringify({ ts: at(second), ev: 'attempt.ended', op, key: `key:${op}`, tool: 'pay', dest: 'psp', owner: 'sdk', n, ...more });
  const throttled = { outcome: 'throttled', http: 429 };
  return [
    end('a', 1, 0, throttled),
    end('a', 2, 5, throttled),
    end('a', 3, 9, { outcome: 'ok', receipt: 'r-a' }),
    end('b', 1, 20, { outcome: 'timeout' }),
    end('c', 1, 30, { outcome: 'ok', receipt: 'r-c' }),
  ].join('\n');
}

/** Opens the page until everything is counted: it is counted after the commit. */
async function counted(page: Page, url: string): Promise<void> {
  await expect(async () => {
    await page.goto(url);
    await expect(page.getByText('3 operations · 5 attempts', { exact: true })).toBeVisible({ timeout: 1_000 });
    await expect(page.getByText('everything on record is counted')).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
  await hydrated(page);
}

test('attempts and operations are two figures, and each leads to what it counts', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  await signIn(page, server);
  await page.goto(`${server.url}/outcomes`);
  await expect(page.getByText('Nothing was attempted in this window')).toBeVisible();

  command(server, ['import', '-', '--source', 'billing', '--trust', 'verified'], lines());
  await counted(page, `${server.url}/outcomes?window=24h`);
  await expectAccessible(page);
  await picture(page, 'outcomes');

  const tools = page.getByRole('table', { name: 'By tool' });
  await expect(tools.getByRole('row', { name: /^pay 3 5 1\.67 1 \(33 %\) 0/ })).toBeVisible();
  await tools.getByRole('link', { name: 'pay' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Operations' })).toBeVisible();
  await expect(page.getByText('Only what was sent and counted')).toBeVisible();
  for (const key of ['key:a', 'key:b', 'key:c']) await expect(page.getByRole('link', { name: key })).toBeVisible();

  await page.goto(`${server.url}/outcomes?window=24h`);
  await page.getByRole('table', { name: /by verdict/ }).getByRole('link', { name: 'refused' }).click();
  await expect(page.getByRole('link', { name: 'key:a' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'key:b' })).toHaveCount(0);
  await page.getByRole('link', { name: 'Show all' }).click();
  await expect(page.getByRole('link', { name: 'key:b' })).toBeVisible();
});

test('a narrow screen moves the chart and the tables, not the page', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  await signIn(page, server);
  command(server, ['import', '-', '--source', 'billing', '--trust', 'verified'], lines());
  await page.setViewportSize({ width: 360, height: 800 });
  await counted(page, `${server.url}/outcomes?window=30d`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide).toBeLessThanOrEqual(360);
  await expectAccessible(page);
});
