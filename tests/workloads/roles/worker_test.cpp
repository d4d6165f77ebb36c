// The order in which a single worker starts and awaits work of its device: sequential on a processor, and as
// early as possible on a device with a queue.
#include "workloads/roles/worker/worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/apart_device.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ApartDevice;
using testing::TemporaryFolder;

/// Computes on a device, and logs the work that is started and awaited.
class OneRank final : public Context {
 public:
  explicit OneRank(ComputeDevice& device) : device_(device) {}
  Rank rank() const override { return 0; }
  int world_size() const override { return 1; }
  ComputeDevice& device() override { return device_; }
  Seconds now() const override { return Seconds(0.0); }
  Pending compute(const Work& work, Kernel kernel) override {
    std::string name = name_of(work.kind);
    if (work.bucket >= 0) name += " " + std::to_string(work.bucket);
    std::optional<DeviceMark> end;
    if (kernel) {
      kernel();
      end = device_.kernel_end();
    }
    calls.push_back("begins " + name);
    started_.push_back({std::move(name), end});
    return Pending(static_cast<std::uint32_t>(started_.size() - 1));
  }
  Pending send(Rank, Channel, Slice, const Note&) override { return nobody(); }
  Pending receive(Rank, Channel, Slice) override { return nobody(); }
  Pending all_reduce(std::span<const Rank>, Channel, Slice, const collectives::Element&) override {
    return nobody();
  }
  Pending read(int, DiskAccess, Kernel) override { return nobody(); }
  Pending write(int, DiskAccess, Kernel) override { return nobody(); }
  void cancel_all(std::span<const Pending>) override { static_cast<void>(nobody()); }
  void stop_work() override {}
  Pending disconnect(Rank) override { return nobody(); }
  void announce_departure() override { static_cast<void>(nobody()); }
  Pending sleep(Seconds) override { return nobody(); }
  bool is_done(const Pending&) override { return true; }
  Completion wait(Pending& pending) override { return wait_any({&pending, 1}); }
  Completion wait_any(std::span<Pending> pendings) override {
    const auto found = std::ranges::find_if(pendings, [](const Pending& each) { return !each.empty(); });
    const auto& [name, end] = started_.at(found->release());
    calls.push_back("awaits " + name);
    if (end) {
      while (!device_.has_reached(*end)) continue;
      device_.forget(*end);
    }
    return {static_cast<std::size_t>(found - pendings.begin()), {}};
  }

  std::vector<std::string> calls;

 private:
  struct Started {
    std::string name;
    std::optional<DeviceMark> end;
  };
  static Pending nobody() { throw std::logic_error("one rank alone, without a disk"); }

  ComputeDevice& device_;
  std::vector<Started> started_;
};

constexpr int steps = 4;

class WorkerAlone : public ::testing::Test {
 protected:
  /// Trains and returns the log of started and awaited work.
  std::vector<std::string> train(bool on_gpu, int prefetch) {
    Experiment experiment;
    experiment.workload.math = Experiment::Workload::Math::real;
    experiment.workload.model = "mlp";
    experiment.workload.dataset = "synthetic";
    experiment.workload.train_samples = 40;
    experiment.workload.test_samples = 10;
    experiment.workload.batch = 16;
    experiment.workload.bucket_bytes = Bytes(4096);
    experiment.sync.algorithm = "sequential";
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = "ring";
    experiment.sync.order = WorkerOrder::rank;
    experiment.placement.workers = {"here"};
    experiment.optimizer.momentum = 0.9;
    experiment.data.prefetch = prefetch;
    experiment.stop.rounds = steps;
    platforms::Host host;
    host.name = "here";
    host.device = platforms::find_device("v100");
    if (on_gpu) host.gpu = 0;
    platforms::Description platform;
    platform.file = "worker_test";
    platform.hosts = {host};
    const Job job(experiment, platform, folder_.path().string());
    last_bucket_ = static_cast<int>(job.model().buckets.size()) - 1;
    ApartDevice apart;
    OneRank context(on_gpu ? static_cast<ComputeDevice&>(apart) : host_device());
    Journal journal;
    Worker(job, context, journal, 0).run();
    EXPECT_EQ(journal.steps.size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(apart.marks(), 0U);
    EXPECT_EQ(apart.wrong_forgets, 0);
    return context.calls;
  }
  std::string model() const {
    std::ifstream file(folder_.path() / "model.pt", std::ios::binary);
    return rest_of(file);
  }
  std::string last(const std::string& call) const { return call + " " + std::to_string(last_bucket_); }

  /// The position of the call in the log after `before` earlier occurrences.
  static std::ptrdiff_t place(const std::vector<std::string>& calls, const std::string& call, int before) {
    auto found = std::ranges::find(calls, call);
    for (; before > 0 && found != calls.end(); --before) found = std::find(found + 1, calls.end(), call);
    EXPECT_TRUE(found != calls.end()) << call;
    return found - calls.begin();
  }

  TemporaryFolder folder_;
  int last_bucket_ = 0;
};

TEST_F(WorkerAlone, LoadsTheNextBatchDuringTheLastBucketOnAGpu) {
  const auto calls = train(true, 1);
  ASSERT_GT(last_bucket_, 0);
  for (int step = 0; step < steps; ++step) {
    EXPECT_LT(place(calls, last("begins backward"), step), place(calls, "begins decode", step + 1));
    EXPECT_LT(place(calls, "begins decode", step + 1), place(calls, last("awaits backward"), step));
  }
  EXPECT_EQ(std::ranges::count(calls, "begins decode"), steps + 1);
  EXPECT_EQ(std::ranges::count(calls, "awaits decode"), steps + 1);
}

TEST_F(WorkerAlone, QueuesBackwardBehindForward) {
  const auto calls = train(true, 0);
  for (int step = 0; step < steps; ++step) {
    EXPECT_LT(place(calls, "begins forward", step), place(calls, "begins backward 0", step));
    EXPECT_LT(place(calls, "begins backward 0", step), place(calls, "awaits forward", step));
    EXPECT_LT(place(calls, "awaits forward", step), place(calls, "awaits backward 0", step));
  }
  EXPECT_EQ(std::ranges::count(calls, "begins decode"), steps) << "no batch is prefetched";
}

TEST_F(WorkerAlone, WorksSequentiallyOnAProcessor) {
  const auto calls = train(false, 1);
  ASSERT_EQ(calls.size() % 2, 0U);
  for (std::size_t i = 0; i < calls.size(); i += 2) {
    EXPECT_TRUE(calls[i].starts_with("begins ")) << calls[i];
    EXPECT_EQ(calls[i + 1], "awaits " + calls[i].substr(7));
  }
}

TEST_F(WorkerAlone, TrainsTheSameModelEitherWay) {
  train(false, 1);
  const std::string expected = model();
  EXPECT_GT(expected.size(), 1000U);
  for (const int prefetch : {0, 1, 3}) {
    train(true, prefetch);
    EXPECT_TRUE(model() == expected) << "prefetch " << prefetch;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
