// Every place of the console with the demo's data: readable without scripts, by ear, in both colour schemes, on a narrow screen,
// magnified, and on paper. A picture of each, and all of them on one sheet, are in `target/screenshots`.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { ANONYMOUS, expect, hasJavaScript, hydrated, pictures, test, violations } from '../support/test.ts';
import type { Browser, Page } from '@playwright/test';

test.setTimeout(600_000);

/** A place: what its picture is called, and its address. */
type Place = [name: string, path: string];

const FIXED: Place[] = [
  ['queue', '/'],
  ['queue, grouped', '/?grouped=true'],
  ['queue, nothing', '/?reason=budget_exhausted'],
  ['operations', '/operations'],
  ['approvals', '/approvals'],
  ['actions', '/actions'],
  ['workflows', '/workflows'],
  ['outcomes', '/outcomes'],
  ['budgets', '/budgets'],
  ['layers', '/layers'],
  ['deliveries', '/deliveries'],
  ['tools', '/tools'],
  ['settings', '/settings'],
  ['not there', '/operations/none'],
  ['not a place', '/no/such/place'],
];

/** The actions whose forms are open somewhere in the demo. */
const OPEN_FORMS = [
  'adopt', 'assign', 'attach_evidence', 'cancel', 'change_arguments', 'comment', 'deny', 'dismiss_finding', 'escalate',
  'look_up', 'mark_failed', 'mark_succeeded', 'pick_verdict', 'waive',
];

async function html(page: Page, path: string): Promise<string> {
  const answer = await page.request.get(path);
  expect(answer.ok(), path).toBe(true);
  return answer.text();
}

function linksIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, path]) => path!))];
}

const OPERATION = /href="(\/operations\/[0-9a-f-]{36})[?"]/g;

/** One form of each action that is open, each on the first operation that has it. */
async function forms(page: Page): Promise<Place[]> {
  const lists = await Promise.all(['/', '/approvals', '/operations?limit=20'].map((path) => html(page, path)));
  const found = new Map<string, string>();
  for (const operation of linksIn(lists.join(), OPERATION)) {
    for (const form of linksIn(await html(page, operation), /href="(\/operations\/[0-9a-f-]{36}\/\w+)"/g)) {
      const action = form.split('/').at(-1)!;
      if (!found.has(action)) found.set(action, form);
    }
  }
  expect([...found.keys()].sort()).toEqual(OPEN_FORMS);
  return [...found].map(([action, path]) => [`form: ${action}`, path]);
}

/** Places whose addresses only the data tell. */
async function found(page: Page): Promise<Place[]> {
  const first = (text: string, pattern: RegExp) => linksIn(text, pattern)[0]!;
  const queue = await html(page, '/');
  const actions = await html(page, '/actions');
  const workflow = first(await html(page, '/workflows'), /href="(\/workflows\/[^"?]+)"/g);
  const rows = linksIn(queue, OPERATION).slice(0, 3).map((path) => path.split('/').at(-1)!);
  const made = await page.request.post('/api/v1/bulk', { data: { action: 'look_up', operations: rows }, headers: { origin: new URL(page.url()).origin } });
  const contradicted = first(await html(page, '/?reason=contradicted'), OPERATION);
  return [
    ['operation', first(queue, OPERATION)],
    ['operation, contradicted', contradicted],
    ['operation, succeeded', first(await html(page, '/operations?state=succeeded'), OPERATION)],
    ['operation, proposed', first(await html(page, '/approvals'), OPERATION)],
    ['action', first(actions, /href="(\/actions\/[^"?]+)"/g)],
    ['workflow', workflow],
    ['bulk, preview', `/bulk/${(await made.json()).id}`],
    ...(await forms(page)),
  ];
}

/** The page moves neither way but up and down. */
async function expectNoSidewaysScroll(page: Page, name: string): Promise<void> {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  expect.soft(wide, `${name}: as wide as its screen of ${room} px`).toBeLessThanOrEqual(room!);
}

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 800 };
/** At 200 % a screen of 1280 px has room for so many of the page's own. */
const MAGNIFIED = { width: 640, height: 400 };

