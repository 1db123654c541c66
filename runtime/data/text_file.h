/* Documents as text files, a sample each. */
#ifndef FT_DATA_TEXT_FILE_H
#define FT_DATA_TEXT_FILE_H

#include "data/corpus.h"

/** Whether a file's name ends with .txt or .txt.gz. */
bool ft_text_named(const char *name);
/** Adds a file as a sample of this class (-1: unknown), which has the path as its name. Errors name
 * the file. */
filtra_status ft_text_file_add(ft_corpus *corpus, const char *path, int32_t label);

#endif
