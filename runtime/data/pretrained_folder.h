/* Files of a Hugging Face folder that describe its tokenizer. */
#ifndef FT_DATA_PRETRAINED_FOLDER_H
#define FT_DATA_PRETRAINED_FOLDER_H

#include "data/pretrained.h"

/* Size limit of a tokenizer file. Model files contain it too, in up to 100 MB of metadata. */
enum { FT_TOKENIZER_FILE_LIMIT = 64 << 20 };

typedef struct ft_pretrained_folder {
  const char *path;
  json_t *config;  /* tokenizer_config.json; this and the next three: NULL if there is none */
  json_t *special; /* special_tokens_map.json */
  json_t *added;   /* added_tokens.json */
  json_t *model;   /* config.json */
  bool bpe;
  json_t *vocabulary, *merges; /* symbols and ids; "a b", for BPE */
} ft_pretrained_folder;

/** Adds the tokens that tokenizer.json lacks and the files beside it have. Fails with INPUT if they
 * give a token another id. */
filtra_status ft_pretrained_add(const ft_pretrained_folder *f, json_t *root);
/** Overrides parts of tokenizer.json by tokenizer_config.json and, where that says nothing, by what
 * a class that is a model's does; PreTrainedTokenizerFast and its like change nothing. Fails with
 * INPUT for what is not known. */
filtra_status ft_pretrained_configure(const ft_pretrained_folder *f, json_t *root);
/** Gives both texts of a pair token type 0 if tokenizer_config.json lists what the model is given,
 * and token types are not there, or if its class gives none. */
filtra_status ft_pretrained_set_types(json_t *root, const json_t *config);
/** Has longer texts cut at the side that tokenizer_config.json names; without a name, that of
 * tokenizer.json's "truncation" stays. */
filtra_status ft_pretrained_set_side(json_t *root, const json_t *config);
/** Builds tokenizer.json from the other files. */
filtra_status ft_pretrained_make(const ft_pretrained_folder *f, json_t **root);

#endif
