/* The format for documents to classify, a text file each, in one folder per class: IMDb (Maas et
 * al. 2011). Listed in dataset.c. */
#include "data/class_folders.h"
#include "data/text_file.h"

#include "base/path.h"

/* The files of graphs, tu.c's, end with .txt, too. */
static filtra_status refuse_graphs(const char *path) {
  if (!ft_ends_with(path, "_graph_indicator.txt")) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s is of a data set of graphs, not a text: name the folder that it lies in",
                 path);
}

static filtra_status read_split(ft_corpus *corpus, void *user) {
  const ft_class_folders *folders = user;
  for (size_t i = 0; i < folders->count; i++) {
    const ft_class_file *file = &folders->files[i];
    if (file->split != corpus->split) continue;
    FT_TRY(refuse_graphs(file->path));
    FT_TRY(ft_text_file_add(corpus, file->path, file->label));
  }
  return FILTRA_OK;
}

static filtra_status open_folders(const char *path, const filtra_dataset_options *options,
                                  filtra_dataset *ds) {
  ft_class_folders folders = {.named = ft_text_named, .kinds = ".txt or .txt.gz"};
  filtra_status status = ft_class_folders_list(&folders, path, options, ds);
  if (!status) status = ft_corpus_open(ds, path, options, "bytes", read_split, &folders);
  ft_class_folders_free(&folders);
  return status;
}

static bool probe_folders(const ft_dataset_probe *p) {
  return ft_class_folders_probe(p, ft_text_named);
}

const ft_dataset_format ft_format_text_folders = {
    "text-folders",
    "documents per class (aclImdb): CLASS/*.txt, or train, val and test with such folders",
    probe_folders, open_folders};
