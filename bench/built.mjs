// Resolves imports of the packages to their builds, which users install. The sources would run through tsx, which adds a
// name to every function, and that costs as much as the rest.

import { register } from 'node:module'

const packages = new URL('../packages/', import.meta.url).href

const hooks = `export function resolve(specifier, context, next) {
  const [, name, path = ''] = /^@spillway\\/([^/]+)(\\/.+)?$/.exec(specifier) ?? []
  return next(name ? \`${packages}\${name}/dist\${path}/index.js\` : specifier, context)
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
