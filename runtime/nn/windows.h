/* Tokens that are patches of an image: windows within which a mixer works, relative positions of
 * patches, and merging of patches (Swin, Liu et al. 2021). */
#ifndef FT_NN_WINDOWS_H
#define FT_NN_WINDOWS_H

#include "nn/layers.h"

/** The windows of a layer; its rows * columns tokens are stored row by row. */
typedef struct ft_windows {
  int64_t rows, columns; /* 0: tokens are not patches of an image */
  int64_t height, width; /* of a window; if as large as the image, there is one */
  int64_t down, right;   /* cyclic shift of windows; a bias keeps the image's two ends apart */
  bool relative;         /* pairs have a learned bias for the rows and columns between them */
} ft_windows;

/** Windows of side x side tokens, at most as large as the image; side 0: one window. `moved`:
 * shifted by half a side, if there are several. */
ft_windows ft_windows_of(int64_t rows, int64_t columns, int64_t side, bool moved);
/** Whether a sequence has several windows. */
bool ft_windows_several(const ft_windows *w);
/** Number of windows of an image. */
int64_t ft_windows_count(const ft_windows *w);

/** x [B,N,C] -> [B count, height width, C]: the windows of each sequence, row by row. If windows do
 * not divide the image, zeros follow its last row and column; they are treated as tokens. x is of
 * any float type. */
filtra_tensor *ft_windows_cut(filtra_graph *g, const ft_windows *w, filtra_tensor *x);
/** The inverse: [B count, height width, C] -> [B,N,C]. */
filtra_tensor *ft_windows_join(filtra_graph *g, const ft_windows *w, filtra_tensor *x);
/** The bias of attention within windows: [H,n,n] or [B count, H, n, n] with n tokens per window;
 * NULL: none. The parameter "relative.weight" [(2 height - 1) (2 width - 1), H], with initial
 * deviation `spread`, has a row for each offset of the query from the key, in row-major order from
 * the least. Pairs from opposite ends of an image get -100, as in the code of Swin's authors. */
filtra_tensor *ft_windows_bias(const ft_scope *scope, const ft_windows *w, int64_t batch,
                               int64_t heads, float spread);

/** Merges each 2 x 2 tokens into one: x [B, rows columns, C] ->
 * [B, ceil(rows / 2) ceil(columns / 2), 2 C], by LayerNorm "norm" and the matrix "weight"
 * [2 C, 4 C] of the four side by side, columns before rows. Zeros follow an odd last row or column.
 */
filtra_tensor *ft_merge_patches(const ft_scope *scope, filtra_tensor *x, int64_t rows,
                                int64_t columns);

#endif