/** Looks at one place in every way, and takes its pictures. */
async function visit(page: Page, [name, path]: Place, folder: string): Promise<void> {
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(path);
  // What the server answers by itself, such as that a place is none, has no scripts.
  if (await page.locator('script').count()) await hydrated(page);
  await expect.soft(page.locator('h1'), name).toBeVisible();
  await expect.soft(page.getByRole('main'), name).toContainText(/\w+ \w+/);
  const shoot = (way: string) => page.screenshot({ path: `${folder}/${file(name)}-${way}.png`, fullPage: true });
  if (hasJavaScript()) {
    await shoot('wide-light');
    expect.soft(await violations(page), `${name}, wide and light`).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await shoot('wide-dark');
    expect.soft(await violations(page, 'color-contrast'), `${name}, wide and dark`).toEqual([]);
  }
  await page.setViewportSize(MAGNIFIED);
  await expectNoSidewaysScroll(page, `${name}, magnified`);
  await page.setViewportSize(NARROW);
  await expectNoSidewaysScroll(page, `${name}, narrow`);
  if (hasJavaScript()) {
    await shoot('narrow-dark');
    expect.soft(await violations(page), `${name}, narrow and dark`).toEqual([]);
    await page.emulateMedia({ colorScheme: 'light' });
    await shoot('narrow-light');
  }
}

function file(name: string): string {
  return name.replaceAll(/[^a-z_]+/g, '-');
}

/** All pictures on one sheet. */
async function contactSheet(browser: Browser, places: Place[], folder: string): Promise<void> {
  const ways = ['wide-light', 'wide-dark', 'narrow-light', 'narrow-dark'];
  const image = (name: string, way: string) => `<img src="${file(name)}-${way}.png">`;
  const figures = places.map(([name]) => `<figure><figcaption>${name}</figcaption>${ways.map((way) => image(name, way)).join('')}</figure>`);
  const style = `body { margin: 12px; display: grid; grid-template-columns: 1fr 1fr; gap: 12px; font: 14px sans-serif; background: #888 }
    figure { margin: 0 } figcaption { padding: 2px 0 }
    img { height: 300px; width: 135px; object-fit: cover; object-position: top; margin-right: 6px } img:nth-of-type(-n + 2) { width: 480px }`;
  const sheet = `${folder}/index.html`;
  writeFileSync(sheet, `<!DOCTYPE html><meta charset="utf-8"><title>Every place</title><style>${style}</style>${figures.join('')}`);
  const page = await browser.newPage({ viewport: { width: 2560, height: 1200 } });
  await page.goto(pathToFileURL(sheet).href);
  await page.screenshot({ path: `${pictures()}contact-sheet.png`, fullPage: true });
  await page.close();
}

test('every place is whole in every way it is looked at', async ({ page, browser, baseURL }) => {
  const folder = pictures('pages');
  await page.goto('/');
  const places = [...FIXED, ...(await found(page))];
  for (const place of places) await test.step(place[0], () => visit(page, place, folder));
  const stranger = await browser.newContext({ storageState: ANONYMOUS, javaScriptEnabled: hasJavaScript(), baseURL });
  const signIn: Place = ['sign in', '/sign-in'];
  await visit(await stranger.newPage(), signIn, folder);
  await stranger.close();
  if (hasJavaScript()) await contactSheet(browser, [...places, signIn], folder);
});

test('on paper there is what is known, and nothing to press', async ({ page }) => {
  await page.goto('/');
  await hydrated(page);
  const operation = await page.locator('.rows__key').first().getAttribute('href');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const isAbsent = async () => {
    for (const pressed of ['.side', '.top', '.choosing', '.filters']) {
      for (const one of await page.locator(pressed).all()) await expect(one).toBeHidden();
    }
    for (const button of await page.locator('.button, button').all()) await expect(button).toBeHidden();
    // Whatever the screen's colours are, paper is white.
    const ink = await page.locator('h1').evaluate((heading) => getComputedStyle(heading).color);
    expect(ink).toBe('rgb(27, 27, 25)');
  };
  await isAbsent();
  await expect(page.locator('.rows__key').first()).toBeVisible();
  await expect(page.locator('.rows__key').last()).toBeVisible();
  await expect(page.locator('.split__side .known')).toBeVisible();
  await page.screenshot({ path: `${pictures('pages')}/paper-queue.png`, fullPage: true });

  await page.goto(operation!);
  await hydrated(page);
  await isAbsent();
  await expect(page.locator('.timeline__item').last()).toBeVisible();
  await expect(page.getByRole('heading', { name: 'What may be done now' })).toBeVisible();
  await expect(page.locator('.code-box').first()).toBeVisible();
  await page.screenshot({ path: `${pictures('pages')}/paper-operation.png`, fullPage: true });
});
