// What other consoles got wrong, tried here. Each of twelve cases has a journey; those that are not below are in other files:
//
//  1  the filter changes in another tab        bulk      'changing the filter in another tab does not change what is confirmed…'
//  2  a retry of many and a retry of one       no journey yet: tests of the server's bulk actions
//  3  submitted twice, two tabs, replayed      marking   'a double click makes one action', '… pressing again counts once'
//                                              forms     'one form in two tabs is sent once'
//  4  two intents on one operation             here
//  5  a crash in the middle of many            here
//  6  the arguments change under the editor    here
//  7  a payload of 5 MB, and large numbers     here
//  8  a million operations                     no journey: a bench of the server
//  9  UTC and the workspace's zone             here
//  10 a viewer calls everything that writes    here
//  11 a fact that comes after all was settled  here
//  12 the key ends while its form is open      here
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ANONYMOUS, expect, hydrated, picture, signIn, test } from '../support/test.ts';
import { CHARGE, act, formFields, openForm, propose, read, secondPerson, untilSaid, untilState } from '../support/acting.ts';
import { Destination } from '../support/destination.ts';
import { runSql } from '../support/machine.ts';
import { R01, REVERSIBLE_CHARGE, command, declareTool, importEvents } from '../support/record.ts';
import type { Server, StartOptions } from '../support/server.ts';
import type { Page } from '@playwright/test';

type Start = (options: StartOptions) => Promise<Server>;

test.use({ storageState: ANONYMOUS });

/** Its key keeps every answer, so that people may ask again under it; only people do so, no process by itself. */
const KEYED = { ...CHARGE.contract, stores: 'any_once_started', on_mismatch: 'error', key_age_margin_s: 0, retry_owner: 'agent' };

let destination: Destination;
test.beforeEach(async () => {
  destination = await Destination.start();
});
test.afterEach(async () => destination.stop());

/** A server that sends charges to the destination, and an administrator on the page. */
async function charging(page: Page, startServer: Start, contract: object): Promise<Server> {
  const server = await startServer({ data: 'empty', destinations: { psp: destination.url } });
  // Nothing is looked up, so that nothing changes while people decide.
  declareTool(server, { ...CHARGE, look_up: undefined, contract: { ...contract, compensation: undefined, lookup: undefined } });
  await signIn(page, server);
  return server;
}

/** A charge that was made and whose answer was lost; only asking again under its key tells more. */
async function lost(page: Page, approver: Page, server: Server, key: string): Promise<string> {
  destination.drops += 1;
  const id = await propose(page, server, key, `{"order":"${key}","amount":2000,"currency":"EUR"}`);
  await act(approver, server, id, 'approve');
  await untilState(page, server, id, /^uncertain/);
  return id;
}

/** A record with R01 up to its timeout, and a signed-in page. */
async function timedOut(page: Page, startServer: Start, tool: object): Promise<Server> {
  const server = await startServer({ data: 'empty' });
  declareTool(server, tool);
  importEvents(server, R01.slice(0, 4));
  await signIn(page, server);
  return server;
}

async function onlyOperation(page: Page, server: Server): Promise<string> {
  const { rows } = await (await page.request.get(`${server.url}/api/v1/operations`)).json();
  expect(rows).toHaveLength(1);
  return rows[0].id;
}

