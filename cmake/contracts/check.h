/* Whether compiled kernels are what their contracts (shaders/common/contract.h) say. The build
 * asks, and does not go on where one is not. */
#ifndef CONTRACTS_CHECK_H
#define CONTRACTS_CHECK_H

#include "gpu/kernels.h"

#include <stdbool.h>

/** Of one module, named "folder/file" or "folder/file.variant": its block of arguments has the
 * contract's members, with their types, where C has them; its specialization constants are among
 * the contract's, with their types. If not, `message` says what is wrong. */
bool contract_holds(const char *name, const uint32_t *words, size_t count, char *message,
                    size_t size);
/** Of all contracts: constants have the ids 1, 2, and so on, since C has them in order; and some
 * module of the list has the contract. The list ends with a name that is NULL. */
bool contracts_are_used(const ft_kernel_source *modules, char *message, size_t size);

#endif
