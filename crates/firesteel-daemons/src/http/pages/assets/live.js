// Keeps a page up to date, filters as the reader types, and moves by keys. Without it the page is the same, until it is
// loaded again.
'use strict';
(() => {
  const main = document.getElementById('main');
  const live = document.getElementById('live');
  const filter = document.getElementById('filter');
  const pace = Number(document.body.dataset.pace);
  const log = document.querySelector('pre.log[data-follow]');
  document.documentElement.classList.add('scripted');

  let sequence = 0, timer, failures = 0;

  const say = (words, lost) => {
    if (live.textContent !== words) live.textContent = words;
    live.classList.toggle('lost', lost);
  };

  // The element that has the focus, so that another one with the same meaning can have it after a change.
  const mark = (part) => {
    const active = document.activeElement;
    if (!active || active === document.body || !part.contains(active)) return null;
    return {href: active.getAttribute('href'), name: active.getAttribute('name'), text: active.textContent};
  };
  const restore = (part, marked) => {
    if (!marked) return;
    const all = [...part.querySelectorAll('a, button, input, summary, [tabindex]')];
    const same = all.find((it) => it.getAttribute('href') === marked.href && it.getAttribute('name') === marked.name
      && it.textContent === marked.text) || all.find((it) => marked.href && it.getAttribute('href') === marked.href);
    if (same) same.focus({preventScroll: true});
  };
  const isSelected = (part) => {
    const selection = getSelection();
    return !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  const replace = (fresh) => {
    const there = [...main.children], next = [...fresh.children];
    const ids = (parts) => parts.map((part) => part.id).join(' ');
    if (ids(there) !== ids(next)) {
      const marked = mark(main);
      main.replaceChildren(...next);
      return restore(main, marked);
    }
    there.forEach((part, index) => {
      const other = next[index];
      if (part.isEqualNode(other) || isSelected(part) || part.querySelector('pre.log')) return;
      const marked = mark(part);
      const scrolled = part.querySelector('.scroll');
      const left = scrolled ? scrolled.scrollLeft : 0;
      part.replaceWith(other);
      const scroll = other.querySelector('.scroll');
      if (scroll) scroll.scrollLeft = left;
      restore(other, marked);
    });
  };

  const refresh = async () => {
    const mine = ++sequence;
    clearTimeout(timer);
    try {
      const answer = await fetch(location.href, {headers: {accept: 'text/html'}, cache: 'no-store'});
      const text = await answer.text();
      if (mine !== sequence) return;
      if (answer.status >= 500) throw new Error(text);
      const page = new DOMParser().parseFromString(text, 'text/html');
      replace(page.getElementById('main'));
      document.title = page.title;
      failures = 0;
      say('Live', false);
    } catch {
      if (mine !== sequence) return;
      failures += 1;
      say('No answer', true);
    }
    plan();
  };
  const plan = () => {
    clearTimeout(timer);
    if (pace && !document.hidden) timer = setTimeout(refresh, pace * Math.min(8, 1 + failures));
  };

  if (filter) {
    let typing;
    const typed = () => {
      const url = new URL(location.href);
      [...url.searchParams.keys()].filter((name) => name.endsWith('From')).forEach((name) => url.searchParams.delete(name));
      if (filter.value) url.searchParams.set('filter', filter.value);
      else url.searchParams.delete('filter');
      url.hash = '';
      history.replaceState(null, '', url);
      refresh();
    };
    filter.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(typed, 120); });
    filter.form.addEventListener('submit', (event) => { event.preventDefault(); clearTimeout(typing); typed(); });
  }

  const rows = () => [...main.querySelectorAll('tbody tr')].filter((row) => row.querySelector('a'));
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by));
    const link = all[next].querySelector('a');
    link.focus();
    link.scrollIntoView({block: 'nearest'});
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writes = event.target.matches('input, textarea, select');
    if (event.key === 'Escape' && filter && (event.target === filter || !writes)) {
      filter.value = '';
      filter.dispatchEvent(new Event('input'));
      filter.blur();
    }
    if (writes) return;
    if (event.key === '/' && filter) { event.preventDefault(); filter.focus(); filter.select(); }
    if (event.key === 'j') move(1);
    if (event.key === 'k') move(-1);
    if (event.key === 'g') document.querySelector('.brand').click();
  });

  // A log grows at its end. The reader who looks at the end goes on to see the end.
  const follow = async () => {
    let next = Number(log.dataset.end);
    const limit = 4 << 20;
    for (;;) {
      const url = new URL(log.dataset.follow, location.href);
      url.searchParams.set('offset', next);
      let wait = 1000;
      try {
        const answer = await fetch(url, {cache: 'no-store'});
        const text = await answer.text();
        const head = /^==== Bytes (\d+)-(\d+) of (\d+) of [^\n]*\n/.exec(text);
        if (!answer.ok || !head) throw new Error(text);
        const more = text.slice(head[0].length);
        const isOver = answer.headers.get('x-log-over') === 'true';
        if (more) {
          const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
          log.append(more);
          if (log.textContent.length > limit) log.textContent = log.textContent.slice(-limit / 2);
          if (atEnd) log.scrollTop = log.scrollHeight;
        }
        next = Number(head[2]);
        if (next < Number(head[3])) wait = 0;
        else if (isOver) return say('Ended', false);
        say('Following', false);
      } catch {
        say('No answer', true);
        wait = 4000;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  };

  if (log) {
    log.scrollTop = log.scrollHeight;
    follow();
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? clearTimeout(timer) : pace && refresh()));
  if (pace) { say('Live', false); plan(); }
})();
