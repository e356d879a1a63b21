// Retry layers and approvals: both pages say the same with script and without, and lead on to where something is done.
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { command, declareTool } from '../support/record.ts';

test.use({ storageState: ANONYMOUS });

const PAY = {
  name: 'pay',
  class: 'irreversible',
  destination: 'psp',
  executable: true,
  stake: { amount_minor: 'amount', currency: 'currency' },
  contract: { layer_retries: 'off' },
  retry_owners: { temporary: 'adapter' },
};

test('layers that multiply are found, with what to switch off', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  await signIn(page, server);
  await page.goto(`${server.url}/layers`);
  await expect(page.getByText('No tool is known')).toBeVisible();
  await expect(page.getByText('No layer declares itself')).toBeVisible();

  declareTool(server, PAY);
  const ts = new Date().toISOString();
  const layer = (name: string, more: object) => JSON.stringify({ ts, ev: 'layer.declared', layer: name, tool: 'pay', max_attempts: 3, ...more });
  const lines = [layer('adapter', { on: ['429'] }), layer('stripe-sdk', { on: ['429'] }), layer('workflow', { on: ['restart'] })];
  command(server, ['import', '-', '--source', 'billing', '--trust', 'verified'], lines.join('\n'));
  await page.goto(`${server.url}/layers`);
  await hydrated(page);
  await expect(page.getByRole('row', { name: /^pay irreversible → psp .*3 × 3 × 3 = 27/ })).toBeVisible();
  await expect(page.getByText('Two owners for 429: adapter, stripe-sdk.')).toBeVisible();
  await expect(page.getByText('max_network_retries = 0').first()).toBeVisible();
  await expect(page.getByText('contract_says_off')).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'layers');
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});

test('what waits for an authorization is in groups, and leads to its form', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  await signIn(page, server);
  declareTool(server, PAY);
  await page.goto(`${server.url}/approvals`);
  await expect(page.getByText('Nothing waits for an authorization')).toBeVisible();

  const propose = (key: string, amount: number) =>
    page.request.post(`${server.url}/api/v1/operations`, {
      data: { operation_key: key, tool: 'pay', arguments: { order: key, amount, currency: 'EUR' } },
      headers: { origin: server.url },
    });
  expect((await propose('pay:1', 2_000)).status()).toBe(201);
  expect((await propose('pay:2', 500)).status()).toBe(201);
  expect((await propose('pay:2', 900)).status(), 'other arguments under the same key are refused, and kept').toBe(422);

  await page.goto(`${server.url}/approvals`);
  await hydrated(page);
  await expect(page.getByRole('heading', { name: '1 new proposal' })).toBeVisible();
  await expect(page.getByRole('heading', { name: '1 proposal whose arguments changed' })).toBeVisible();
  await expect(page.getByText('900', { exact: true })).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'approvals');
  await page.getByRole('link', { name: 'Approve: pay:1' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Approve' })).toBeVisible();
});
