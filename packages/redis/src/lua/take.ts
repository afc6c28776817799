/** The head of the script: locals that the kernels use. */
export const headLua = /* lua */ `
local abs, ceil, floor, fmod, max, min = math.abs, math.ceil, math.floor, math.fmod, math.max, math.min
local format, sub, type = string.format, string.sub, type
local kernels = {}
`

/**
 * Reads the states, runs the steps of each batch in order, and writes each changed state once, after all batches. A key expires
 * one minute after its state. A value in any other format counts as no state. `usedBy` is that of core: what a state of another
 * kernel has counted, since when, and a time.
 *
 * `batches` is a flat array: for each batch the number of its ops, then for each op the index of its key in `keys` and
 * the index of its step. The reply is a flat array: the time, then the result of each op. Times in results are relative
 * to that time, because small numbers are encoded, sent and parsed faster. Every number is whole and below 2^53. None is
 * passed to `tostring`, which keeps 14 digits; `redis.call` keeps 17.
 */
const runLua = /* lua */ `
local function decode(raw)
  if not raw then return nil end
  local moment = tonumber(raw)
  if moment then return moment % 1 == 0 and moment or nil end
  local kind = sub(raw, 1, 1)
  if kind == 'l' then
    local sound, log = pcall(cmsgpack.unpack, sub(raw, 2))
    return sound and type(log) == 'table' and log or nil
  end
  if kind == 'w' then
    local start, current, previous = string.match(raw, '^w:(%d+):(%d+):(%d+)$')
    return start and { start = tonumber(start), current = tonumber(current), previous = tonumber(previous) } or nil
  end
  if kind == 'c' then
    local writtenAt, ahead, early, cold, scale = string.match(raw, '^c:(%d+):(%d+):(%d+):(%d+):(%d+)$')
    return writtenAt and {
      writtenAt = tonumber(writtenAt), ahead = tonumber(ahead), early = tonumber(early),
      cold = tonumber(cold), scale = tonumber(scale),
    } or nil
  end
  if kind == 'p' then
    local writtenAt, first, count, ends, level, last = string.match(raw, '^p:(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
    return writtenAt and {
      writtenAt = tonumber(writtenAt), first = tonumber(first), count = tonumber(count),
      ['until'] = tonumber(ends), level = tonumber(level), last = tonumber(last),
    } or nil
  end
  if kind == 'b' then
    local tat, gross, turn = string.match(raw, '^b:(-?%d+):(%d+):(%d+)$')
    return tat and { tat = tonumber(tat), gross = tonumber(gross), turn = tonumber(turn) } or nil
  end
  if kind == 'e' then
    local sound, tat, scale, early, gross, turn, grossEarly = pcall(cmsgpack.unpack, sub(raw, 2))
    if not sound or type(tat) ~= 'number' or type(early) ~= 'number' then return nil end
    return {
      tat = tat, gross = gross or abs(tat), turn = turn or 0, scale = scale, early = early, grossEarly = grossEarly or early,
    }
  end
  return nil
end

local function usedBy(state, now, span)
  if type(state) == 'table' and state.level then
    local ends = state['until']
    return ends > 0 and ends <= now and 0 or state.count, min(state.first, now), max(ends - now, 0)
  end
  if type(state) == 'table' and state.start then
    return state.current + state.previous, min(state.start, now), 0
  end
  local micros
  if type(state) == 'number' then micros = abs(state) - now
  elseif state.gross then micros = abs(state.tat) - now
  elseif state.cold then micros = state.ahead - max(now - state.writtenAt, 0)
  else
    local units = 0
    if #state % 2 == 1 then return 0, now, 0 end
    for i = 1, #state, 2 do
      if state[i] > now - span then units = units + state[i + 1] end
    end
    return units, min(state[#state - 1] or now, now), 0
  end
  return 0, now, micros > 0 and micros <= 2 * span and micros or 0
end

local function countedBy(state, now, limit, span)
  local units, since, micros = usedBy(state, now, span)
  local share = ceil(micros * limit / span)
  local live = now - since < span and min(units, limit) or 0
  if share > live then return min(share, limit), now end
  return live, since
end

local function run(keys, now, steps, batches)
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  end
  local states = redis.call('MGET', unpack(keys))
  for i = 1, #keys do states[i] = decode(states[i]) end

  local changed = {}
  local reply, place = { now }, 2

  local function stepOf(op)
    local state, step = states[batches[op]], steps[batches[op + 1]]
    local kernel = kernels[step.kernel]
    if state ~= nil and not kernel.owns(state) then state = kernel.adopt(state, now, step, usedBy, countedBy) end
    return kernel.step(state, now, step)
  end

  local function settle(op, takes, allowed, base, next, taken, kept, ...)
    local key, step = batches[op], steps[batches[op + 1]]
    local state = kept
    if takes then state = taken end
    if not step.peek and state ~= nil and state ~= states[key] then
      states[key], changed[key] = state, step
    end
    reply[place] = allowed and 1 or 0
    place = kernels[step.kernel].report(reply, place + 1, now, step, base, next, takes and not step.peek, ...)
  end

  local op, last = 1, #batches
  while op < last do
    local ops = batches[op]
    op = op + 1
    if ops == 1 then
      local allowed, base, next, taken, kept, gross, early, nextEarly, grossEarly = stepOf(op)
      settle(op, allowed, allowed, base, next, taken, kept, gross, early, nextEarly, grossEarly)
      op = op + 2
    else
      local takes, outcomes = true, {}
      for i = 1, ops do
        outcomes[i] = { stepOf(op + 2 * i - 2) }
        takes = takes and outcomes[i][1]
      end
      for i = 1, ops do
        settle(op, takes, unpack(outcomes[i], 1, 9))
        op = op + 2
      end
    end
  end

  for key, step in pairs(changed) do
    local kernel = kernels[step.kernel]
    local left = ceil(max(kernel.emptyAt(states[key], step) - now, 0) / 1000) + 60000
    redis.call('SET', keys[key], kernel.encode(states[key]), 'PX', left)
  end
  return reply
end
`

/** The definitions of a script that runs these kernels. */
export const definitionsLua = (kernels: readonly string[]): string => [headLua, ...kernels, runLua].join('')

/** The end of the script. `ARGV` is the time or an empty string, the steps, and the batches; the last two are JSON arrays. */
export const takeLua = /* lua */ `
return run(KEYS, tonumber(ARGV[1]), cjson.decode(ARGV[2]), cjson.decode(ARGV[3]))
`
