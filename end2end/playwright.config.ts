// Browser journeys through the real binary, once with JavaScript and once without: the console must do its work either way.
// `cargo xtask test journeys` builds the binary, finds Chromium and calls this; it sets the variables that `support/` reads.
import { defineConfig } from '@playwright/test';
import { findChromium } from './support/machine.ts';

const chromium = {
  browserName: 'chromium' as const,
  headless: true,
  launchOptions: {
    executablePath: findChromium(),
    // No sandbox, because CI runs as root; and nothing that would look up hosts by itself.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  },
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  timezoneId: 'UTC',
  trace: 'retain-on-failure' as const,
};

export default defineConfig({
  testDir: './journeys',
  outputDir: './test-results',
  fullyParallel: true,
  workers: 2,
  // A journey that needs a second attempt has not shown what it claims.
  retries: 0,
  forbidOnly: true,
  timeout: 180_000,
  expect: { timeout: 20_000 },
  reporter: 'list',
  projects: [
    { name: 'js', use: chromium },
    { name: 'nojs', use: { ...chromium, javaScriptEnabled: false } },
  ],
});
