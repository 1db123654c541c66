/* Byte-level BPE: GPT-2's splitting of text, and joining bytes by merges. */
#ifndef FT_DATA_PRETRAINED_BPE_H
#define FT_DATA_PRETRAINED_BPE_H

#include "data/pretrained.h"

/** Bytes of the word that GPT-2's pattern finds at the start of a text that is not empty. */
size_t ft_bpe_word(const ft_pretrained *p, const char *text, size_t length);
/** Appends the ids of a word. */
filtra_status ft_bpe_encode(const ft_pretrained *p, ft_scratch *s, const char *word, size_t length,
                            ft_tokens *tokens);
/** The merge of two ids; NULL: there is none. */
const ft_merge *ft_bpe_merge(const ft_pretrained *p, int32_t left, int32_t right);
/** Keeps a merge in the table, which has room; false: these two have one already. */
bool ft_bpe_keep(ft_pretrained *p, int32_t left, int32_t right, uint32_t rank, int32_t id);
/** The character that stands for a byte in a symbol. */
uint32_t ft_bpe_character(unsigned char byte);
/** The bytes that a symbol stands for, no more than it has itself. Returns how many. */
size_t ft_bpe_bytes(const char *symbol, size_t length, char *bytes);

#endif
