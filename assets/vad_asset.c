/* SPDX-License-Identifier: Apache-2.0
 * The speech detector's weights, or nothing. RILL_VAD_EMBEDDED: the build has an object with their
 * bytes. */
#include "vad_asset.h"

#ifdef RILL_VAD_EMBEDDED
extern const unsigned char rill_vad_bytes[];
extern const unsigned char rill_vad_bytes_end[];

const void* rill_vad_asset_data(void) { return rill_vad_bytes; }
size_t rill_vad_asset_size(void) { return (size_t)(rill_vad_bytes_end - rill_vad_bytes); }
#else
const void* rill_vad_asset_data(void) { return ""; }
size_t rill_vad_asset_size(void) { return 0; }
#endif
