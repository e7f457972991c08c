// Opens pages at several widths, in light and in dark, and says what axe-core finds wrong with them
// and which charts are cut or shrunk. Used by axe.rs: node axe.mjs MODULES CHROMIUM PAGE…; a line
// of JSON for each view.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , modules, chromium, ...pages] = process.argv;
const require = createRequire(`${modules}/`);
const { chromium: driver } = require('playwright-core');
const axe = require.resolve('axe-core/axe.min.js');

const browser = await driver.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'] });
for (const page of pages) {
  for (const width of [1200, 390]) {
    for (const colorScheme of ['light', 'dark']) {
      const tab = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      await tab.goto(pathToFileURL(page).href);
      const charts = await tab.evaluate(() => {
        const shown = [...document.querySelectorAll('svg.chart')].filter((chart) => chart.getClientRects().length);
        const bad = shown.filter((chart) => {
          const { left, right, width } = chart.getBoundingClientRect();
          return left < 0 || right > innerWidth || width < 0.8 * chart.viewBox.baseVal.width;
        });
        return { shown: shown.length, bad: bad.map((chart) => chart.id) };
      });
      const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      await tab.addScriptTag({ path: axe });
      const { violations } = await tab.evaluate(() => axe.run({ resultTypes: ['violations'] }));
      const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
      console.log(JSON.stringify({ page, width, colorScheme, charts, overflow, found }));
      await tab.close();
    }
  }
}
await browser.close();
