/* WordPiece: BERT's normaliser, splitting text into words and words into pieces. */
#ifndef FT_DATA_PRETRAINED_WORDPIECE_H
#define FT_DATA_PRETRAINED_WORDPIECE_H

#include "data/pretrained.h"

/** Normalises a text into s->text and, with s->spans, s->origins; `base` is the offset of the text
 * in the caller's. */
filtra_status ft_bert_normalize(const ft_pretrained *p, ft_scratch *s, const char *text,
                                size_t length, size_t base);
/** The next word or punctuation mark of a normalised text from *at on; *length is 0 at the end. */
const char *ft_bert_word(const ft_pretrained *p, const char *text, size_t size, size_t *at,
                         size_t *length);
/** Appends the ids of a word. */
filtra_status ft_wordpiece_encode(const ft_pretrained *p, ft_scratch *s, const char *word,
                                  size_t length, ft_tokens *tokens);

#endif
