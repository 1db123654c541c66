/* Counts words that a tokenizer does not know, by the ids that they became, and warns of them.
 * Called by corpus.c for data and by train/predictor.c for requests; by users for prompts. */
#include "data/pretrained.h"

#include <string.h>

/* The id that stands for every unknown word; -1: the tokenizer knows or refuses each symbol. */
static int32_t unknown_id(const filtra_tokenizer *t) {
  if (t->pretrained) return t->pretrained->unknown;
  return !strcmp(t->name, "words") ? FT_WORD_UNKNOWN : -1;
}

static bool is_framing(const ft_frame *frame, int32_t id) {
  bool middle = false;
  for (uint32_t i = 0; frame && i < frame->middle_count; i++)
    middle = middle || frame->middle[i] == id;
  return frame && (middle || frame->begin == id || frame->end == id);
}

/* Whether a symbol begins a word: it does not go on with one and is no punctuation. */
static bool begins_word(const ft_pretrained *p, const char *symbol) {
  static const char PUNCTUATION[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  if (p->bpe) return true;
  const size_t prefix = strlen(p->prefix);
  if (prefix && !strncmp(symbol, p->prefix, prefix)) return false;
  return !*symbol || symbol[1] || !strchr(PUNCTUATION, *symbol);
}

void ft_count_words(const filtra_tokenizer *t, const int32_t *ids, size_t count,
                    ft_word_count *sum) {
  const int32_t unknown = unknown_id(t);
  const ft_frame *frame = ft_tokenizer_frame(t);
  for (size_t i = 0; unknown >= 0 && i < count; i++) {
    const bool word =
        t->pretrained ? !is_framing(frame, ids[i]) && begins_word(t->pretrained, t->symbols[ids[i]])
                      : ids[i] != FT_WORD_END_OF_LINE;
    sum->unknown += ids[i] == unknown;
    sum->words += word || ids[i] == unknown;
  }
}

bool ft_mostly_unknown(const ft_word_count *sum) {
  return 2 * sum->unknown > sum->words;
}

void ft_warn_of_unknown_words(const filtra_tokenizer *t, const ft_word_count *sum,
                              const char *where) {
  ft_log(FILTRA_LOG_WARNING,
         "%s: %llu of %llu %s are unknown to the vocabulary of the tokenizer \"%s\", which reads "
         "them all as %s",
         where, (unsigned long long)sum->unknown, (unsigned long long)sum->words,
         t->pretrained && t->pretrained->bpe ? "tokens" : "words", t->name,
         t->symbols[unknown_id(t)]);
}

filtra_status filtra_tokenizer_encode_prompt(const filtra_tokenizer *tokenizer, const char *text,
                                             size_t length, int32_t *tokens, size_t capacity,
                                             size_t *count) {
  FT_TRY(filtra_tokenizer_encode_offsets(tokenizer, text, length, true, tokens, NULL, NULL,
                                         capacity, count));
  ft_word_count words = {0};
  if (*count <= capacity) ft_count_words(tokenizer, tokens, *count, &words);
  if (words.unknown) ft_warn_of_unknown_words(tokenizer, &words, "prompt");
  return FILTRA_OK;
}
