// The real `tallystick` binary on a fresh database and a free port. Nothing of it is replaced or mocked.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, required, runSql } from './machine.ts';

export type Engine = 'sqlite' | 'postgres';

export interface StartOptions {
  /** Where the record is kept; the embedded database unless said otherwise. */
  engine?: Engine;
  /** `demo`: the seeded month. `empty`: one administrator and nothing else. */
  data?: 'demo' | 'empty';
  /** Further arguments of the binary. */
  args?: string[];
  /** Further variables of its environment. */
  env?: Record<string, string>;
  /** Where it may send: a base URL by the name that tools give. */
  destinations?: Record<string, string>;
  /** Another binary than the one under test: a copy of it. It runs in the folder where it lies. */
  binary?: string;
}

const START_MS = 60_000;
const STOP_MS = 10_000;

interface Configuration {
  args: string[];
  remove(): void;
}

interface Database {
  url: string;
  remove(): void;
}

export class Server {
  private child: ChildProcess | undefined;
  private output = '';
  private readonly siblings: Server[] = [];
  private readonly configuration: Configuration;
  /** Where it listens; the same after a restart, as for a person who keeps the tab open. */
  readonly url: string;

  private constructor(
    private readonly port: number,
    private readonly database: Database,
    private readonly options: StartOptions,
  ) {
    this.url = `http://127.0.0.1:${port}`;
    this.configuration = configuration(options.destinations ?? {});
  }

  /** Starts one and waits until it answers. */
  static async start(options: StartOptions = {}): Promise<Server> {
    const database = options.engine === 'postgres' ? postgresDatabase() : sqliteDatabase();
    const server = new Server(await freePort(), database, options);
    await server.launch().catch(async (error) => {
      await server.stop();
      throw error;
    });
    return server;
  }

  /** A second process on the same database (PostgreSQL: as a second replica). It ends with the first at the latest. */
  async startSibling(): Promise<Server> {
    const sibling = new Server(await freePort(), { url: this.database.url, remove: () => {} }, this.options);
    this.siblings.push(sibling);
    await sibling.launch();
    return sibling;
  }

  /** The URL that signs a person in, as the binary printed it last. */
  get signInUrl(): string {
    const printed = [...this.output.matchAll(/^Sign in: (\S+)$/gm)].at(-1);
    if (!printed) throw new Error(`the server printed no sign-in URL:\n${this.output}`);
    return printed[1]!;
  }

  /** The database, for a second program (`tallystick import …`). */
  get databaseUrl(): string {
    return this.database.url;
  }

  /** Everything it printed. */
  get log(): string {
    return this.output;
  }

  /** Ends it as the power would: no warning, no tidying up. The database stays. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Starts it again on the same port and database. */
  async restart(): Promise<void> {
    await this.end('SIGTERM');
    await this.launch();
  }

  /** Ends it and removes its database. */
  async stop(): Promise<void> {
    await Promise.all(this.siblings.map((sibling) => sibling.stop()));
    await this.end('SIGTERM');
    this.database.remove();
    this.configuration.remove();
  }

  private async launch(): Promise<void> {
    const words = this.options.data === 'empty' ? ['serve', '--first-admin'] : ['demo'];
    words.push('--db', this.database.url, '--listen', `127.0.0.1:${this.port}`, ...this.configuration.args, ...(this.options.args ?? []));
    const child = spawn(this.options.binary ?? required('TALLYSTICK_BIN'), words, {
      cwd: this.options.binary && dirname(this.options.binary),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.options.env },
    });
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    let failure: string | undefined;
    child.once('error', (error) => (failure = `could not be started: ${error.message}`));
    child.once('exit', (code, signal) => (failure ??= `ended early (${code ?? signal})`));
    const end = Date.now() + START_MS;
    while (!(await this.answers())) {
      if (failure) throw new Error(`the server ${failure}:\n${this.output}`);
      if (Date.now() > end) throw new Error(`the server did not answer within ${START_MS} ms:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private async answers(): Promise<boolean> {
    return fetch(`${this.url}/healthz`).then(
      (response) => response.ok,
      () => false,
    );
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.child;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const patience = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(patience);
  }
}

/** A configuration file with destinations on loopback; none where there are none. */
function configuration(destinations: Record<string, string>): Configuration {
  const tables = Object.entries(destinations).map(
    ([name, url]) => `[[destination]]\nname = "${name}"\nbase_url = "${url}"\nprivate_allowed = true\n`,
  );
  if (tables.length === 0) return { args: [], remove: () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-config-'));
  const file = join(folder, 'tallystick.toml');
  writeFileSync(file, tables.join('\n'));
  return { args: ['--config', file], remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function sqliteDatabase(): Database {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-journey-'));
  return {
    url: `sqlite://${join(folder, 'tallystick.db')}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function postgresDatabase(): Database {
  const name = `journey_${randomUUID().replaceAll('-', '')}`;
  runSql(`CREATE DATABASE ${name}`);
  const url = new URL(required('TALLYSTICK_TEST_POSTGRES'));
  url.pathname = `/${name}`;
  return { url: url.href, remove: () => runSql(`DROP DATABASE ${name} WITH (FORCE)`) };
}
