/* Tokens that are the patches of an image: windows in which a mixer works alone, positions of one
 * patch relative to another, and patches that become one (Swin, Liu et al. 2021). */
#ifndef FT_NN_WINDOWS_H
#define FT_NN_WINDOWS_H

#include "nn/layers.h"

/** How a layer sees its tokens, rows * columns of them, row by row. */
typedef struct ft_windows {
  int64_t rows, columns; /* 0: tokens have no places in an image */
  int64_t height, width; /* of a window; the image's: there is one */
  int64_t down, right;   /* what windows are moved by; at the end of an image they go on at its
                            beginning, and pairs from both count little */
  bool relative;         /* pairs have a learned bias by the rows and columns between them */
} ft_windows;

/** Windows of side x side tokens, cut at the image's sides; side 0: one window. `moved`: by half a
 * side, where there are several. */
ft_windows ft_windows_of(int64_t rows, int64_t columns, int64_t side, bool moved);
/** Whether a sequence has several windows. */
bool ft_windows_several(const ft_windows *w);
/** Windows of an image. */
int64_t ft_windows_count(const ft_windows *w);

/** x [B,N,C] -> [B count, height width, C]: the windows of each sequence, row by row. Where windows
 * do not divide the image, zeros follow its last row and column, which count as tokens do. x is of
 * any float type. */
filtra_tensor *ft_windows_cut(filtra_graph *g, const ft_windows *w, filtra_tensor *x);
/** The inverse: [B count, height width, C] -> [B,N,C]. */
filtra_tensor *ft_windows_join(filtra_graph *g, const ft_windows *w, filtra_tensor *x);
/** The bias of attention within windows: [H,n,n] or [B count, H, n, n] of n tokens a window; NULL
 * where there is none. The parameter "relative.weight" [(2 height - 1) (2 width - 1), H], with that
 * initial deviation, has a row for each difference of places, that of the query less the key's, row
 * by row from the least. Pairs from both ends of an image get 100 less, as Swin's authors do. */
filtra_tensor *ft_windows_bias(const ft_scope *scope, const ft_windows *w, int64_t batch,
                               int64_t heads, float spread);

/** Makes one token of each 2 x 2: x [B, rows columns, C] -> [B, ceil(rows / 2) ceil(columns / 2),
 * 2 C], by LayerNorm "norm" and the matrix "weight" [2 C, 4 C] of the four side by side, columns
 * before rows. Zeros follow an odd last row or column. */
filtra_tensor *ft_merge_patches(const ft_scope *scope, filtra_tensor *x, int64_t rows,
                                int64_t columns);

#endif
