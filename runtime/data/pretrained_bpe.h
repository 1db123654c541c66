/* Byte-level BPE: splits text by GPT-2's pattern, and joins bytes by merges. */
#ifndef FT_DATA_PRETRAINED_BPE_H
#define FT_DATA_PRETRAINED_BPE_H

#include "data/pretrained.h"

/** Bytes of the word that GPT-2's pattern matches at the start of a text, which must not be
 * empty. */
size_t ft_bpe_word(const ft_pretrained *p, const char *text, size_t length);
/** Appends the ids of a word. */
filtra_status ft_bpe_encode(const ft_pretrained *p, ft_scratch *s, const char *word, size_t length,
                            ft_tokens *tokens);
/** The merge of two ids; NULL: there is none. */
const ft_merge *ft_bpe_merge(const ft_pretrained *p, int32_t left, int32_t right);
/** Stores a merge in the table, which has room; false: the two ids already have one. */
bool ft_bpe_keep(ft_pretrained *p, int32_t left, int32_t right, uint32_t rank, int32_t id);
/** The character that stands for a byte in a symbol. */
uint32_t ft_bpe_character(unsigned char byte);
/** The bytes that a symbol stands for; never more bytes than the symbol itself. Returns their
 * number. */
size_t ft_bpe_bytes(const char *symbol, size_t length, char *bytes);

#endif
