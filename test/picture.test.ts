import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bucketPicture } from '../demo/picture.ts'

test('docs/bucket.svg draws real decisions', async () => {
  const picture = bucketPicture()
  await expect(picture).toMatchFileSnapshot('../docs/bucket.svg')
  // The refill of ten seconds and a full bucket: at most 15 of the 17 requests.
  expect(picture).toContain('13 requests are allowed, 4 are denied')
  expect(readFileSync(new URL('../docs/bucket.svg', import.meta.url)).length).toBeLessThan(8_000)
})
