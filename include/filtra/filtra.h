/** @mainpage Filtra: graph-filter Transformers on any Vulkan 1.3 device
 *
 * Self-attention averages tokens over a graph whose weights are the attention scores: a graph
 * filter of first order. Filtra trains and runs Transformers that use better filters in its place,
 * on the GPUs of every vendor and, through a CPU driver, on machines without one. Including this
 * header includes the whole public interface.
 *
 * ## Who it is for
 * - Applications that classify sequences, pairs, time series or images, or predict numbers, and
 *   link one small library instead of a framework: model.h, and train.h and data.h to train on
 *   their own data.
 * - Servers that answer texts, series or images with a trained model, from any number of threads:
 *   predictor.h.
 * - Tools around runs and their folders: run.h.
 * - Applications that go on with a text, token by token: generate.h.
 * - Researchers who compare token mixers, or write their own architecture from tensors and ops with
 *   automatic differentiation: graph.h and ops.h, which model.h is written with; optimizer.h trains
 *   them, mixer.h puts a mixer of theirs into models, kernel.h runs kernels that they bring along.
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
 *   filtra_step_metrics metrics;
 *   filtra_loader_options batches = {.batch_size = 32, .shuffle = true};
 *   filtra_model_config config = {.mixer = "agf"};
 *   filtra_train_options how = {.optimizer = {.learning_rate = 1e-3f}};
 *   filtra_status status = filtra_device_open(NULL, &dev);
 *   if (!status) status = filtra_dataset_open(folder, NULL, &data);
 *   if (!status) status = filtra_loader_create(data, &batches, &loader);
 *   if (!status) {
 *     const filtra_dataset_info *info = filtra_dataset_get_info(data);
 *     config.classes = info->classes;
 *     config.vocabulary = filtra_tokenizer_size(info->tokenizer);
 *     status = filtra_model_create(dev, &config, &model);
 *   }
 *   if (!status) status = filtra_trainer_create(model, &how, &trainer);
 *   for (int step = 0; step < 200 && !status; step++) {
 *     status = filtra_loader_next(loader, &batch);
 *     if (!status) status = filtra_trainer_step(trainer, &batch, &metrics);
 *   }
 *   if (!status) status = filtra_trainer_finish(trainer, &metrics);
 *   if (!status) status = filtra_model_save(model, "model.safetensors");
 *   if (status) fprintf(stderr, "%s\n", filtra_error_message());
 *   filtra_trainer_destroy(&trainer);  // what was never made is NULL, which is fine
 *   filtra_model_destroy(&model);
 *   filtra_loader_destroy(&loader);
 *   filtra_dataset_close(&data);
 *   filtra_device_close(&dev);
 *   return status;  // later: filtra_model_load and filtra_model_predict, or predictor.h
 * }
 * @endcode
 * filtra_run_train() does all of it, with evaluation, checkpoints and a log, from one JSON text.
 * Each handle has a destroy or close function; children are destroyed before their parents.
 *
 * ## What you can rely on
 * - Every call that can fail returns a filtra_status, and filtra_error_message() says in one
 *   sentence what went wrong and where. Ops return tensors instead: their errors are sticky and
 *   reported by filtra_graph_compile().
 * - Option structs may be NULL or zero: zero means the default that the field's comment states.
 * - Structs end with `reserved` words, which later versions turn into fields, so that the struct
 *   keeps its size. Start from zeros: a word that is not 0 in a struct of options is an ARGUMENT
 *   error. In what the library fills in they are 0.
 * - Handles are opaque; destroying one sets the caller's pointer to NULL, and NULL is fine.
 * - NULL for a pointer whose comment does not allow it is an ARGUMENT error; functions without a
 *   status return 0 or NULL then. A handle that was destroyed cannot be told from a living one.
 * - The library never prints, never exits and keeps no global state but the log sink and
 *   the mixers that were registered.
 * - The same device, driver, library version, configuration and seed give the same bits, dropout
 *   included: reductions have a fixed order and random numbers are a function of seed, step and
 *   position.
 * - Memory use is known when filtra_graph_compile() returns; nothing is allocated on the device
 *   while a graph runs.
 *
 * ## Versions
 * FILTRA_VERSION_MAJOR, _MINOR and _PATCH are the headers', filtra_version() the library's. What is
 * newer than 0.1 says "Since 0.x" in its comment. Before 1.0 each minor version may break programs
 * and has a soname of its own (libfiltra.so.0.1); patches do not.
 *
 * ## Threads
 * One thread at a time per device and everything made on it. Different devices, or two handles of
 * one device, may be used from different threads. Error messages are per thread. Functions that
 * may be called from any thread at any time say "Thread-safe".
 *
 * ## Performance
 * - One graph is compiled per batch size and padded length, on first use or by
 *   filtra_trainer_prepare(); running it again costs the CPU almost nothing. Keep to a few lengths,
 *   as loaders do with their buckets: compute and memory grow with the padded length.
 * - filtra_trainer_step() and filtra_graph_submit() return while the device works: prepare the next
 *   batch meanwhile. Reading parameters or outputs waits.
 * - Let graphs of your own that never run at once share one filtra_arena.
 * - Keep the pipeline cache (filtra_device_options::cache_dir); without it every start compiles
 *   every kernel again.
 *
 * ## Requirements
 * A Vulkan 1.3 driver with a compute queue, found at run time through the Vulkan loader; no GPU
 * vendor's toolkit. Little-endian, 64-bit. Everything beyond Vulkan 1.3 core is optional and listed
 * in filtra_device_info. The headers are C11 and C++17.
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
#include <filtra/status.h>
#include <filtra/train.h>
#include <filtra/transport.h>

#endif
