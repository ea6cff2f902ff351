// Judges the page: contrast of text, names of controls, labels, structure. Returns a list of complaints.
const complaints = [];
const visible = (element) => {
  const box = element.getBoundingClientRect(), style = getComputedStyle(element);
  return box.width > 1 && box.height > 1 && style.visibility !== 'hidden' && style.display !== 'none';
};
const where = (element) => element.outerHTML.replace(/\s+/g, ' ').slice(0, 120);
const parsed = (colour) => {
  const mixed = /^color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)(?: \/ ([\d.]+))?\)/.exec(colour);
  if (mixed) return [255 * mixed[1], 255 * mixed[2], 255 * mixed[3], mixed[4] === undefined ? 1 : Number(mixed[4])];
  const parts = colour.match(/[\d.]+/g).map(Number);
  return [parts[0], parts[1], parts[2], parts[3] === undefined ? 1 : parts[3]];
};
const light = ([red, green, blue]) => {
  const part = (value) => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parsed(getComputedStyle(at).backgroundColor);
    if (colour[3] === 1) return colour;
  }
  return [255, 255, 255, 1];
};
const named = (element) => (element.getAttribute('aria-label') || element.textContent || element.value
  || element.title || (element.labels && element.labels[0] && element.labels[0].textContent) || '').trim();

// WCAG 2.2, 1.4.3: text has a contrast of 4.5 to what is behind it.
const seen = new Set();
for (const element of document.querySelectorAll('body *')) {
  if (element.closest('svg') || element.closest('.unseen') || !visible(element)) continue;
  const words = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!words) continue;
  const ink = getComputedStyle(element).color, page = behind(element);
  const key = ink + page;
  if (seen.has(key)) continue;
  seen.add(key);
  const [one, other] = [light(parsed(ink)), light(page)];
  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (contrast < 4.5) complaints.push(`contrast ${contrast.toFixed(2)}: ${where(element)}`);
}
// 4.1.2: controls have names. 1.3.1: inputs have labels, tables have names and headers. 2.4.1, 2.4.2, 3.1.1.
for (const control of document.querySelectorAll('a[href], button, input:not([type=hidden]), summary, [role=log], [role=img]')) {
  if (!named(control)) complaints.push(`no name: ${where(control)}`);
}
for (const input of document.querySelectorAll('input:not([type=hidden])')) {
  if (!input.labels.length) complaints.push(`no label: ${where(input)}`);
}
for (const table of document.querySelectorAll('table')) {
  if (!table.caption || !table.caption.textContent.trim()) complaints.push(`no caption: ${where(table)}`);
  const wide = table.tHead ? table.tHead.rows[0].cells.length : 0;
  if (!wide) complaints.push(`no head: ${where(table)}`);
  for (const row of table.tBodies[0].rows) {
    if (row.cells.length !== wide) complaints.push(`a row of ${row.cells.length} cells under ${wide}: ${where(row)}`);
  }
}
for (const part of document.querySelectorAll('nav')) {
  if (!part.getAttribute('aria-label')) complaints.push(`no label: ${where(part)}`);
}
const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
ids.filter((id, index) => ids.indexOf(id) !== index).forEach((id) => complaints.push(`the id ${id} is there twice`));
if (document.documentElement.lang !== 'en') complaints.push('no language');
if (!document.title) complaints.push('no title');
if (document.querySelectorAll('main').length !== 1) complaints.push('not one main');
if (document.querySelectorAll('h1').length > 1) complaints.push('more than one h1');
// 1.4.10: nothing but tables and logs is wider than the window.
const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
if (over > 0) {
  const culprit = [...document.querySelectorAll('body *')].find((element) =>
    element.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !element.closest('.scroll'));
  complaints.push(`${over} pixels too wide: ${culprit ? where(culprit) : '?'}`);
}
return complaints;
