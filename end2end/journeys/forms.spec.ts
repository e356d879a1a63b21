// No button lies: whatever happens in the middle of a form, it ends in one effect or in none, and the page says in which.
// A double click, a replayed request and an overtaken version are in `marking`.
import { ANONYMOUS, expect, expectAccessible, hasJavaScript, hydrated, picture, signIn, test } from '../support/test.ts';
import { formFields } from '../support/acting.ts';
import { R01, REVERSIBLE_CHARGE, command, declareTool, importEvents } from '../support/record.ts';
import type { Server } from '../support/server.ts';
import type { BrowserContext, Page } from '@playwright/test';

test.use({ storageState: ANONYMOUS });

const BUTTON = 'Mark succeeded';
const REASON = 'Found pi_A on the provider’s own page.';

/** A charge that timed out, and the form by which it is marked. */
async function formOfOne(page: Page, startServer: (options: { data: 'empty' }) => Promise<Server>): Promise<Server> {
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  importEvents(server, R01.slice(0, 4));
  await signIn(page, server);
  const { rows } = await (await page.request.get(`${server.url}/api/v1/operations`)).json();
  await page.goto(`${server.url}/operations/${rows[0].id}/mark_succeeded`);
  await hydrated(page);
  return server;
}

async function fillIn(page: Page, reason = REASON): Promise<void> {
  await page.getByLabel(/^Receipt/).fill('pi_A');
  await page.getByLabel(/^Reason/).fill(reason);
  await page.locator('input[name=confirmation]').fill('cart-77');
}

async function press(page: Page): Promise<void> {
  await page.getByRole('button', { name: BUTTON }).click();
}

/** The audit log has so many rows, and one of them is done. */
async function expectActions(page: Page, server: Server, rows: number, done = 1): Promise<void> {
  await page.goto(`${server.url}/actions`);
  await expect(page.getByRole('heading', { level: 1, name: 'Actions' })).toBeVisible();
  await expect(page.locator('.rows--log tbody tr')).toHaveCount(rows);
  await expect(page.locator('.rows--log tbody tr').filter({ hasText: 'done' })).toHaveCount(done);
}

test('after going back the form says what became of it, and reloading the answer sends nothing', async ({ page, startServer }) => {
  const server = await formOfOne(page, startServer);
  await fillIn(page);
  await press(page);
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await page.reload();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();

  await page.goBack();
  await hydrated(page);
  await expect(page.getByRole('heading', { level: 1, name: BUTTON })).toBeVisible();
  await expect(page.getByRole('button', { name: BUTTON })).toBeDisabled();
  await expect(page.locator('main')).toContainText('attested');
  await expectActions(page, server, 1);
});

test('one form in two tabs is sent once', async ({ page, context, startServer }) => {
  const server = await formOfOne(page, startServer);
  const twin = await duplicate(page, context);
  await fillIn(page);
  await fillIn(twin);
  await press(page);
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await press(twin);
  await expect(twin.getByText('Already recorded')).toBeVisible();
  await expect(twin).toHaveURL(new RegExp(new URL(page.url()).pathname));
  await expectActions(page, server, 1);
});

test('one form in two tabs with different words counts as it was sent first', async ({ page, context, startServer }) => {
  const server = await formOfOne(page, startServer);
  const twin = await duplicate(page, context);
  await fillIn(page);
  await press(page);
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await fillIn(twin, 'Somebody said so.');
  await press(twin);
  await expect(twin.getByText('Not done: this form had already been sent with other content')).toBeVisible();
  await expect(twin.getByText(REASON)).toBeVisible();
  await expectActions(page, server, 1);
});

test('a form whose session has ended does nothing, gives back what was written, and leads back through signing in', async ({ page, context, startServer }) => {
  const server = await formOfOne(page, startServer);
  command(server, ['user', 'add', 'mira', '--name', 'Mira Sol', '--role', 'operator', '--password-stdin'], 'correct horse battery\n');
  const form = page.url();
  const typed = 'Found </pre><b>pi_A</b> there.';
  await fillIn(page, typed);
  const other = await context.newPage();
  await other.goto(server.url);
  await hydrated(other);
  await other.locator('.me summary').click();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await expect(other.locator('input[type=password]')).toBeVisible();

  await press(page);
  await expect(page.getByRole('heading', { level: 1, name: 'Your session has ended' })).toBeVisible();
  await expect(page.getByText('Nothing was done')).toBeVisible();
  await expect(page.getByText(typed)).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'session-ended');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.locator('input[name=login]').fill('mira');
  await page.locator('input[name=password]').fill('correct horse battery');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(form);
  await hydrated(page);
  await fillIn(page);
  await press(page);
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await expect(page.getByText('Mira Sol').first()).toBeVisible();
  await expectActions(page, server, 1);
});

