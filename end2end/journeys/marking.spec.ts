// Case R01 after its timeout, as an operator meets it: open it from the queue, decide once, and find that it counted once.
import { ANONYMOUS, expect, expectAccessible, hasJavaScript, hydrated, picture, signIn, test } from '../support/test.ts';
import { formFields } from '../support/acting.ts';
import { R01, REVERSIBLE_CHARGE, declareTool, importEvents } from '../support/record.ts';
import type { Server } from '../support/server.ts';
import type { Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

const KEY = 'credit_purchase:cart-77';

/** A record with R01 up to its timeout, and a page on its queue. */
async function queueOfOne(page: Page, startServer: (options: { data: 'empty' }) => Promise<Server>): Promise<Server> {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  importEvents(server, R01.slice(0, 4));
  await signIn(page, server);
  await page.goto(server.url);
  await hydrated(page);
  return server;
}

async function openForm(page: Page, label: string): Promise<void> {
  await page.goto(await operationUrl(page));
  await hydrated(page);
  await page.getByRole('link', { name: label, exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible();
  await hydrated(page);
}

async function operationUrl(page: Page): Promise<string> {
  const link = page.locator('a[href^="/operations/"]').filter({ hasText: /cart-77|Open/ }).first();
  const href = await link.getAttribute('href');
  return new URL(href!.split('?')[0]!, page.url()).href;
}

async function fillIn(page: Page, reason: string): Promise<void> {
  await page.getByLabel(/^Receipt/).fill('pi_A');
  await page.getByLabel(/^Reason/).fill(reason);
  await page.locator('input[name=confirmation]').fill('cart-77');
}

test('an uncertain charge is marked succeeded, and pressing again counts once', async ({ page, startServer }) => {
  const server = await queueOfOne(page, startServer);
  await expect(page.getByText('1 outcome needs a person')).toBeVisible();
  await expectAccessible(page);
  await openForm(page, 'Mark succeeded');
  await expectAccessible(page);
  await picture(page, 'mark-succeeded');
  await fillIn(page, 'Found pi_A on the provider’s own page.');
  const sent = await formFields(page, '/ui/submit_action');
  await page.getByRole('button', { name: 'Mark succeeded' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Mark succeeded' })).toBeVisible();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  const answer = page.url();

  // The same POST once more, as a replayed request sends it.
  const again = await page.request.post(`${server.url}/ui/submit_action`, {
    form: sent,
    headers: { accept: 'text/html', origin: server.url },
    maxRedirects: 0,
  });
  expect(again.status()).toBe(302);
  await page.goto(new URL(again.headers()['location']!, server.url).href);
  await expect(page.getByText('Already recorded')).toBeVisible();
  expect(new URL(page.url()).pathname).toBe(new URL(answer).pathname);

  await page.goto(`${server.url}/actions`);
  await expect(page.locator('a[href^="/actions/"]')).toHaveCount(1);
  await page.goto(`${server.url}/operations?search=${encodeURIComponent(KEY)}`);
  await expect(page.getByText('attested').first()).toBeVisible();
  await page.goto(server.url);
  await expect(page.getByText('No outcome needs a person')).toBeVisible();
});

test('a double click makes one action', async ({ page, startServer }) => {
  const server = await queueOfOne(page, startServer);
  await openForm(page, 'Mark succeeded');
  await fillIn(page, 'Found pi_A on the provider’s own page.');
  await page.getByRole('button', { name: 'Mark succeeded' }).dblclick();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await page.goto(`${server.url}/actions`);
  await expect(page.locator('a[href^="/actions/"]')).toHaveCount(1);
});

test('of two tabs the older one is refused, shows what changed, and keeps what was typed', async ({ page, context, startServer }) => {
  const server = await queueOfOne(page, startServer);
  await openForm(page, 'Mark succeeded');
  const other = await context.newPage();
  await other.goto(server.url);
  await hydrated(other);
  await openForm(other, 'Comment');
  await other.getByLabel(/^Comment/).fill('Asked the provider.');
  await other.getByRole('button', { name: 'Comment' }).click();
  await expect(other.getByText('Done. It is on record.')).toBeVisible();

  const typed = 'Seen it </textarea><b>there</b>.';
  await fillIn(page, typed);
  await page.getByRole('button', { name: 'Mark succeeded' }).click();
  await expect(page.getByText('Not done: the operation changed while you were deciding')).toBeVisible();
  await expect(page.getByText(/What changed since version/)).toBeVisible();
  await expect(page.getByLabel(/^Reason/)).toHaveValue(typed);
  await expect(page.getByLabel(/^Receipt/)).toHaveValue('pi_A');
  await picture(page, 'stale-form');

  await page.locator('input[name=confirmation]').fill('cart-77');
  await page.getByRole('button', { name: 'Mark succeeded' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
});

test('what one person may not do alone, a second person completes', async ({ page, browser, startServer }) => {
  const server = await startServer({ data: 'demo' });
  await signIn(page, server);
  await page.goto(`${server.url}/operations?search=${encodeURIComponent('payout:run_19:acct_3')}`);
  await hydrated(page);
  await openAction(page, 'payout:run_19', 'Mark succeeded');
  await page.getByLabel(/^Receipt/).fill('po_4471');
  await page.getByLabel(/^Reason/).fill('On the bank’s statement.');
  await page.locator('input[name=confirmation]').fill('acct_3');
  await page.getByRole('button', { name: /second person/ }).click();
  await expect(page.getByText('Nothing yet: it waits for a second person.')).toBeVisible();
  const waiting = page.url();
  await expect(page.getByRole('button', { name: /^Complete/ })).toBeDisabled();

  const stranger = await browser.newContext({ storageState: ANONYMOUS, javaScriptEnabled: hasJavaScript() });
  const second = await stranger.newPage();
  await second.goto(`${server.url}/sign-in`);
  await second.locator('input[name=login]').fill('noor');
  await second.locator('input[type=password]').fill('tallystick-demo');
  await second.getByRole('button', { name: /sign in/i }).click();
  await second.goto(waiting);
  await hydrated(second);
  await second.locator('input[name=confirmation]').fill('acct_3');
  await second.getByRole('button', { name: /^Complete/ }).click();
  await expect(second.getByText('Noor Haddad completed it as the second person.')).toBeVisible();
  await stranger.close();
});

async function openAction(page: Page, key: string, label: string): Promise<void> {
  await page.locator('a[href^="/operations/"]').filter({ hasText: key.slice(0, 6) }).first().click();
  await expect(page.getByText('What may be done now')).toBeVisible();
  await hydrated(page);
  await page.getByRole('link', { name: label, exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible();
  await hydrated(page);
}
