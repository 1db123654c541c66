/* Groups of parameters: what is frozen, and learning rates and weight decay by name. */
#ifndef FT_TRAIN_GROUPS_H
#define FT_TRAIN_GROUPS_H

#include "graph/parameters.h"

#include <filtra/train.h>

/** The last group that names the parameter, counted from 1; 0: none does. */
size_t ft_group_of(const filtra_parameter_group *groups, size_t count, const char *name);
/** Whether one of a group's patterns matches no trained parameter; `text` then names the first such
 * pattern and the nearest name. */
bool ft_group_names_none(const filtra_parameters *params, const filtra_parameter_group *group,
                         char text[256]);

/** Groups of a trainer, and the names that they point to. */
typedef struct ft_groups {
  filtra_parameter_group *list;
  size_t count;
  char **names; /* [count] */
} ft_groups;

/** The options' own groups overridden by freeze, learning_rates, weight_decays and layer_decay.
 * `params` need not be committed. Fails with ARGUMENT if a name matches no parameter. Caller frees,
 * also on failure. */
filtra_status ft_groups_make(const filtra_train_options *options, const filtra_parameters *params,
                             ft_groups *out);
void ft_groups_free(ft_groups *groups);

/** Marks the frozen parameters: graphs recorded from now on compute no gradients for them. Returns
 * the number of trained values. */
uint64_t ft_groups_freeze(const filtra_parameter_group *groups, size_t count,
                          filtra_parameters *params);

enum { FT_FROZEN_TEXT = 400 };
/** Names what is frozen; a module that is entirely frozen is named as one: "embedding, layers.0".
 * "": nothing. */
void ft_groups_list_frozen(const filtra_parameters *params, char text[FT_FROZEN_TEXT]);

#endif
