import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { installed } from './app.ts'
import { names } from './pack.ts'
import { app } from './packed.ts'

describe.each(names)('@spillway/%s', (name) => {
  test('holds its build and three papers', () => {
    expect(readdirSync(installed(app, name)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
    const files = readdirSync(join(installed(app, name), 'dist'), { recursive: true, encoding: 'utf8' })
    const others = files.filter((file) => file.includes('.') && !/\.(js|d\.ts)$/.test(file))
    expect(others).toEqual([join('cjs', 'package.json')])
  })

  // A request that is frozen lost its state in sloppy code, and was counted by each pass.
  test('has strict code only', () => {
    const folder = join(installed(app, name), 'dist/cjs')
    const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'))
    expect(modules.length).toBeGreaterThan(0)
    for (const file of modules)
      expect(readFileSync(join(folder, file), 'utf8'), file).toMatch(/^(#!.*\n)?"use strict";/)
  })

  // One other character, and V8 decodes the file and keeps two bytes for each: `require` took a tenth more instructions.
  test('has code of ASCII only', () => {
    const dist = join(installed(app, name), 'dist')
    const modules = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'))
    for (const file of modules) {
      const [beyond] = /[^\0-\x7f]/.exec(readFileSync(join(dist, file), 'utf8')) ?? []
      expect(beyond, file).toBeUndefined()
    }
  })

  test('opens its README with what it is, how to install it, and a sample that asks for nothing else', () => {
    const readme = readFileSync(join(installed(app, name), 'README.md'), 'utf8')
    expect(readme).toMatch(new RegExp(`^# @spillway/${name}\n\n[A-Z][^#]+?\n\n\`{3}sh\n`))
    const [start = '', sample = ''] = [...readme.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, code]) => code as string)
    const imported = [...sample.matchAll(/ from '((?:@[^/']+\/)?[^/']+)/g)].map(
      ([, dependency]) => dependency as string,
    )
    const needed = imported.filter((dependency) => !/^\w+:/.test(dependency))
    expect(start.split(/\s+/)).toEqual(expect.arrayContaining([`@spillway/${name}`, ...needed]))
  })

  test('tells what it is in its manifest', () => {
    const manifest = JSON.parse(readFileSync(join(installed(app, name), 'package.json'), 'utf8'))
    expect(manifest).toMatchObject({ license: 'MIT', type: 'module', sideEffects: false, engines: { node: '>=20.19' } })
    expect(manifest.description).toMatch(/^[A-Z].+\.$/)
    expect(manifest.keywords).toContain('rate-limit')
  })

  test('names no file that it lacks and no workspace', () => {
    const manifest = readFileSync(join(installed(app, name), 'package.json'), 'utf8')
    expect(manifest).not.toMatch(/workspace:|catalog:/)
    const { main, types, typesVersions, exports } = JSON.parse(manifest)
    const textsIn = (value: unknown): readonly string[] =>
      typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(textsIn)
    for (const target of textsIn([main, types, typesVersions, exports])) {
      expect(target).toMatch(/^\.\/dist\//)
      expect(existsSync(join(installed(app, name), target)), target).toBe(true)
    }
  })
})
