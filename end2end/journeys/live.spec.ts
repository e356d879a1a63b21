// What happens elsewhere is seen without reloading, also when another process recorded it; and nothing moves under the pointer.
import { ANONYMOUS, expect, hydrated, signIn, test } from '../support/test.ts';
import { R01, REVERSIBLE_CHARGE, declareTool, importEvents } from '../support/record.ts';
import type { Engine } from '../support/server.ts';

test.use({ storageState: ANONYMOUS });

for (const engine of ['sqlite', 'postgres'] satisfies Engine[]) {
  test(`on ${engine} the queue tells of what is new and the operation follows`, async ({ page, startServer }) => {
    test.skip(test.info().project.name !== 'js', 'live views are what scripts add');
    const server = await startServer({ data: 'empty', engine });
    declareTool(server, REVERSIBLE_CHARGE);
    await signIn(page, server);
    await page.goto(server.url);
    await hydrated(page);
    await expect(page.getByText('No outcome needs a person')).toBeVisible();

    // The command line is a process of its own: its commit reaches the page through the record alone.
    importEvents(server, R01.slice(0, 4));
    await expect(page.getByText('+1 new')).toBeVisible();
    await page.getByText('+1 new').click();
    await expect(page.getByText('1 outcome needs a person')).toBeVisible();

    const href = await page.locator('a[href^="/operations/"]').first().getAttribute('href');
    await page.goto(new URL(href!.split('?')[0]!, server.url).href);
    await hydrated(page);
    await expect(page.getByText('uncertain').first()).toBeVisible();
    importEvents(server, R01.slice(0, 6));
    await expect(page.getByText('succeeded').first()).toBeVisible();
  });
}

test('a second server process on PostgreSQL is seen', async ({ page, startServer }) => {
  test.skip(test.info().project.name !== 'js', 'live views are what scripts add');
  const first = await startServer({ data: 'empty', engine: 'postgres' });
  const second = await first.startSibling();
  await signIn(page, first);
  await page.goto(first.url);
  await hydrated(page);
  importEvents(second, R01.slice(0, 4));
  await expect(page.getByText('+1 new')).toBeVisible();
  await second.stop();
});

test.describe('with WebAssembly blocked', () => {
  // The browser says that it could not load it; that is the point.
  test.use({ allowsComplaints: true });

  test('the page works the same', async ({ page, startServer }) => {
    test.skip(test.info().project.name !== 'js', 'without scripts there is nothing to block');
    const server = await startServer({ data: 'empty' });
    declareTool(server, REVERSIBLE_CHARGE);
    importEvents(server, R01.slice(0, 4));
    await page.route('**/*.wasm', (route) => route.abort());
    await signIn(page, server);
    await page.goto(server.url);
    await page.getByRole('link', { name: /Open/ }).first().click();
    await page.getByRole('link', { name: 'Mark succeeded', exact: true }).first().click();
    await page.getByLabel(/^Receipt/).fill('pi_A');
    await page.getByLabel(/^Reason/).fill('Seen there.');
    await page.locator('input[name=confirmation]').fill('cart-77');
    await page.getByRole('button', { name: 'Mark succeeded' }).click();
    await expect(page.getByText('Done. It is on record.')).toBeVisible();
  });
});
