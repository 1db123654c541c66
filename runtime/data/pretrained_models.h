/* Readers for parts of tokenizer.json. */
#ifndef FT_DATA_PRETRAINED_MODELS_H
#define FT_DATA_PRETRAINED_MODELS_H

#include "data/pretrained_fields.h"

/* ---- pretrained_models.c ---- */

/** Finds out whether the model is BPE or WordPiece. */
filtra_status ft_pretrained_model_type(ft_pretrained *p, const json_t *model);
/** Reads the rest of the model, after the vocabulary. */
filtra_status ft_pretrained_model(ft_pretrained *p, const json_t *model);

/* ---- pretrained_frame.c ---- */

/** Reads the special tokens around texts from "post_processor". */
filtra_status ft_pretrained_frame(ft_pretrained *p, const json_t *object);

#endif
