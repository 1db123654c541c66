/* Element types of tensors and files. */
#ifndef FILTRA_DTYPE_H
#define FILTRA_DTYPE_H

#include <filtra/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types, little-endian. Tensors on the device have one of the first four; the others occur
 * in files only. Ops take F32; matrix products, attention, filtra_agf and embeddings also take F16
 * and BF16, and compute their sums in F32. filtra_cast() converts. */
typedef enum filtra_dtype {
  FILTRA_F32 = 0, /**< IEEE 754 binary32 */
  FILTRA_I32,     /**< two's complement */
  FILTRA_F16,     /**< IEEE 754 binary16 */
  FILTRA_BF16,    /**< the upper half of a binary32 */
  FILTRA_F64,     /**< IEEE 754 binary64 */
  FILTRA_I64,
  FILTRA_I16,
  FILTRA_I8,
  FILTRA_U8,
  FILTRA_BOOL /**< a byte, 0 or 1 */
} filtra_dtype;

/** Bytes of one element; 0 for an unknown type. Thread-safe. */
FILTRA_API size_t filtra_dtype_bytes(filtra_dtype dtype);
/** "F32" and so on, as safetensors spells it; "unknown" for an unknown type. Thread-safe. */
FILTRA_API const char *filtra_dtype_name(filtra_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
