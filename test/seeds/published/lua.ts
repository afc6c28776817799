/**
 * The token bucket script of the text on Clojure and Redis, statement by statement.
 * `KEYS`: time of the last call, tokens. `ARGV`: most hits, interval in ms, the caller's time in ms.
 */
export const throttleLua = `
local last = tonumber(redis.call('get', KEYS[1]))
local count = tonumber(redis.call('get', KEYS[2]))
local most = tonumber(ARGV[1])
if last then
  local elapsed = tonumber(ARGV[3]) - last
  local add = math.floor((most * elapsed / tonumber(ARGV[2])) + 0.5)
  local left = math.min(count + add - 1, most - 1)
  redis.log(redis.LOG_WARNING, left)
  if left >= 0 then
    redis.call('set', KEYS[2], left)
    redis.call('set', KEYS[1], ARGV[3])
  end
  return left < 0
else
  redis.call('set', KEYS[2], most - 1)
  redis.call('set', KEYS[1], ARGV[3])
  return false
end
`

/**
 * The reservation script of the text on Guava and Redis, statement by statement.
 * `KEYS`: the key, the most permits, permits a second. `ARGV`: permits wanted, maximum wait in microseconds.
 */
export const acquireLua = `
local most, rate, wanted = tonumber(KEYS[2]), tonumber(KEYS[3]), tonumber(ARGV[1])
local free = tonumber(redis.call('hget', KEYS[1], 'next_free_ticket_micros') or 0)
local time = redis.call('time')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
if ARGV[2] ~= nil then
  local wait = free - now
  if wait > tonumber(ARGV[2]) then return wait end
end
local stored = tonumber(redis.call('hget', KEYS[1], 'stored_permits') or 0)
local interval = 1000000 / rate
if now > free then
  stored = math.min(most, stored + (now - free) / interval)
  free = now
end
local moment = free
local spent = math.min(wanted, stored)
redis.replicate_commands()
redis.call('hset', KEYS[1], 'stored_permits', stored - spent)
redis.call('hset', KEYS[1], 'next_free_ticket_micros', free + (wanted - spent) * interval)
redis.call('expire', KEYS[1], 10)
return moment - now
`
