// What a journey puts into a record before a person looks at it: by the command line, as an operator of the machine would.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { required } from './machine.ts';
import type { Server } from './server.ts';

/** Runs one command of the binary on the server's record; what it printed. */
export function command(server: Server, words: string[], input = ''): string {
  return execFileSync(required('TALLYSTICK_BIN'), [...words, '--db', server.databaseUrl], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Imports events of a source that is declared verified. */
export function importEvents(server: Server, events: object[], source = 'journey'): string {
  const lines = events.map((event) => JSON.stringify(event)).join('\n');
  return command(server, ['import', '-', '--source', source, '--trust', 'verified'], lines);
}

/** Declares a tool. */
export function declareTool(server: Server, tool: object): void {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-tool-'));
  const file = join(folder, 'tool.json');
  writeFileSync(file, JSON.stringify(tool));
  command(server, ['tool', 'put', file]);
  rmSync(folder, { recursive: true });
}

/** A reversible tool with an eventual look-up: one person may mark it, with a typed confirmation. */
export const REVERSIBLE_CHARGE = {
  name: 'payments.charge',
  class: 'reversible',
  destination: 'psp',
  executable: true,
  contract: { lookup: { by: 'metadata', consistency: 'eventual' } },
};

const CART = {
  key: 'credit_purchase:cart-77',
  tool: 'payments.charge',
  dest: 'psp',
  effect: 'unsafe_write',
  args: { customer: 'cus_demo', amount_minor: 2000, currency: 'usd', cart: 'cart-77' },
};

/** Case R01, "slow success, buyer presses again": its lines, in order. */
export const R01: object[] = [
  { ts: '2026-10-05T09:00:00Z', ev: 'operation.proposed', op: 'op_101', ...CART },
  { ts: '2026-10-05T09:00:01Z', ev: 'operation.authorized', op: 'op_101', by: 'user:buyer' },
  { ts: '2026-10-05T09:00:02Z', ev: 'attempt.started', op: 'op_101', n: 1, owner: 'web-client', dest_key: CART.key },
  { ts: '2026-10-05T09:00:32Z', ev: 'attempt.ended', op: 'op_101', n: 1, outcome: 'timeout' },
  { ts: '2026-10-05T09:00:40Z', ev: 'operation.proposed', op: 'op_102', ...CART },
  delivery('2026-10-05T09:00:41Z', 'evt_a', 'pi_A'),
  delivery('2026-10-05T09:00:55Z', 'evt_b', 'pi_B'),
];

function delivery(ts: string, event_id: string, receipt: string): object {
  const metadata = { key: CART.key, cart: 'cart-77' };
  return { ts, ev: 'delivery.received', source: 'psp', endpoint: 'main', event_id, type: 'payment.succeeded', receipt, metadata };
}

const COUNTED = 500;

/** An operation that three layers sent 500 times: the agent asks twice, the worker ten times each, the SDK the rest. */
export function manyAttempts(): object[] {
  const op = 'op_500';
  const events: object[] = [
    { ts: '2026-10-05T00:00:00Z', ev: 'operation.proposed', op, key: 'payout:run-7', tool: 'payments.charge', dest: 'psp', args: { amount_minor: 124_000, currency: 'eur', run: 'run-7' } },
    { ts: '2026-10-05T00:00:01Z', ev: 'operation.authorized', op, by: 'user:ana' },
  ];
  let at = Date.parse('2026-10-05T00:00:10Z');
  for (let n = 1; n <= COUNTED; n++) {
    const place = (n - 1) % 250;
    const owner = place === 0 ? 'agent' : place % 25 === 0 ? 'worker' : 'sdk';
    // The agent does not wait for an hour; its second round begins while the last send of the first is still running.
    if (owner === 'agent' && n > 1) at -= 40_000;
    if (owner === 'worker') at += 600_000;
    const long = n === 250 ? 60_000 : 5_000;
    const end = owner === 'worker' ? { outcome: 'error', http: 503 } : { outcome: 'timeout' };
    events.push({ ts: new Date(at).toISOString(), ev: 'attempt.started', op, n, owner, dest_key: 'payout:run-7' });
    events.push({ ts: new Date(at + long).toISOString(), ev: 'attempt.ended', op, n, ...end });
    at += long + 4_000;
  }
  events.push({ ts: new Date(at + 60_000).toISOString(), ev: 'reconcile.ended', op, outcome: 'not_found' });
  events.push({ ts: new Date(at + 120_000).toISOString(), ev: 'delivery.received', source: 'psp', endpoint: 'main', event_id: 'evt_500', type: 'payment.succeeded', receipt: 'pi_500', metadata: { key: 'payout:run-7' } });
  return events;
}
