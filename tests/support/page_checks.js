/* What is wrong with the pages in the frames of this one: a line of text each, after "@@". */
'use strict';

const slack = 1.5; /* pixels; boxes of text are taller than their letters */

function parse(colour) {
  const numbers = colour.match(/[\d.]+/g).map(Number);
  return {rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1};
}

/* Relative luminance (WCAG 2.1). */
function luminance(rgb) {
  const [r, g, b] = rgb.map(v => {
    const s = v / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const x = luminance(a), y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/* The first opaque background below an element. */
function ground(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(at.ownerDocument.defaultView.getComputedStyle(at).backgroundColor);
    if (colour.alpha === 1) return colour.rgb;
  }
  return null;
}

function words(element) {
  return element.textContent.trim().replace(/\s+/g, ' ').slice(0, 50);
}

function checkWidth(page, say) {
  const root = page.documentElement;
  if (root.scrollWidth <= root.clientWidth) return;
  const end = e => e.getBoundingClientRect().left + Math.max(e.offsetWidth || 0, e.scrollWidth);
  const wide = [...page.body.querySelectorAll('*')].filter(
    e => !e.closest('.wide') && end(e) > root.clientWidth + slack);
  const last = wide.pop();
  say(`${root.scrollWidth} pixels wide: ${last ? last.tagName + ' ' + words(last) : '?'}`);
}

function overlap(a, b) {
  return Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack &&
         Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
}

function checkLabels(page, say) {
  for (const svg of page.querySelectorAll('svg')) {
    const all = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter(t => words(t));
    const boxes = texts.map(t => t.getBoundingClientRect());
    boxes.forEach((box, i) => {
      if (box.left < all.left - slack || box.right > all.right + slack ||
          box.top < all.top - slack || box.bottom > all.bottom + slack)
        say(`label outside its chart: ${words(texts[i])}`);
      for (let k = 0; k < i; k++)
        if (overlap(box, boxes[k])) say(`labels overlap: ${words(texts[k])} | ${words(texts[i])}`);
    });
  }
}

function checkContrast(page, say) {
  const least = 4.5, walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || seen.has(element) || !element.getClientRects().length) continue;
    seen.add(element);
    const style = page.defaultView.getComputedStyle(element), below = ground(element);
    const ink = parse(element.closest('svg') ? style.fill : style.color).rgb;
    if (!below)
      say(`no ground below ${words(element)}`);
    else if (contrast(ink, below) < least)
      say(`contrast ${contrast(ink, below).toFixed(2)}: ${words(element)}`);
  }
}

function checkFrame(frame, scheme) {
  const page = frame.contentDocument, findings = [];
  const say = text => findings.push(`@@${frame.title}, ${scheme}: ${text}`);
  if (!page || !page.body || !page.querySelector('h1')) return [`@@${frame.title}: not loaded`];
  if (frame.contentWindow.matchMedia('(prefers-color-scheme: dark)').matches !==
      (scheme === 'dark'))
    say('has the other colours');
  for (const element of page.querySelectorAll('[src], link, object'))
    say(`loads ${element.src || element.href || element.data}`);
  checkWidth(page, say);
  checkLabels(page, say);
  checkContrast(page, say);
  return findings;
}

addEventListener('load', () => {
  const scheme = location.hash.slice(1), frames = [...document.querySelectorAll('iframe')];
  const findings = frames.flatMap(frame => checkFrame(frame, scheme));
  const out = document.createElement('pre');
  out.textContent = [...findings, `@@checked ${frames.length}`, ''].join('\n');
  document.body.replaceChildren(out);
});
