/* A Hugging Face folder: config.json and weights in one file or several. */
#ifndef FT_MODEL_PRETRAINED_FOLDER_H
#define FT_MODEL_PRETRAINED_FOLDER_H

#include "base/json.h"
#include "base/safetensors.h"

typedef struct ft_hf_folder {
  char *config_path;
  json_t *config;
  ft_safetensors **files; /* [file_count] */
  size_t file_count;
  const ft_safetensor **tensors; /* [count], of all files, by name */
  bool *used;                    /* [count] */
  size_t count;
} ft_hf_folder;

/** Whether the path is such a folder: one with a config.json that has "model_type". */
filtra_status ft_hf_folder_is(const char *path, bool *is);
/** Fails with PATH if nothing is at the path, and with INPUT if it is a folder without a model;
 * says what to give instead. */
filtra_status ft_hf_check_path(const char *path);
/** Fails with INPUT if a file that is not a Filtra model belongs to a Hugging Face folder or cannot
 * hold weights; says what to give instead. */
filtra_status ft_hf_check_file(const char *path);
/** Reads config.json and all weights. Caller closes; *out is all 0 after a failure. */
filtra_status ft_hf_folder_open(const char *path, ft_hf_folder *out);
void ft_hf_folder_close(ft_hf_folder *folder);

/** The tensor of that name; NULL if there is none. */
const ft_safetensor *ft_hf_folder_find(const ft_hf_folder *folder, const char *name);
/** Marks one of the folder's tensors as used. */
void ft_hf_folder_use(ft_hf_folder *folder, const ft_safetensor *tensor);
/** The unused tensor whose name is nearest; NULL if none is near. */
const char *ft_hf_folder_nearest(const ft_hf_folder *folder, const char *name);

#endif