test('4: two intents on one operation are two actions, and each must be admissible', async ({ page, startServer }) => {
  const server = await timedOut(page, startServer, REVERSIBLE_CHARGE);
  const operation = `${server.url}/operations/${await onlyOperation(page, server)}`;
  await openForm(page, operation, 'Mark succeeded');
  await page.getByLabel(/^Receipt/).fill('pi_A');
  await page.getByLabel(/^Reason/).fill('Seen on their page.');
  await page.locator('input[name=confirmation]').fill('cart-77');
  const first = await formFields(page, '/ui/submit_action');
  await page.getByRole('button', { name: 'Mark succeeded' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();

  // The same intent once more is not open any more: the button stays, and says why.
  await page.goto(`${operation}/mark_succeeded`);
  await hydrated(page);
  await expect(page.getByRole('button', { name: 'Mark succeeded' })).toBeDisabled();
  const { version } = await read(page, server, operation.split('/').at(-1)!);
  const again = await page.request.post(`${server.url}/ui/submit_action`, {
    form: { ...first, action_key: 'web-another', seen_version: String(version) },
    headers: { accept: 'text/html', origin: server.url },
  });
  expect(await again.text()).toContain('Not done');

  // Another intent is.
  await openForm(page, operation, 'Comment');
  await page.getByLabel(/^Comment/).fill('The customer was told.');
  await page.getByRole('button', { name: 'Comment' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();

  await page.goto(`${server.url}/actions`);
  const rows = page.locator('.rows--log tbody tr');
  await expect(rows).toHaveCount(3);
  const standings = rows.filter({ hasText: 'Mark succeeded' }).locator('.badge').filter({ hasText: /done|refused/ });
  await expect(standings).toHaveText([/refused, nothing done/, /^\W*done$/]);
});

test('5: a process that dies in the middle of many does no item twice', async ({ page, startServer }) => {
  const count = 250;
  const server = await startServer({ data: 'empty' });
  declareTool(server, REVERSIBLE_CHARGE);
  const names = Array.from({ length: count }, (_, index) => `cart-${index}`);
  const end = (op: string) => ({ ts: '2026-10-05T09:00:30Z', ev: 'attempt.ended', op, key: `charge:${op}`, tool: 'payments.charge', dest: 'psp', n: 1, outcome: 'timeout' });
  importEvents(server, names.map(end));
  await signIn(page, server);
  await page.goto(`${server.url}/operations?tool=payments.charge&choose=matching`);
  await hydrated(page);
  await page.locator('select[name=action]').selectOption('comment');
  await page.getByRole('button', { name: `Preview for all ${count}` }).click();
  await expect(page.getByText('preview: nothing done yet')).toBeVisible();
  await hydrated(page);
  const bulk = `${server.url}/api/v1/bulk/${page.url().split('/').at(-1)}`;
  const counts = async () => (await (await page.request.get(bulk)).json()).counts;
  await page.getByLabel(/^Comment/).fill('The provider was down.');
  const fields = await formFields(page, '/ui/start_bulk');
  const started = await page.request.post(`${server.url}/ui/start_bulk`, {
    form: fields,
    headers: { accept: 'text/html', origin: server.url },
    maxRedirects: 0,
  });
  expect(started.status()).toBe(302);
  let done = 0;
  while (done === 0) done = (await counts()).accepted;
  await server.kill();
  expect(done, 'it died in the middle').toBeLessThan(count);

  await server.restart();
  await expect.poll(async () => (await counts()).accepted, { timeout: 60_000 }).toBe(count);
  await untilSaid(page, page.url(), 'done');
  await expect(page.locator('.fact-grid')).toContainText(`${count} of ${count}`);
  const actions: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const answer = await page.request.get(`${server.url}/api/v1/actions?limit=200${next && `&after=${next}`}`);
    const log: { rows: { operation_id: string }[]; next: string | null } = await answer.json();
    actions.push(...log.rows.map((row) => row.operation_id));
    next = log.next;
  }
  expect(actions).toHaveLength(count);
  expect(new Set(actions).size, 'each operation has one').toBe(count);
});

test('6: arguments that changed under the editor are refused, with what changed', async ({ page, context, startServer }) => {
  const server = await charging(page, startServer, KEYED);
  const id = await propose(page, server, 'charge:order-6', '{"order":"order-6","amount":2000,"currency":"EUR"}');
  const operation = `${server.url}/operations/${id}`;
  await openForm(page, operation, 'Change arguments');
  const editor = page.locator('textarea[name=arguments]');
  const other = await context.newPage();
  await openForm(other, operation, 'Change arguments');
  const write = async (tab: Page, amount: number) => {
    await tab.locator('textarea[name=arguments]').fill(`{"order":"order-6","amount":${amount},"currency":"EUR"}`);
    await tab.getByLabel(/^Reason/).fill(`The order says ${amount}.`);
    const confirmation = tab.locator('input[name=confirmation]');
    if (await confirmation.count()) await confirmation.fill('order-6');
    await tab.getByRole('button', { name: 'Change arguments' }).click();
  };
  await write(other, 2500);
  await expect(other.getByText('Done. It is on record.')).toBeVisible();

  await write(page, 1800);
  await expect(page.getByText('Not done: the operation changed while you were deciding')).toBeVisible();
  const changed = page.locator('.banner--bad');
  await expect(changed).toContainText('What changed since version');
  await expect(changed).toContainText('Administrator');
  await expect(editor).toHaveValue(/1800/);
  await picture(page, 'editor-overtaken');
  await page.goto(operation);
  await expect(page.locator('.code-box').filter({ hasText: 'order-6' }).first()).toContainText('2500');
  expect(destination.attempts).toEqual([]);
});

test('7: a payload of 5 MB burdens no list, no editor shortens it, and large numbers stay exact', async ({ page, startServer }) => {
  const server = await charging(page, startServer, KEYED);
  const list = `${server.url}/operations`;
  const size = async (place: string) => (await (await page.request.get(place)).text()).length;
  const small = await propose(page, server, 'charge:order-7', '{"order":"order-7","amount":2000,"row":1970670598291982290}');
  const before = await size(list);
  const large = `{"order":"order-8","amount":2000,"row":9007199254740993,"note":"${'x'.repeat(5 * 1024 * 1024)}"}`;
  const id = await propose(page, server, 'charge:order-8', large);
  expect(await size(list), 'one more row and nothing of its payload').toBeLessThan(before + 10_000);
  expect(await size(`${server.url}/`)).toBeLessThan(200_000);
  await page.goto(`${server.url}/operations/${id}`);
  await hydrated(page);
  await expect(page.getByText('5.0 MiB').first()).toBeVisible();
  const kept = await page.request.get(`${server.url}/api/v1/operations/${id}/arguments`);
  expect((await kept.text()) === large, 'kept byte for byte').toBe(true);
  await page.goto(`${server.url}/operations/${id}/change_arguments`);
  await hydrated(page);
  for (const editor of await page.locator('textarea[name=arguments]').all()) {
    expect((await editor.inputValue()).length, 'the whole, or no editor').toBeGreaterThanOrEqual(large.length);
  }

  await openForm(page, `${server.url}/operations/${small}`, 'Change arguments');
  const editor = page.locator('textarea[name=arguments]');
  await expect(editor).toHaveValue(/1970670598291982290/);
  await editor.fill((await editor.inputValue()).replace('2000', '9007199254740993'));
  await page.getByLabel(/^Reason/).fill('A number that no double can hold.');
  await page.getByRole('button', { name: 'Change arguments' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await page.goto(`${server.url}/operations/${small}`);
  const shown = page.locator('.code-box').filter({ hasText: 'order-7' }).first();
  await expect(shown).toContainText('1970670598291982290');
  await expect(shown).toContainText('9007199254740993');
});

test('9: row, chart, filter and export agree on when it was, each in its own zone', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  await signIn(page, server);
  await page.goto(`${server.url}/settings`);
  await hydrated(page);
  await page.locator('input[name=zone]').fill('Pacific/Auckland');
  await page.getByRole('button', { name: 'Save the zone' }).click();
  await expect(page.getByText('Times are shown in this zone')).toBeVisible();

  // An evening in UTC that is the next morning there.
  const at = new Date();
  at.setUTCDate(at.getUTCDate() - 3);
  at.setUTCHours(20, 15, 0, 0);
  // "2026-11-29, 09:15:00", and the day as the chart writes it.
  const [date, clock] = at.toLocaleString('sv-SE', { timeZone: 'Pacific/Auckland' }).split(' ');
  const month = at.toLocaleString('en-US', { timeZone: 'Pacific/Auckland', month: 'short' });
  const day = `${Number(date!.slice(8))} ${month}`;
  const utc = at.toISOString().slice(0, 19);
  expect(date, 'another day there').not.toBe(utc.slice(0, 10));
  importEvents(server, [
    { ts: at.toISOString(), ev: 'attempt.ended', op: 'evening', key: 'pay:evening', tool: 'pay', dest: 'psp', n: 1, outcome: 'timeout' },
  ]);

  const bar = page.getByRole('region', { name: 'The numbers of the chart' }).getByRole('link', { name: day, exact: true });
  await expect(async () => {
    await page.goto(`${server.url}/outcomes?window=7d`);
    await expect(bar).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
  await hydrated(page);
  await expect(page.locator('.outcomes__rule')).toContainText('Days of Pacific/Auckland');
  await expect(page.locator('.chart a title')).toHaveText([new RegExp(`^${day}: 1 operations`)]);
  await bar.click();
  await expect(page.getByRole('link', { name: 'pay:evening' })).toBeVisible();
  await expect(page.locator('.narrowed')).toContainText(`from ${date} 00:00`);
  await page.getByRole('link', { name: 'pay:evening' }).click();
  const time = page.locator('.timeline time').last();
  await expect(time).toHaveAttribute('datetime', new RegExp(`^${utc}`));
  await expect(time).toContainText(clock!.slice(0, 5));
  expect(command(server, ['export'])).toContain(utc);
});

/** Values that a call gets as far as the question whether the caller may. */
const CALLS: Record<string, Record<string, string>> = {
  submit_action: { action: 'mark_succeeded', action_key: 'web-viewer-1', seen_version: '1', receipt: 'r', reason: 'r', confirmation: 'cart-77' },
  complete_action: { action_key: 'web-viewer-2', seen_version: '1', confirmation: 'cart-77' },
  decline_action: { action_key: 'web-viewer-3', seen_version: '1', reason: 'r' },
  pause_destination: { name: 'psp', is_paused: 'true' },
  acknowledge_restore: { declared_at: '2026-10-05T09:00:00Z' },
  set_zone: { zone: 'Europe/Paris', seen_version: '1' },
  declare_workflow: { name: 'order-1', unwinds: 'by_people', owner: '' },
  preview_bulk: { list: 'operations', filter: '[["tool","payments.charge"]]', scope: 'matching', action: 'comment' },
  start_bulk: { hash: '00', reason: 'r' },
  abort_bulk: {},
};
/** Writes that are a reader's own: views of lists, which nobody else sees. */
const OWN = ['save_view', 'forget_view'];

/** The server functions that write, as they are declared. Those that read are sent as JSON. */
function writing(): string[] {
  const folder = fileURLToPath(new URL('../../app/src/api/', import.meta.url));
  const sources = readdirSync(folder).filter((name) => name.endsWith('.rs'));
  const text = sources.map((name) => readFileSync(folder + name, 'utf8')).join('\n');
  const declared = [...text.matchAll(/#\[server\((prefix[^)]*)\)\]/g)].map(([, words]) => words!);
  expect(declared.length).toBeGreaterThan(20);
  return declared.filter((words) => !/input = Json/.test(words)).map((words) => /endpoint = "(\w+)"/.exec(words)![1]!);
}

test('10: a viewer who calls every function that writes is refused, and that is on record', async ({ page, browser, startServer }) => {
  const server = await startServer({ data: 'empty', engine: 'postgres' });
  declareTool(server, { ...REVERSIBLE_CHARGE, class: 'irreversible' });
  importEvents(server, R01.slice(0, 4));
  await signIn(page, server);
  const id = await onlyOperation(page, server);
  const operation = `${server.url}/operations/${id}`;
  await openForm(page, operation, 'Mark succeeded');
  await page.getByLabel(/^Receipt/).fill('pi_A');
  await page.getByLabel(/^Reason/).fill('Seen on their page.');
  await page.locator('input[name=confirmation]').fill('cart-77');
  await page.getByRole('button', { name: /second person/ }).click();
  await expect(page.getByText('Nothing yet: it waits for a second person.')).toBeVisible();
  const awaited = decodeURIComponent(page.url().split('/').at(-1)!);
  const bulks = `${server.url}/api/v1/bulk`;
  const made = await page.request.post(bulks, { data: { action: 'comment', operations: [id] }, headers: { origin: server.url } });
  const bulk = (await made.json()).id;
  const before = await read(page, server, id);

  const viewer = await secondPerson(browser, server, 'viewer');
  expect(Object.keys(CALLS).sort(), 'a new function that writes needs a line above').toEqual(writing().filter((name) => !OWN.includes(name)).sort());
  const given: Record<string, Record<string, string>> = {
    submit_action: { operation_id: id, seen_version: String(before.version) },
    complete_action: { awaited, seen_version: String(before.version) },
    decline_action: { awaited, seen_version: String(before.version) },
    start_bulk: { id: bulk },
    abort_bulk: { id: bulk },
  };
  const onRecord = () =>
    Number(
      runSql(
        `SELECT (SELECT COUNT(*) FROM audit WHERE status = 'refused' AND actor_role = 'viewer')
              + (SELECT COUNT(*) FROM operator_action WHERE status = 'refused')`,
        server.databaseUrl,
      ),
    );
  for (const [name, fields] of Object.entries(CALLS)) {
    const recorded = onRecord();
    const answer = await viewer.request.post(`${server.url}/ui/${name}`, {
      form: { ...fields, ...given[name] },
      headers: { accept: 'text/html', origin: server.url, referer: `${server.url}/budgets` },
    });
    expect(await answer.text(), name).toMatch(/Not done|Your press was refused|did not go through|Refused/);
    expect(onRecord(), `${name} is on record`).toBe(recorded + 1);
    const program = await viewer.request.post(`${server.url}/ui/${name}`, {
      form: { ...fields, ...given[name] },
      headers: { accept: 'application/json', origin: server.url },
      maxRedirects: 0,
    });
    // What is an action of its own has the answer in its row; everything else is refused at once.
    if (!name.endsWith('_action')) expect(program.status(), name).toBe(403);
  }
  expect(await read(page, server, id)).toMatchObject({ state: before.state, version: before.version });
  expect((await (await page.request.get(`${bulks}/${bulk}`)).json()).state).toBe('previewed');
  await page.goto(`${server.url}/settings`);
  await expect(page.locator('input[name=zone]')).not.toHaveValue('Europe/Paris');
});

test('11: a fact that comes after all was settled is taken, and history stays', async ({ page, startServer }) => {
  const server = await timedOut(page, startServer, { ...REVERSIBLE_CHARGE, class: 'idempotent' });
  const operation = `${server.url}/operations/${await onlyOperation(page, server)}`;
  await openForm(page, operation, 'Mark failed');
  await page.getByLabel(/^Reason/).fill('Their page of the day does not show it.');
  await page.locator('input[name=confirmation]').fill('cart-77');
  await page.getByRole('button', { name: 'Mark failed' }).click();
  await expect(page.getByText('Done. It is on record.')).toBeVisible();
  await page.goto(operation);
  await hydrated(page);
  await expect(page.locator('.operation__top')).toContainText('failed');

  importEvents(server, R01.slice(0, 6));
  await untilSaid(page, operation, 'contradicted');
  const timeline = page.locator('.timeline');
  for (const words of ['pi_A', 'Their page of the day does not show it.', 'Attempt 1']) await expect(timeline).toContainText(words);
  await picture(page, 'late-fact');
  await expect(page.getByRole('link', { name: 'Pick the verdict', exact: true }).first(), 'and there is a way on').toBeVisible();
});

test('12: a key that ends while its form is open is not used', async ({ page, browser, context, startServer }) => {
  const server = await charging(page, startServer, { ...KEYED, key_retention_s: 12 });
  const noor = await secondPerson(browser, server, 'approver');
  const id = await lost(page, noor, server, 'charge:order-12');
  const operation = `${server.url}/operations/${id}`;
  const form = 'Rerun with the same key';
  await openForm(page, operation, form);
  await page.getByLabel(/^Reason/).fill('The customer waits.');
  const meanwhile = await context.newPage();
  await expect(async () => {
    await meanwhile.goto(operation);
    await expect(meanwhile.locator('.window__text').first()).toHaveText('expired', { timeout: 1_000 });
  }).toPass({ timeout: 60_000 });
  await page.getByRole('button', { name: form }).click();
  await expect(page.locator('.banner--bad')).toContainText('Not done');
  await expect(page.getByRole('button', { name: form })).toBeDisabled();
  await picture(page, 'key-ended');
  expect(destination.attempts).toEqual([1]);
});
