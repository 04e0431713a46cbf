// Looks at a report from inside: what is wrong with it is listed and sent to the page around it.
addEventListener('load', () => {
  const wrong = [...errors];
  const [scheme, width] = location.hash.slice(1).split('-');
  const say = (what, element) => wrong.push(what + ': ' + (element?.textContent ?? '').trim().slice(0, 60));
  if (matchMedia('(prefers-color-scheme: dark)').matches !== (scheme === 'dark')) say('the scheme is not ' + scheme);
  if (innerWidth !== +width) say('the width is ' + innerWidth);
  for (const details of document.querySelectorAll('details')) details.open = true;
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) say('horizontal overflow by ' + (root.scrollWidth - root.clientWidth));
  // Charts: their text inside their box, at least 12 pixels high.
  const charts = [...document.querySelectorAll('svg[role]')];
  if (!charts.length) say('there is no chart');
  for (const svg of charts) {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    // What panels share is drawn by reference, and can be measured as a copy only.
    const shared = [...svg.querySelectorAll('use')].map(use => svg.appendChild(document.querySelector(use.getAttribute('href')).cloneNode(true)));
    if (shared.some(copy => !copy.querySelector('text'))) say('panels without ticks', svg);
    for (const text of svg.querySelectorAll('text')) {
      const t = text.getBoundingClientRect();
      if (t.left < box.left - .5 || t.right > box.right + .5 || t.top < box.top - .5 || t.bottom > box.bottom + .5)
        say('outside of its chart', text);
      if (parseFloat(getComputedStyle(text).fontSize) * scale < 12) say('smaller than 12 pixels', text);
    }
    // No two ticks or numbers over each other.
    const places = [...svg.querySelectorAll('text')].map(text => [text, text.getBoundingClientRect()]);
    for (const [i, [a, p]] of places.entries()) for (const [b, q] of places.slice(i + 1)) {
      const across = Math.min(p.right, q.right) - Math.max(p.left, q.left), down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (across > 1 && down > 3) say('over ' + b.textContent, a);
    }
    shared.forEach(copy => copy.remove());
  }
  // Three charts in a row on a desk. Where a table scrolls, a shadow says so, and the name of a row stays.
  for (const row of document.querySelectorAll('.charts')) {
    const tops = [...row.children].map(figure => figure.getBoundingClientRect().top);
    const beside = tops.filter(top => top === tops[0]).length;
    if (beside !== Math.min(tops.length, +width > 1000 ? 3 : 1)) say(beside + ' charts beside each other', row);
  }
  for (const scroll of document.querySelectorAll('.scroll')) {
    if (scroll.scrollWidth <= scroll.clientWidth) continue;
    const style = getComputedStyle(scroll), name = scroll.querySelector('table:not(.words) td');
    if (style.overflowX !== 'auto' || style.backgroundImage.split('gradient').length < 5) say('nothing says that it scrolls', scroll);
    scroll.scrollLeft = 60;
    if (name && Math.abs(name.getBoundingClientRect().left - scroll.getBoundingClientRect().left) > 1) say('its name scrolls away', name);
    scroll.scrollLeft = 0;
  }
  // Contrast of all text to what is behind it (WCAG 2, success criterion 1.4.3), and its size.
  const colour = text => (text.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['SCRIPT', 'STYLE', 'title'].includes(element.tagName) || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    if (!element.closest('svg') && parseFloat(style.fontSize) < 12) say('smaller than 12 pixels', element);
    let behind = [0, 0, 0, 0];
    for (let e = element; e && behind[3] === 0; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) behind = [...c.slice(0, 3), 1];
    }
    const [a, b] = [luminance(colour(element.closest('svg') ? style.fill : style.color)), luminance(behind)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) say('contrast ' + ((a + .05) / (b + .05)).toFixed(2), element);
  }
  // The value under the pointer, and names that hide their lines.
  const svg = charts[0], box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + .6 * box.width, clientY: box.top + .5 * box.height }));
  const readout = document.getElementById('readout');
  if (readout.hidden || !/^at [\d.]+\n/.test(readout.textContent)) say('no value under the pointer', readout);
  const name = document.querySelector('.legend li');
  name.click();
  if (!document.querySelector('svg[role] .line.off.' + name.dataset.s)) say('the line of a name is not hidden', name);
  name.click();
  if (document.querySelector('svg[role] .off')) say('the line of a name is not shown again', name);
  parent.postMessage([location.hash, ...wrong], '*');
});
