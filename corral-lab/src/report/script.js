(() => {
  // The value under the pointer: places of the drawn lines, turned back into values.
  const number = v => Math.abs(v) >= 1000 ? v.toFixed(0) : String(+v.toPrecision(3));
  const value = (share, lo, hi, scale) => scale === 'log' ? lo * Math.pow(hi / lo, share) : lo + share * (hi - lo);
  const box = document.createElement('div');
  box.id = 'readout';
  box.hidden = true;
  document.body.append(box);
  const points = path => path.places ??= (() => {
    const n = path.getAttribute('d').match(/-?[\d.]+/g).map(Number);
    const out = [[n[0], n[1]]];
    for (let i = 2; i < n.length; i += 2) out.push([out.at(-1)[0] + n[i], out.at(-1)[1] + n[i + 1]]);
    return out;
  })();
  for (const svg of document.querySelectorAll('svg[role]')) {
    const f = svg.closest('[data-f]').dataset.f.split(' ');
    const [x0, x1, y0, y1, left, top, width, height] = [0, 1, 3, 4, 6, 7, 8, 9].map(i => +f[i]);
    svg.addEventListener('pointermove', e => {
      const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const lines = [...svg.querySelectorAll('path.line')].filter(l => !l.classList.contains('off') && l.querySelector('title'));
      if (p.x < left || p.x > left + width || !lines.length) { box.hidden = true; return; }
      const rows = lines.map(l => {
        const all = points(l), found = all.findIndex(q => q[0] >= p.x);
        const next = found < 0 ? all.length - 1 : Math.max(1, found);
        const [a, b] = [all[next - 1] ?? all[0], all[next] ?? all[0]];
        const share = b[0] > a[0] ? Math.min(1, Math.max(0, (p.x - a[0]) / (b[0] - a[0]))) : 1;
        return [value((top + height - a[1] - share * (b[1] - a[1])) / height, y0, y1, f[5]), l.querySelector('title').textContent];
      }).sort((a, b) => b[0] - a[0]);
      box.textContent = 'at ' + number(value((p.x - left) / width, x0, x1, f[2])) + '\n'
        + rows.map(r => number(r[0]) + '  ' + r[1]).join('\n');
      box.hidden = false;
      box.style.left = Math.min(e.clientX + 14, innerWidth - box.offsetWidth - 8) + 'px';
      box.style.top = Math.min(e.clientY + 14, innerHeight - box.offsetHeight - 8) + 'px';
    });
    svg.addEventListener('pointerleave', () => { box.hidden = true; });
  }
  // A click on a name hides its line in the charts of that part of the page.
  for (const item of document.querySelectorAll('.legend li')) {
    item.tabIndex = 0;
    item.setAttribute('role', 'button');
    item.setAttribute('aria-pressed', 'true');
    const toggle = () => {
      const off = item.classList.toggle('off');
      item.setAttribute('aria-pressed', String(!off));
      for (const part of item.closest('.part').querySelectorAll('svg[role] .' + item.dataset.s)) part.classList.toggle('off', off);
    };
    item.addEventListener('click', toggle);
    item.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); toggle(); } });
  }
})();
