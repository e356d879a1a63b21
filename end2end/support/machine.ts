// What a journey needs from the machine: a browser, a free port, PostgreSQL's client.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';

/** A variable that `cargo xtask test journeys` sets; without it the journey cannot start. */
export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; call \`cargo xtask test journeys\`, which sets it`);
  return value;
}

/** The machine's Chromium; Playwright's own download is never used. */
export function findChromium(): string {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const found = process.env.TALLYSTICK_CHROMIUM ?? names.map((name) => findProgram(name)).find(Boolean);
  if (!found) throw new Error('no Chromium was found; set TALLYSTICK_CHROMIUM to its path');
  return found;
}

function findProgram(name: string, more: string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...more];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A port nobody listens on. Another process may take it before we do; then starting fails loudly and says so. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Runs one statement, in the administrative database of the tests' PostgreSQL if no other is named; the rows as text. */
export function runSql(statement: string, url = required('TALLYSTICK_TEST_POSTGRES')): string {
  const psql = findProgram('psql', postgresFolders());
  if (!psql) throw new Error('psql was not found');
  const words = [url, '--quiet', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1', '--command', statement];
  return execFileSync(psql, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Debian keeps PostgreSQL's programs off the search path, one folder a version. */
function postgresFolders(): string[] {
  try {
    return readdirSync('/usr/lib/postgresql').map((version) => join('/usr/lib/postgresql', version, 'bin'));
  } catch {
    return [];
  }
}
