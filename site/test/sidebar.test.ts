import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'
import { expect, test } from 'vitest'
import { placeOf, root } from '../.vitepress/places.ts'
import { sidebar } from '../.vitepress/sidebar.ts'

const linksOf = (items: readonly DefaultTheme.SidebarItem[]): readonly string[] =>
  items.flatMap(({ link, items = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(items)])

test('every page of the documents is in the sidebar', () => {
  const links = linksOf(sidebar())
  const sources = ['docs', 'docs/guides', 'docs/migration'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md') && name !== 'index.md')
      .map((name) => `${folder}/${name}`),
  )
  expect(sources.length).toBeGreaterThan(30)
  expect(sources.filter((source) => !links.includes(`/${placeOf(source)}`))).toEqual([])
})
