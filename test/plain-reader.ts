import type { RequestReader } from '@spillway/core/http'

/** Reads requests that have nothing in them to be read: all are from one address. */
export const plainReader: RequestReader<object> = {
  address: () => '203.0.113.7',
  peer: () => '203.0.113.7',
  method: () => 'GET',
  path: () => '/',
  header: () => undefined,
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: () => () => {},
}
