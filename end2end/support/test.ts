// What every journey starts from: `import { expect, test } from '../support/test.ts'`.
// A worker has one server with demo data and one signed-in person; a journey that needs its own calls `startServer`.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import AxeBuilder from '@axe-core/playwright';
import { expect, test as base, type Page } from '@playwright/test';
import { Server, type StartOptions } from './server.ts';

type StorageState = Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>;

interface WorkerFixtures {
  /** The worker's own server with demo data, shared by its journeys: do not count on being alone. */
  server: Server;
  /** The cookies of the person whom the printed URL signs in. */
  signedIn: StorageState;
}

interface TestFixtures {
  /** Starts a further server, which is stopped when the journey ends. */
  startServer: (options?: StartOptions) => Promise<Server>;
  /** Set to true (`test.use`) where the browser is expected to complain. */
  allowsComplaints: boolean;
  /** Fails the journey when the page's scripts fail or break the content security policy. */
  complaints: string[];
}

/** Nobody is signed in: `test.use({ storageState: ANONYMOUS })`. */
export const ANONYMOUS: StorageState = { cookies: [], origins: [] };

export const test = base.extend<TestFixtures, WorkerFixtures>({
  server: [
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.stop();
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  signedIn: [
    async ({ browser, server }, use) => {
      const context = await browser.newContext();
      await signIn(await context.newPage(), server);
      await use(await context.storageState());
      await context.close();
    },
    { scope: 'worker' },
  ],
  baseURL: async ({ server }, use) => use(server.url),
  storageState: async ({ signedIn }, use) => use(signedIn),
  startServer: async ({}, use) => {
    const servers: Server[] = [];
    await use(async (options) => {
      const server = await Server.start(options);
      servers.push(server);
      return server;
    });
    await Promise.all(servers.map((server) => server.stop()));
  },
  allowsComplaints: [false, { option: true }],
  complaints: [
    async ({ page, allowsComplaints }, use) => {
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        // A refused request is an answer, and the journey looks at it; scripts must not fail over it.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          complaints.push(message.text());
        }
      });
      await use(complaints);
      if (!allowsComplaints) expect(complaints, 'what the browser complained about').toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Follows the URL that the server printed at its start. */
export async function signIn(page: Page, server: Server): Promise<void> {
  const answer = await page.goto(server.signInUrl);
  expect(answer?.ok(), `signing in at ${server.signInUrl}`).toBe(true);
}

/** Waits until the page's own code has taken over; with JavaScript off the page is ready as it is. */
export async function hydrated(page: Page): Promise<void> {
  if (hasJavaScript()) await page.locator('html[data-hydrated]').waitFor();
}

/** Whether this project runs scripts. */
export function hasJavaScript(): boolean {
  return test.info().project.name === 'js';
}

/** Checks the page against WCAG 2.2 A and AA with axe. Axe is a script itself, so it runs where scripts do. */
export async function expectAccessible(page: Page): Promise<void> {
  if (hasJavaScript()) expect(await violations(page), 'accessibility').toEqual([]);
}

/** What axe finds against WCAG 2.2 A and AA, or against one of its rules. */
export async function violations(page: Page, rule?: string): Promise<string[]> {
  const axe = new AxeBuilder({ page });
  const chosen = rule ? axe.withRules(rule) : axe.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']);
  const { violations } = await chosen.analyze();
  return violations.map((found) => `${found.id}: ${found.help} (${found.nodes.map((node) => node.target).join(' · ')})`);
}

/** Keeps a picture of the page (whole, or as a screen shows it) in `target/screenshots`, for people and for the README. */
export async function picture(page: Page, name: string, fullPage = true): Promise<void> {
  await page.screenshot({ path: `${pictures()}${name}-${test.info().project.name}.png`, fullPage });
}

/** The folder of the pictures, or one in it. */
export function pictures(name = ''): string {
  const folder = fileURLToPath(new URL(`../../target/screenshots/${name}`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  return folder;
}
