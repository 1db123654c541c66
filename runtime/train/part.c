/* Recording the graph of a batch, or of a part of one. Called by trainer.c for steps, and by
 * shares.c to measure ranks. */
#include "ops/tuning.h"
#include "train/trainer.h"

/* ---- graphs ---- */

static filtra_status record_graph(filtra_trainer *t, ft_batch_graph *b) {
  filtra_tensor *auxiliary;
  FT_TRY(filtra_graph_create(t->model->device,
                             &(filtra_graph_options){.arena = t->model->arena,
                                                     .slots = FT_IN_FLIGHT + 1,
                                                     .training = true},
                             &b->graph));
  ft_graph_set_recompute(b->graph, (ft_recompute)t->options.recompute);
  ft_batch_graph_open(t->model, b, &auxiliary);
  ft_batch_graph_judge(t->model, b, t->options.label_smoothing, auxiliary);
  filtra_tensor *scale = filtra_optimizer_loss_scale(t->optimizer, b->graph);
  FT_TRY(filtra_graph_backward(b->graph, 1, &b->loss, &scale));
  if (b->part) FT_TRY(ft_optimizer_watch_score(t->optimizer, b->graph, b->score));
  FT_TRY(filtra_optimizer_watch_loss(t->optimizer, b->graph, b->loss));
  bool whole = t->ranks.transport && t->accumulate == 1;
  return whole ? ft_shards_watch(t->optimizer, b->graph) : FILTRA_OK;
}

/* Whether a batch takes more than one execution, here or on several ranks. */
bool ft_trainer_in_parts(const filtra_trainer *t) {
  return t->accumulate > 1 || t->ranks.transport;
}

/* All graphs use the trainer's tuning, that of its first step or of a checkpoint. */
filtra_status ft_trainer_build_part(filtra_trainer *t, int64_t size, int64_t length,
                                    ft_batch_graph *b) {
  *b = (ft_batch_graph){.size = size,
                        .length = length,
                        .judged = true,
                        .part = ft_trainer_in_parts(t),
                        .absolute = t->options.regression_loss == FILTRA_REGRESSION_LOSS_MAE,
                        .mixed = t->options.mixed_labels};
  ft_tuning *before = ft_tuning_use(t->model->device, t->tuning);
  filtra_status status = record_graph(t, b);
  ft_tuning_use(t->model->device, before);
  return status;
}
