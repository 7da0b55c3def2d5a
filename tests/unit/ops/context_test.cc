// SPDX-License-Identifier: Apache-2.0
#include "ops/context.h"

#include <gtest/gtest.h>

namespace rill::ops {
namespace {

TEST(Context, ManyRowsTakeTheBatchPool) {
  const auto pool = ThreadPool::create(1);
  const auto batch_pool = ThreadPool::create(2);
  ASSERT_TRUE(pool && batch_pool);
  Context context;
  context.pool = pool->get();
  EXPECT_EQ(context.for_rows(512).pool, pool->get());
  context.batch_pool = batch_pool->get();
  EXPECT_EQ(context.for_rows(1).pool, pool->get());
  EXPECT_EQ(context.for_rows(8).pool, pool->get());
  EXPECT_EQ(context.for_rows(9).pool, batch_pool->get());
}

}  // namespace
}  // namespace rill::ops
