// Lets imports of our packages lead to what is built of them: what users install, without the names that tsx adds to
// every function it makes, which cost as much as the rest.

import { register } from 'node:module'

const packages = new URL('../packages/', import.meta.url).href

const hooks = `export function resolve(specifier, context, next) {
  const [, name, path = ''] = /^@spillway\\/([^/]+)(\\/.+)?$/.exec(specifier) ?? []
  return next(name ? \`${packages}\${name}/dist\${path}/index.js\` : specifier, context)
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
