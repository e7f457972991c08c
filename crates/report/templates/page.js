// Shows the figures of the second under the pointer, or chosen with the arrow keys, on every chart at once.
(() => {
  const { headings, seconds } = JSON.parse(document.getElementById('seconds').textContent);
  const charts = [...document.querySelectorAll('svg.chart[data-seconds]')];
  const box = document.getElementById('hover');
  if (!seconds.length) return;
  let chosen = 0;
  const cell = (tag, text, index) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (index !== undefined) element.style.color = `var(--s${index % 6})`;
    return element;
  };
  const row = (cells) => {
    const element = document.createElement('tr');
    element.append(...cells);
    return element;
  };
  const place = (chart, second) => {
    const { from, to, seconds: whole } = chart.dataset;
    return +from + (second / +whole) * (to - from);
  };
  const show = (index, x, y) => {
    chosen = Math.max(0, Math.min(seconds.length - 1, index));
    const { at, middle, rows } = seconds[chosen];
    for (const chart of charts) {
      const cross = chart.querySelector('.cross');
      cross.setAttribute('x1', place(chart, middle));
      cross.setAttribute('x2', place(chart, middle));
    }
    const head = document.createElement('thead');
    head.append(row([cell('td', ''), ...headings.map((text) => cell('th', text))]));
    const body = document.createElement('tbody');
    rows.forEach(([workload, name, figures]) =>
      body.append(row([cell('th', name, workload), ...figures.map((text) => cell('td', text))])));
    const table = document.createElement('table');
    table.append(head, body);
    box.replaceChildren(cell('b', at), table);
    box.hidden = false;
    document.body.classList.add('hovering');
    const { width, height } = box.getBoundingClientRect();
    const left = x + 18 + width > innerWidth ? x - 18 - width : x + 18;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${Math.max(8, Math.min(innerHeight - height - 8, y + 18))}px`;
  };
  const hide = () => {
    box.hidden = true;
    document.body.classList.remove('hovering');
  };
  for (const chart of charts) {
    // The browser's own box for titles would lie over ours; the title stays as the label.
    const title = chart.querySelector('title');
    chart.setAttribute('aria-label', title.textContent);
    chart.removeAttribute('aria-labelledby');
    chart.querySelectorAll('title').forEach((element) => element.remove());
    chart.tabIndex = 0;
    chart.addEventListener('pointermove', (event) => {
      const frame = chart.getBoundingClientRect();
      const { from, to, seconds: whole } = chart.dataset;
      const x = ((event.clientX - frame.left) / frame.width) * chart.viewBox.baseVal.width;
      const second = ((x - from) / (to - from)) * whole;
      if (x < +from || x > +to) return hide();
      const nearest = seconds.reduce((best, { middle }, index) =>
        Math.abs(middle - second) < Math.abs(seconds[best].middle - second) ? index : best, 0);
      show(nearest, event.clientX, event.clientY);
    });
    chart.addEventListener('pointerleave', hide);
    chart.addEventListener('blur', hide);
    chart.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === 'Escape') hide();
      if (!step) return;
      event.preventDefault();
      const frame = chart.getBoundingClientRect();
      const index = box.hidden ? chosen : chosen + step;
      const { middle } = seconds[Math.max(0, Math.min(seconds.length - 1, index))];
      const x = frame.left + (place(chart, middle) / chart.viewBox.baseVal.width) * frame.width;
      show(index, x, frame.top);
    });
  }
})();