test('a server that was restarted meanwhile takes the form', async ({ page, startServer }) => {
  const server = await formOfOne(page, startServer);
  await fillIn(page);
  await server.restart();
  await press(page);
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await expectActions(page, server, 1);
});

test('a form that found no server is sent once, when it is there again', async ({ page, startServer }) => {
  const server = await formOfOne(page, startServer);
  await fillIn(page);
  const fields = await formFields(page, '/ui/submit_action');
  await server.kill();
  await press(page);
  await page.waitForURL(/chrome-error:/);
  await server.restart();
  // What the browser's own page offers is to send the same request again. It may have arrived before: twice is once.
  const send = () =>
    page.request.post(`${server.url}/ui/submit_action`, { form: fields, headers: { accept: 'text/html', origin: server.url } });
  expect(await (await send()).text()).toContain('Done. It is on record.');
  expect(await (await send()).text()).toContain('Already recorded');
  await expectActions(page, server, 1);
});

test('a form in the middle of a bulk action: back, reload and a second tab start it once', async ({ page, context, startServer }) => {
  const server = await formOfOne(page, startServer);
  await page.goto(`${server.url}/?choose=page`);
  await hydrated(page);
  await page.locator('select[name=action]').selectOption('comment');
  await page.getByRole('button', { name: /^Preview/ }).click();
  await expect(page.getByText('preview: nothing done yet')).toBeVisible();
  await hydrated(page);
  const twin = await context.newPage();
  await twin.goto(page.url());
  await hydrated(twin);
  for (const tab of [page, twin]) await tab.getByLabel(/^Comment/).fill('The provider was down.');
  await page.getByRole('button', { name: 'Start: Comment' }).click();
  await expect(page.getByRole('heading', { name: 'How far it is' })).toBeVisible();
  await page.reload();
  const again = twin.getByRole('button', { name: 'Start: Comment' });
  if (hasJavaScript()) {
    // That tab follows: what is started cannot be started there any more.
    await expect(again).toHaveCount(0);
  } else {
    await again.click();
    await expect(twin.getByText('Already recorded')).toBeVisible();
  }
  await page.goBack();
  await hydrated(page);
  await expect(page.getByRole('button', { name: 'Start: Comment' })).toHaveCount(0);
  await expect(async () => {
    await page.goto(`${server.url}/actions`);
    await expect(page.locator('.rows--log tbody tr')).toHaveCount(1, { timeout: 1_000 });
  }).toPass();
});

test('settings that somebody else changed meanwhile are not overwritten', async ({ page, context, startServer }) => {
  const server = await startServer({ data: 'empty' });
  await signIn(page, server);
  const other = await context.newPage();
  for (const tab of [page, other]) {
    await tab.goto(`${server.url}/settings`);
    await hydrated(tab);
  }
  const save = async (tab: Page, zone: string) => {
    await tab.locator('input[name=zone]').fill(zone);
    await tab.getByRole('button', { name: 'Save the zone' }).click();
  };
  await save(other, 'Asia/Tokyo');
  await expect(other.getByText('Saved', { exact: true })).toBeVisible();
  await save(page, 'Europe/Paris');
  await expect(page.getByText('Not saved')).toBeVisible();
  await expect(page.locator('input[name=zone]')).toHaveValue('Asia/Tokyo');
});

// A second tab with the same form: opening its address again would make another one.
async function duplicate(page: Page, context: BrowserContext): Promise<Page> {
  const key = await page.locator('input[name=action_key]').inputValue();
  const twin = await context.newPage();
  await twin.goto(page.url());
  await hydrated(twin);
  await twin.locator('input[name=action_key]').evaluate((field, key) => ((field as HTMLInputElement).value = key), key);
  return twin;
}
