/** The part of JSON Schema (draft 2020-12) that the rules use; `check` in validate.ts implements it. */
export interface Schema {
  readonly $schema?: string
  readonly title?: string
  /** Completes "must be …" in errors. */
  readonly description?: string
  readonly type?:
    | 'array'
    | 'boolean'
    | 'integer'
    | 'number'
    | 'object'
    | 'string'
    | readonly ('string' | 'number' | 'boolean')[]
  readonly const?: string
  readonly enum?: readonly (string | boolean)[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly minProperties?: number
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: false
  readonly required?: readonly string[]
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>
  /** Exactly one of these names must be present. */
  readonly oneOf?: readonly { readonly required: readonly string[] }[]
  /** Further schemas for the object, one for each value of a property. */
  readonly allOf?: readonly Schema[]
  readonly if?: Schema
  readonly then?: Schema
  readonly else?: Schema
}

/** A schema for values that meet a condition, and one for all others. */
export const when = (condition: Schema, yes: Schema, no?: Schema): Schema => ({
  if: condition,
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so, and a schema is never awaited.
  then: yes,
  ...(no && { else: no }),
})
