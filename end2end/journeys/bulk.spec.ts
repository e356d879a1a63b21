// Many at once, as an operator does it: choose rows on the queue, read what was frozen, start it once, and read what came of it.
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { REVERSIBLE_CHARGE, declareTool, importEvents } from '../support/record.ts';
import type { Server } from '../support/server.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

/** Charges that timed out, and refunds that timed out: two tools on one queue. */
function timedOut(tool: string, names: string[]): object[] {
  return names.flatMap((name) => [
    { ts: '2026-10-05T09:00:00Z', ev: 'attempt.started', op: name, key: `${tool}:${name}`, tool, dest: 'psp', n: 1, dest_key: name },
    { ts: '2026-10-05T09:00:30Z', ev: 'attempt.ended', op: name, n: 1, outcome: 'timeout' },
  ]);
}

/** A record with three charges and two refunds that timed out, and a signed-in page. */
async function fiveTimedOut(page: Page, startServer: (options: { data: 'empty' }) => Promise<Server>): Promise<Server> {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  importEvents(server, [
    ...timedOut('payments.charge', ['cart-1', 'cart-2', 'cart-3']),
    ...timedOut('payments.refund', ['order-1', 'order-2']),
  ]);
  await signIn(page, server);
  return server;
}

async function freeze(page: Page, action: string, button: string | RegExp): Promise<void> {
  await page.locator('select[name=action]').selectOption(action);
  await page.getByRole('button', { name: button }).click();
  await expect(page.getByText('preview: nothing done yet')).toBeVisible();
  await hydrated(page);
}

/** Reads the page anew until it is over, as a person without live updates does. */
async function untilDone(page: Page): Promise<void> {
  await expect(async () => {
    await page.reload();
    await expect(page.locator('h1 + .badge')).toContainText('done', { timeout: 1_000 });
  }).toPass();
}

test('rows of the queue are commented on at once, and pressing start twice starts once', async ({ page, startServer }) => {
  const server = await fiveTimedOut(page, startServer);
  await page.goto(server.url);
  await hydrated(page);
  await expectAccessible(page);
  await page.getByLabel('Choose payments.charge:cart-1').check();
  await page.getByLabel('Choose payments.refund:order-2').check();
  await picture(page, 'bulk-choosing');
  await freeze(page, 'comment', 'Preview for the chosen rows');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Comment: 2 of 2 operations');
  await expect(page.getByText('2 will be commented on.')).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'bulk-preview');
  await page.getByLabel(/^Comment/).fill('The provider was down from 09:00 to 09:10.');
  const place = page.url();
  const fields = {
    id: await page.locator('input[name=id]').inputValue(),
    hash: await page.locator('input[name=hash]').inputValue(),
    reason: 'The provider was down from 09:00 to 09:10.',
  };
  await page.getByRole('button', { name: 'Start: Comment' }).dblclick();
  await expect(page.getByRole('heading', { name: 'How far it is' })).toBeVisible();
  await untilDone(page);
  await expect(page.locator('.fact-grid')).toContainText('2 of 2');
  await expectAccessible(page);
  await picture(page, 'bulk-done');

  // The same press once more: the form is gone, the request is not.
  const again = await page.request.post(`${server.url}/ui/start_bulk`, {
    form: fields,
    headers: { accept: 'text/html', origin: server.url },
    maxRedirects: 0,
  });
  await page.goto(new URL(again.headers()['location']!, server.url).href);
  await expect(page.getByText('Already recorded')).toBeVisible();
  await page.goto(`${server.url}/actions`);
  await expect(page.locator('tbody a[href^="/actions/"]')).toHaveCount(2);
  await page.locator('tbody a[href^="/actions/"]').first().click();
  await page.getByRole('link', { name: 'bulk action' }).click();
  await expect(page).toHaveURL(new RegExp(new URL(place).pathname));
});

test('changing the filter in another tab does not change what is confirmed in this one', async ({ page, context, startServer }) => {
  const server = await fiveTimedOut(page, startServer);
  await page.goto(`${server.url}/operations?tool=payments.charge`);
  await hydrated(page);
  await page.getByRole('link', { name: 'Choose all that match the filter …' }).click();
  await expect(page.getByText('All 3 operations that match now, on every page: tool: payments.charge.')).toBeVisible();
  await freeze(page, 'escalate', 'Preview for all 3');

  const other = await context.newPage();
  await other.goto(`${server.url}/operations?tool=payments.refund&choose=matching`);
  await hydrated(other);
  await freeze(other, 'escalate', 'Preview for all 2');
  // What matches the first filter grows, too.
  importEvents(server, timedOut('payments.charge', ['cart-4']));

  await page.getByLabel(/^Reason/).fill('The provider does not answer.');
  await page.getByRole('button', { name: 'Start: Escalate' }).click();
  await untilDone(page);
  await expect(page.locator('.rows--items tbody tr')).toHaveCount(3);
  await page.goto(`${server.url}/actions`);
  await expect(page.locator('tbody a[href^="/actions/"]')).toHaveCount(3);
  await expect(page.locator('tbody')).not.toContainText('refund');
  await expect(page.locator('tbody')).not.toContainText('cart-4');
  await other.reload();
  await expect(other.getByText('preview: nothing done yet')).toBeVisible();
});

test('what may not be done beside others is skipped with its reason, and an empty choice is said', async ({ page, startServer }) => {
  const server = await fiveTimedOut(page, startServer);
  await page.goto(`${server.url}/?choose=page`);
  await hydrated(page);
  await expect(page.getByText('filter the list to choose more than a page')).toBeVisible();
  await freeze(page, 'look_up', 'Preview for the chosen rows');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Look up: 3 of 5 operations');
  await expect(page.getByText(/^2 are skipped\./)).toBeVisible();
  await page.getByRole('button', { name: 'Start: Look up' }).click();
  await untilDone(page);
  await expect(page.locator('.fact-grid')).toContainText('3 of 3');
  await page.getByRole('link', { name: /^skipped 2$/ }).click();
  await expect(page.locator('.rows--items tbody tr')).toHaveCount(2);

  await page.goto(server.url);
  await hydrated(page);
  await page.getByRole('button', { name: 'Preview for the chosen rows' }).click();
  await expect(page.getByText('Nothing was frozen and nothing was done.')).toBeVisible();
});
