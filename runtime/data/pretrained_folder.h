/* What a folder of Hugging Face says of its tokenizer, file by file. */
#ifndef FT_DATA_PRETRAINED_FOLDER_H
#define FT_DATA_PRETRAINED_FOLDER_H

#include "data/pretrained.h"

/* Largest file of a tokenizer. Model files hold it too, in up to 100 MB of metadata. */
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

/** Puts what tokenizer_config.json (NULL: none) says otherwise into tokenizer.json. */
filtra_status ft_pretrained_configure(json_t *root, const json_t *config);
/** Makes tokenizer.json of the other files. */
filtra_status ft_pretrained_make(const ft_pretrained_folder *f, json_t **root);

#endif
