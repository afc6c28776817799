import type { Names } from './names.ts'

/** Locks rows in the order of their names, like takes, to avoid deadlocks. */
export const deleteKeysSql = ({ table }: Names): string => `
WITH found AS (
  SELECT t.name FROM ${table} t WHERE t.name = ANY (string_to_array($1, E'\\n')) ORDER BY t.name FOR UPDATE
) DELETE FROM ${table} t USING found f WHERE t.name = f.name RETURNING t.name`

/** Deletes the first rows of a range of names. Locks them in the order of their names, like takes. */
export const deleteRangeSql = ({ table }: Names): string => `
WITH found AS (
  SELECT t.name FROM ${table} t WHERE t.name >= $1 AND t.name < $2 ORDER BY t.name LIMIT $3 FOR UPDATE
), deleted AS (
  DELETE FROM ${table} t USING found f WHERE t.name = f.name RETURNING t.name
) SELECT count(*)::int AS count, max(name) AS last FROM deleted`

/** The names of a range, in order. */
export const namesSql = ({ table }: Names): string =>
  `SELECT t.name FROM ${table} t WHERE t.name >= $1 AND t.name < $2 ORDER BY t.name LIMIT $3`
