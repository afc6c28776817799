import { createMarkdownRenderer } from 'vitepress'
import { expect, test } from 'vitest'
import { labelCells } from '../.vitepress/tables.ts'

test('cells have the headings of their columns, and a heading without a text is a cell', async () => {
  const md = await createMarkdownRenderer('.')
  md.core.ruler.push('labels of cells', ({ tokens }) => labelCells(tokens))
  const html = md
    .render('| | `a` | [b](https://example.com/) |\n| --- | --- | --- |\n| x | 1 | 2 |\n')
    .replace(/\s*\n\s*/g, '')
  expect(html.match(/<th/g)).toHaveLength(3) // One of them is <thead>.
  expect(html).toContain('<thead><tr><td></td><th>')
  expect(html).toContain('<td>x</td><td data-label="a">1</td><td data-label="b">2</td>')
})
