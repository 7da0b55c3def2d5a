/* SPDX-License-Identifier: Apache-2.0
 * The demo package that a program carries inside: the files of assets/demo/, in memory. */
#ifndef RILL_ASSETS_DEMO_ASSETS_H_
#define RILL_ASSETS_DEMO_ASSETS_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One file; data is aligned to 64 bytes and lives as long as the program. */
typedef struct rill_demo_asset {
  const char* name;
  const unsigned char* data;
  size_t size;
} rill_demo_asset;

size_t rill_demo_asset_count(void);
/* index < rill_demo_asset_count() */
rill_demo_asset rill_demo_asset_at(size_t index);

#ifdef __cplusplus
}
#endif

#endif /* RILL_ASSETS_DEMO_ASSETS_H_ */
