/** A defect to put back into the code, by the text of the file. */
export interface Planted {
  readonly name: string
  /** The file, from `packages/`, unless a text is in another one. */
  readonly file: string
  /** The first seed that finds it, and the property that it breaks. */
  readonly seed: number
  readonly property: string
  readonly replaced: readonly (readonly [text: string, by: string, file?: string])[]
}
