/** @mainpage Filtra: graph-filter Transformers on any Vulkan 1.3 device
 *
 * Self-attention averages tokens over a graph whose edge weights are the attention scores: it is a
 * graph filter of first order. Filtra trains and runs Transformers with better filters in its
 * place, on GPUs of all vendors and, through a CPU driver, on machines without a GPU. This header
 * includes the whole public interface.
 *
 * ## Who it is for
 * - Applications that classify sequences, pairs, time series or images, or predict numbers, and
 *   want one small library instead of a framework: model.h; train.h and data.h to train on their
 *   own data.
 * - Servers that predict with a trained model from any number of threads: predictor.h.
 * - Tools that read runs and their folders: run.h.
 * - Applications that generate text: generate.h.
 * - Researchers who compare token mixers, or build an architecture from tensors and ops with
 *   automatic differentiation: graph.h and ops.h; optimizer.h trains it, mixer.h registers a new
 *   mixer for models, kernel.h records GPU kernels of their own.
 *
 * ## The workflow
 * Open a device, create a model, train it batch by batch, save it; later load it and predict:
 * @code
 * filtra_status train(const char *folder) {
 *   filtra_device *dev = NULL;
 *   filtra_dataset *data = NULL;
 *   filtra_loader *loader = NULL;
 *   filtra_model *model = NULL;
 *   filtra_trainer *trainer = NULL;
 *   filtra_batch batch;
 *   filtra_trainer_metrics metrics;
 *   filtra_loader_options batches = {.batch_size = 32, .shuffle = true};
 *   filtra_model_config config = {.mixer = "agf"};
 *   filtra_train_options how = {.optimizer = {.learning_rate = 1e-3f}};
 *   filtra_status status = filtra_device_open(NULL, &dev);
 *   if (!status) status = filtra_dataset_open(folder, NULL, &data);
 *   if (!status) status = filtra_loader_create(data, &batches, &loader);
 *   config.data = data;  // decides sizes and task
 *   if (!status) status = filtra_model_create(dev, &config, &model);
 *   if (!status) status = filtra_trainer_create(model, &how, &trainer);
 *   for (int step = 0; step < 200 && !status; step++) {
 *     status = filtra_loader_next(loader, &batch);
 *     if (!status) status = filtra_trainer_step(trainer, &batch, &metrics);
 *   }
 *   if (!status) status = filtra_trainer_finish(trainer, &metrics);
 *   if (!status) status = filtra_model_save(model, "model.safetensors");
 *   if (status) fprintf(stderr, "%s\n", filtra_error_message());
 *   filtra_trainer_destroy(&trainer);  // does nothing where it is NULL
 *   filtra_model_destroy(&model);
 *   filtra_loader_destroy(&loader);
 *   filtra_dataset_close(&data);
 *   filtra_device_close(&dev);
 *   return status;  // later: filtra_model_load and filtra_model_predict_batch, or predictor.h
 * }
 * @endcode
 * filtra_run_train() does all of this, with evaluation, checkpoints and a log, from one JSON text.
 * Each handle has a destroy or close function; destroy children before their parents.
 *
 * ## What you can rely on
 * - Every call that can fail returns a filtra_status, and filtra_error_message() says in one
 *   sentence what went wrong and where. Ops return tensors instead; their errors are sticky, and
 *   filtra_graph_compile() returns the first.
 * - Option structs may be NULL or zero: zero is the default, which the field's comment states.
 * - Structs end with `reserved` words, so that later versions can add fields without changing the
 *   size. Initialise structs with zeros: a reserved word that is not 0 is an ARGUMENT error.
 * - A program compiled against headers of another version than its library gets an error message
 *   from the first function that it calls, such as filtra_device_open(): structs.h.
 * - Handles are opaque. Destroying one sets the caller's pointer to NULL; destroying NULL is fine.
 * - NULL for a pointer whose comment does not allow it is an ARGUMENT error; functions that return
 *   no status then return 0 or NULL. Using a destroyed handle is undefined.
 * - The library never prints and never exits. Its only global state is the log sink and the
 *   registered mixers.
 * - The same device, driver, library version, configuration and seed give the same bits, with
 *   dropout too: reductions have a fixed order, and random numbers depend on seed, step and
 *   position only.
 * - Memory use is known when filtra_graph_compile() returns; executing a graph allocates nothing on
 *   the device.
 *
 * ## Versions
 * FILTRA_VERSION_MAJOR, _MINOR and _PATCH are the headers' version, filtra_version() the library's.
 * Additions after 0.1 say "Since 0.x" in their comments. Before 1.0 each minor version may break
 * programs and has its own soname (libfiltra.so.0.1); patch versions do not.
 *
 * ## Threads
 * One thread at a time may use a device and everything created on it. Different devices, or two
 * handles of one device, may be used from different threads. Error messages are per thread.
 * Functions that any thread may call at any time say "Thread-safe".
 *
 * ## Performance
 * - A model compiles one graph per batch size and padded length, on first use or in
 *   filtra_trainer_prepare(); executing it again costs the CPU almost nothing. Use few lengths, as
 *   loaders do with their buckets: compute and memory grow with the padded length.
 * - filtra_trainer_step() and filtra_graph_submit() return while the device works: prepare the next
 *   batch meanwhile. Reading parameters or outputs waits.
 * - Let graphs that never execute at the same time share one filtra_arena.
 * - Keep the pipeline cache (filtra_device_options::cache_dir); without it every start compiles all
 *   kernels again.
 *
 * ## Requirements
 * A Vulkan 1.3 driver with a compute queue, found at run time through the Vulkan loader; no
 * vendor's toolkit. A little-endian 64-bit processor. Features beyond Vulkan 1.3 core are optional
 * and listed in filtra_device_info. The headers are C11 and C++17.
 */
#ifndef FILTRA_FILTRA_H
#define FILTRA_FILTRA_H

#include <filtra/data.h>
#include <filtra/device.h>
#include <filtra/dtype.h>
#include <filtra/generate.h>
#include <filtra/graph.h>
#include <filtra/kernel.h>
#include <filtra/mixer.h>
#include <filtra/model.h>
#include <filtra/ops.h>
#include <filtra/optimizer.h>
#include <filtra/predictor.h>
#include <filtra/run.h>
#include <filtra/scores.h>
#include <filtra/status.h>
#include <filtra/structs.h>
#include <filtra/synthetic.h>
#include <filtra/tokenizer.h>
#include <filtra/train.h>
#include <filtra/transport.h>

#endif
