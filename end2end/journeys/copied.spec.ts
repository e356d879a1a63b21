// One binary is the whole product: copied into an empty folder it serves everything that pages ask for.
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANONYMOUS, expect, hasJavaScript, hydrated, signIn, test } from '../support/test.ts';
import { required } from '../support/machine.ts';

test.use({ storageState: ANONYMOUS });

test('the binary copied elsewhere serves everything', async ({ page, startServer }) => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-copy-'));
  const binary = join(folder, 'tallystick');
  copyFileSync(required('TALLYSTICK_BIN'), binary);
  const server = await startServer({ data: 'empty', binary });
  const failed: string[] = [];
  const kinds = new Set<string>();
  page.on('response', (response) => {
    if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`);
    kinds.add(response.headers()['content-type'] ?? '');
  });
  await signIn(page, server);
  await page.goto(server.url);
  await hydrated(page);
  await expect(page.getByText('No outcome needs a person')).toBeVisible();
  expect(failed).toEqual([]);
  expect([...kinds].join(' ')).toContain('text/css');
  if (hasJavaScript()) expect([...kinds].join(' ')).toContain('application/wasm');
  expect(readdirSync(folder), 'nothing is written beside it').toEqual(['tallystick']);
  await server.stop();
  rmSync(folder, { recursive: true });
});
