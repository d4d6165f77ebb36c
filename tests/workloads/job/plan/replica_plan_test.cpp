// The model of a job that is given by its sizes: its buckets.
#include "workloads/job/plan/replica_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace TANDEM_FILE {

class SyntheticBuckets : public ::testing::Test {
 protected:
  SyntheticBuckets() {
    experiment_.workload.math = Math::modelled;
    experiment_.workload.model = "synthetic";
    experiment_.workload.synthetic_parameters = 212'000'000;
    experiment_.workload.bucket_bytes = Bytes(25 << 20);
    experiment_.workload.first_bucket_bytes = Bytes(1 << 20);
    experiment_.workload.synthetic_buckets = 0;
  }
  ModelDescription model() const {
    const DatasetInfo images{.name = "images", .channels = 3, .height = 32, .width = 32, .classes = 10};
    return *plan_replica(experiment_, images, false).description;
  }
  Experiment experiment_;
};

/// 848 MB: 1 MiB, 32 times 25 MiB, and the rest.
TEST_F(SyntheticBuckets, HaveTheSizesOfDdp) {
  const auto buckets = model().buckets;
  ASSERT_EQ(buckets.size(), 34U);
  EXPECT_EQ(buckets.front().parameters, 1 << 18);
  std::int64_t offset = 0;
  Flops forward, backward;
  for (const BucketDescription& bucket : buckets) {
    EXPECT_EQ(bucket.offset, offset);
    offset += bucket.parameters;
    forward += bucket.forward;
    backward += bucket.backward;
    if (&bucket != &buckets.front() && &bucket != &buckets.back()) {
      EXPECT_EQ(bucket.parameters, 25 << 18);
    }
  }
  EXPECT_EQ(offset, 212'000'000);
  EXPECT_NEAR(forward / experiment_.workload.synthetic_forward, 1.0, 1e-9);
  EXPECT_NEAR(backward / experiment_.workload.synthetic_backward, 1.0, 1e-9);
  EXPECT_NEAR(buckets.front().backward / experiment_.workload.synthetic_backward, 262144 / 212e6, 1e-12);
}

TEST_F(SyntheticBuckets, AreOneOrTwoWithoutASize) {
  experiment_.workload.bucket_bytes = Bytes(0);
  EXPECT_EQ(model().buckets.size(), 2U);
  experiment_.workload.first_bucket_bytes = Bytes(0);
  EXPECT_EQ(model().buckets.size(), 1U);
}

TEST_F(SyntheticBuckets, OfANumberAreEqual) {
  experiment_.workload.synthetic_buckets = 4;
  for (const BucketDescription& bucket : model().buckets) EXPECT_EQ(bucket.parameters, 53'000'000);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
