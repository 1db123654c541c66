/* Finds the transport of the MPI that started this process. */
#include "base/module.h"

#include <filtra/transport.h>
#include <stdlib.h>

/* Environment variables that each MPI's mpirun sets. */
static const struct {
  const char *variable, *module, *name;
} MPIS[] = {{"OMPI_COMM_WORLD_SIZE", "filtra_openmpi.so", "Open MPI"},
            {"PMI_RANK", "filtra_mpich.so", "MPICH"}};

filtra_status filtra_transport_open(filtra_transport *out) {
  FT_NEED(out);
  const char *(*open)(filtra_transport *);
  *out = (filtra_transport){.size = 1, .local_size = 1, .name = "alone"};
  for (size_t i = 0; i < FT_COUNT(MPIS); i++) {
    if (!getenv(MPIS[i].variable)) continue;
    filtra_status status = ft_module_load(MPIS[i].module, "filtra_mpi_open", (void **)&open);
    if (status)
      return ft_fail_context(status, "started by %s's mpirun; this build's part for it",
                             MPIS[i].name);
    const char *wrong = open(out);
    if (!wrong) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_RANK, "%s: %s", MPIS[i].name, wrong);
  }
  return FILTRA_OK;
}

void filtra_transport_close(filtra_transport *transport) {
  if (transport && transport->close) transport->close(transport->user);
  if (transport) *transport = (filtra_transport){0};
}
