// The measured step of a device other than the host: its operations are queued as a worker queues them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/apart_device.hpp"
#include "tests/support/fake_context.hpp"
#include "workloads/calibration/measurement.hpp"

namespace tandem::calibration {
namespace TANDEM_FILE {

/// Notes when work begins and when somebody waits for it.
class NotingContext final : public testing::FakeContext {
 public:
  NotingContext(testing::FakeWorld& world, ComputeDevice& device) : FakeContext(world, 0), device_(device) {}

  ComputeDevice& device() override { return device_; }
  Pending compute(const Work& work, Kernel kernel) override {
    if (work.kind != Work::Kind::forward && work.kind != Work::Kind::backward)
      return FakeContext::compute(work, std::move(kernel));
    const std::string name =
        work.kind == Work::Kind::forward ? "forward" : "backward " + std::to_string(work.bucket);
    notes.push_back("begin " + name);
    return FakeContext::compute(work, [this, name, run = std::move(kernel)] {
      notes.push_back("wait for " + name);
      run();
    });
  }

  std::vector<std::string> notes;

 private:
  ComputeDevice& device_;
};

std::vector<std::string> notes_of_step(ComputeDevice& device, OverlapMode overlap) {
  Experiment experiment;
  experiment.workload.math = Math::real;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.workload.batch = 4;
  experiment.workload.bucket_bytes = Bytes(1);
  experiment.sync.algorithm = "bsp";
  experiment.sync.overlap = overlap;
  experiment.placement.workers = {"here"};
  experiment.placement.servers = {"here"};
  experiment.stop.rounds = 1;
  platforms::Host host;
  host.name = "here";
  host.device = platforms::find_device("v100");
  platforms::Description platform;
  platform.file = "step_order_test";
  platform.hosts = {host};
  const Job job(experiment, platform, "");
  testing::FakeWorld world(1, 1);
  NotingContext context(world, device);
  const auto times = measure_alone(job, context, 1);
  EXPECT_GT(std::ranges::count(times.entries, Work::Kind::backward, &Profile::ComputeEntry::kind), 1);
  return context.notes;
}

using Notes = std::vector<std::string>;

TEST(StepOrder, ADeviceHasTheFirstBackwardPassBeforeForwardEnds) {
  testing::ApartDevice device;
  const Notes notes = notes_of_step(device, OverlapMode::none);
  ASSERT_GT(notes.size(), 6U);
  EXPECT_EQ(Notes(notes.begin(), notes.begin() + 6),
            (Notes{"begin forward", "begin backward 0", "wait for forward", "wait for backward 0",
                   "begin backward 1", "wait for backward 1"}));
  EXPECT_EQ(std::ranges::count(notes, "begin backward 0"), 2) << "the first step, and one alone";
}

TEST(StepOrder, OtherwiseEachPieceEndsBeforeTheNextBegins) {
  testing::ApartDevice device;
  const Notes expected{"begin forward", "wait for forward", "begin backward 0", "wait for backward 0"};
  for (const auto& notes :
       {notes_of_step(device, OverlapMode::both), notes_of_step(host_device(), OverlapMode::none)}) {
    ASSERT_GT(notes.size(), 4U);
    EXPECT_EQ(Notes(notes.begin(), notes.begin() + 4), expected);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::calibration
