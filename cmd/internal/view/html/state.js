'use strict';
// What a reader has chosen is in the address, after #: a view can be linked. Keys are
// of an element and a name; an address without = is that of a place in the page.
const linked = (() => {
  const read = () => new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
  const watchers = [];
  let params = read();
  function write() {
    const text = '#' + params;
    try {
      history.replaceState(null, '', text);
    } catch {
      location.replace(text);
    }
  }
  addEventListener('hashchange', () => {
    if (!location.hash.includes('=') || location.hash.slice(1) === String(params)) return;
    params = read();
    watchers.forEach(f => f());
  });
  return {
    get: (id, key) => params.get(`${id}.${key}`),
    set(id, key, value) {
      const name = `${id}.${key}`;
      if ((params.get(name) || '') === (value || '')) return;
      value ? params.set(name, value) : params.delete(name);
      write();
    },
    watch: f => watchers.push(f),
  };
})();
