// Resolves imports of the packages to their builds, which users install. The sources would run through tsx, which adds a
// name to every function, and that costs as much as the rest.

import { readdirSync, readFileSync } from 'node:fs'
import { register } from 'node:module'

const packages = new URL('../packages/', import.meta.url)

/** The built file of each entry, by what imports name it. @type {Record<string, string>} */
export const builds = {}
for (const folder of readdirSync(packages)) {
  const { name, publishConfig } = JSON.parse(readFileSync(new URL(`${folder}/package.json`, packages), 'utf8'))
  for (const [entry, target] of Object.entries(publishConfig?.exports ?? {})) {
    builds[name + entry.slice(1)] = new URL(`${folder}/${target.default.default}`, packages).href
  }
}

const hooks = `const builds = ${JSON.stringify(builds)}
export const resolve = (specifier, context, next) => next(builds[specifier] ?? specifier, context)`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
