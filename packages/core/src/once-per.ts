/** Makes a value once for each object, and keeps it for as long as the object lives. */
export function oncePer<K extends object, V>(make: (about: K) => V): (about: K) => V {
  const made = new WeakMap<K, V>()
  return (about) => {
    let known = made.get(about)
    if (known === undefined) {
      known = make(about)
      made.set(about, known)
    }
    return known
  }
}
