// The shortest journey there is: the printed URL signs a person in, and the page they see is whole.
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, test } from '../support/test.ts';

test('the printed URL leads into the console', async ({ page }) => {
  await page.goto('/');
  await hydrated(page);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByRole('navigation').first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'start');
  // The README's picture, `docs/queue.png`, is a copy of this one.
  await page.setViewportSize({ width: 1440, height: 900 });
  await picture(page, 'queue', false);
});

test('what pages are dressed with may be kept for good', async ({ page, request }) => {
  await page.goto('/');
  const sheet = await page.locator('link[rel=stylesheet]').first().getAttribute('href');
  const answer = await request.get(sheet!);
  expect(answer.headers()['content-type']).toBe('text/css; charset=utf-8');
  expect(answer.headers()['cache-control']).toBe('public, max-age=31536000, immutable');
});

test.describe('a stranger', () => {
  test.use({ storageState: ANONYMOUS });

  test('is asked to sign in', async ({ page }) => {
    await page.goto('/');
    await hydrated(page);
    await expect(page.locator('input[type=password]')).toBeVisible();
    await expectAccessible(page);
    await picture(page, 'sign-in');
  });
});

test.describe('on PostgreSQL', () => {
  test.use({ storageState: ANONYMOUS });

  test('the same page appears', async ({ page, startServer }) => {
    const server = await startServer({ engine: 'postgres' });
    await page.goto(server.signInUrl);
    await hydrated(page);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  });
});
