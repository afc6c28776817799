import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { describe, expect, inject, test } from 'vitest'
import { installed } from './app.ts'
import { names } from './pack.ts'

// Runs publint and attw, which users check packages with.

const app = inject('app')
const tarballs = inject('tarballs')

describe.each(names)('@spillway/%s', (name) => {
  test('leaves publint nothing to say', async () => {
    const { messages, pkg } = await publint({
      pkgDir: installed(app, name),
      level: 'suggestion',
      strict: true,
      pack: false,
    })
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
  })

  test('has types that are not wrong', async () => {
    const tarball = createPackageFromTarballData(readFileSync(tarballs[name] as string))
    // Only packages of this repository import it.
    const analysis = await checkPackage(tarball, { excludeEntrypoints: ['./internal'] })
    expect(analysis.types).not.toBe(false)
    expect('problems' in analysis && analysis.problems).toEqual([])
  })
})
