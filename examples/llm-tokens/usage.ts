/** Tokens of an answer, by what they cost. */
export interface Tokens {
  /** Tokens of the prompt that were not read from a cache. */
  readonly input: number
  /** Tokens of the prompt that were read from a cache. */
  readonly cached: number
  /** Tokens of the prompt that were written to a cache. */
  readonly written: number
  readonly output: number
}

/** `usage` of OpenAI's chat completions; in a stream, of the last chunk with `stream_options: { include_usage: true }`. */
export interface OpenAIUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null
}

/** `usage` of Anthropic's messages; in a stream, that of `message_start` with the `output_tokens` of `message_delta`. */
export interface AnthropicUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_read_input_tokens?: number | null
  readonly cache_creation_input_tokens?: number | null
}

/** `usageMetadata` of Google's Gemini; in a stream, of the last chunk. */
export interface GoogleUsage {
  readonly promptTokenCount: number
  readonly candidatesTokenCount?: number
  readonly cachedContentTokenCount?: number
  readonly thoughtsTokenCount?: number
  readonly toolUsePromptTokenCount?: number
}

/** OpenAI counts cached tokens among those of the prompt. */
export const tokensOfOpenAI = (usage: OpenAIUsage): Tokens => {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0
  return { input: usage.prompt_tokens - cached, cached, written: 0, output: usage.completion_tokens }
}

/** Anthropic counts cached tokens beside those of the input. */
export const tokensOfAnthropic = (usage: AnthropicUsage): Tokens => ({
  input: usage.input_tokens,
  cached: usage.cache_read_input_tokens ?? 0,
  written: usage.cache_creation_input_tokens ?? 0,
  output: usage.output_tokens,
})

/** Google counts cached tokens among those of the prompt, and thoughts beside those of the answer. */
export const tokensOfGoogle = (usage: GoogleUsage): Tokens => {
  const cached = usage.cachedContentTokenCount ?? 0
  return {
    input: usage.promptTokenCount - cached + (usage.toolUsePromptTokenCount ?? 0),
    cached,
    written: 0,
    output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
  }
}

/** What a token of each kind costs, in tokens of the input. Take the ratios of your price list. */
export const WEIGHTS: Tokens = { input: 1, cached: 0.1, written: 1.25, output: 4 }

/** The units of an answer. */
export const unitsOf = (tokens: Tokens): number =>
  Math.ceil(
    tokens.input * WEIGHTS.input +
      tokens.cached * WEIGHTS.cached +
      tokens.written * WEIGHTS.written +
      tokens.output * WEIGHTS.output,
  )
