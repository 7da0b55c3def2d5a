/* SPDX-License-Identifier: Apache-2.0
 * The speech detector's weights that a program carries inside, if they were installed when it was
 * built. */
#ifndef RILL_ASSETS_VAD_ASSET_H_
#define RILL_ASSETS_VAD_ASSET_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of silero_vad_16k.safetensors, aligned to 64; size 0 if this build has none. */
const void* rill_vad_asset_data(void);
size_t rill_vad_asset_size(void);

#ifdef __cplusplus
}
#endif

#endif /* RILL_ASSETS_VAD_ASSET_H_ */
