// Making elements: text is always text, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === 'color') node.style.setProperty('--c', value);
    else if (name === 'css') for (const [key, to] of Object.entries(value)) node.style.setProperty(key, to);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
export const name = (text) => el('bdi', null, text);
export const byId = (id) => document.getElementById(id);
export const percent = (share) => `${Math.round(100 * share)}\u00a0%`;
export const colour = (component) => `var(--t${((component - 1) % 10) + 1})`;

export function show(id, ...children) {
  const section = byId(id);
  (section.querySelector('.slot') ?? section).replaceChildren(...children);
  section.hidden = false;
}
