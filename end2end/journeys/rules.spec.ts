// The rules behind a state, a verdict and a decision open on demand, with or without scripts.
import { ANONYMOUS, expect, expectAccessible, hydrated, picture, signIn, test } from '../support/test.ts';
import { R01, importEvents } from '../support/record.ts';

test.use({ storageState: ANONYMOUS });

test('an operation says by which rules, and what each of them means', async ({ page, startServer }) => {
  const server = await startServer({ data: 'empty' });
  importEvents(server, R01.slice(0, 4));
  await signIn(page, server);
  await page.goto(`${server.url}/operations`);
  await hydrated(page);
  await page.locator('a[href^="/operations/"]').filter({ hasText: /cart-77/ }).first().click();
  await hydrated(page);

  const decision = page.locator('section').filter({ has: page.getByRole('heading', { name: 'What may be done now' }) });
  const rules = decision.locator('details.rules').filter({ hasText: 'Why: rules' });
  const why = rules.getByText('the outcome is uncertain');
  await expect(why).toBeHidden();
  await rules.getByText('Why: rules').click();
  await expect(why).toBeVisible();
  for (const id of ['F14', 'E12', 'row 21']) {
    await expect(rules.getByText(id, { exact: true })).toBeVisible();
  }
  await expect(rules.getByText(/attempt 1/)).toBeVisible();

  const attempt = page.locator('.timeline__item').filter({ hasText: 'Attempt 1' });
  await attempt.getByText('Why: rules').click();
  await expect(attempt.getByText('The request was written and no answer came: it may have happened.')).toBeVisible();
  await expectAccessible(page);
  await picture(page, 'rules');
});
