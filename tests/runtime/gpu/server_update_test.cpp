// Updates of a server whose model is in the memory of emulated CUDA: the bits of a server on the processor,
// and no kernel for the sum of a push that is alone.
#include <gtest/gtest.h>

#include <vector>

#include "platforms/description.hpp"
#include "policies/vocabulary/rng.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

Job job_of(const std::string& algorithm) {
  Experiment experiment;
  experiment.workload.math = Experiment::Workload::Math::real;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 64;
  experiment.workload.test_samples = 1;
  experiment.workload.bucket_bytes = Bytes(1 << 18);
  experiment.sync.algorithm = algorithm;
  experiment.placement.workers = {"gpu", "gpu"};
  experiment.placement.servers = {"gpu"};
  experiment.optimizer.momentum = 0.9;
  experiment.stop.rounds = 1;
  experiment.run.devices = DeviceSpeed::native;
  platforms::Host host;
  host.name = "gpu";
  host.device = platforms::find_device("h100");
  host.speed = host.device.speed;
  host.gpu = 0;
  platforms::Description platform;
  platform.file = "server_update_test";
  platform.hosts = {host};
  return {experiment, platform, ""};
}

/// A server and the device of its model.
class Server {
 public:
  Server(const Job& job, ComputeDevice& device)
      : device_(device), model_(job.replica_plan(), job.exchange(), device, 0, !device.is_host()) {}

  void push(int worker, Rng random, double weight = 1.0) {
    for (std::size_t piece = 0; piece < model_.pieces().size(); ++piece) {
      const Slice buffer = model_.pushes().buffer(worker, piece);
      std::vector<float> values(static_cast<std::size_t>(buffer.size.count()) / sizeof(float));
      for (float& value : values) value = static_cast<float>(random.normal());
      copy_and_await(device_, buffer.data, values.data(), values.size() * sizeof(float));
    }
    model_.pushes().accept(worker, weight);
  }
  void fold(bool before_update) { run(model_.pushes().fold(before_update)); }
  Bytes summed(bool before_update) { return model_.pushes().summed_bytes(before_update); }
  Bytes size() const { return model_.bytes(); }
  void update() { run(model_.apply(1.0, 0)); }
  std::vector<float> values() {
    const Snapshot model = model_.snapshot();
    std::vector<float> values(model->size());
    copy_and_await(device_, values.data(), model->data(), model->bytes());
    return values;
  }

 private:
  static void run(const Kernel& kernel) {
    if (kernel) kernel();
  }
  ComputeDevice& device_;
  ServerModel model_;
};

int launches() {
  const auto by_device = cuda_on_host::launches();
  const auto found = by_device.find(0);
  return found == by_device.end() ? 0 : found->second;
}

class ServerUpdates : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { cuda_on_host::reset(); }
};

TEST_P(ServerUpdates, HaveTheBitsOfAProcessor) {
  const Job job = job_of(GetParam());
  CudaDevice device(0);
  Server there(job, device), here(job, host_device());
  for (Server* server : {&here, &there}) {
    server->push(0, Rng(1));  // alone
    server->fold(true);
    server->update();
    server->push(1, Rng(2), 2.0);  // alone, with a weight
    server->fold(true);
    server->update();
    server->push(0, Rng(3));  // its buffer is overwritten before the update
    server->fold(false);
    server->push(0, Rng(4));
    server->fold(true);
    server->update();
    server->push(1, Rng(5));  // two at once
    server->push(0, Rng(6));
    server->fold(true);
    server->update();
    server->push(1, Rng(7));
    server->fold(true);
    server->update();
  }
  EXPECT_EQ(there.values(), here.values());
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ServerUpdates, ::testing::Values("asp", "dc-asgd", "local-sgd"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

// 20 bytes per parameter instead of 28: neither is the push copied to a sum, nor read from there.
TEST(ServerUpdate, OfAPushThatIsAloneIsOneKernel) {
  cuda_on_host::reset();
  const Job job = job_of("asp");
  CudaDevice device(0);
  Server server(job, device);
  const auto launched = [&](const auto& work) {
    const int before = launches();
    work();
    device.finish();
    return launches() - before;
  };
  server.push(0, Rng(1));
  EXPECT_EQ(launched([&] {
              server.fold(true);
              server.update();
            }),
            1);
  server.push(0, Rng(2));
  server.push(1, Rng(3));
  EXPECT_EQ(launched([&] {
              server.fold(true);
              server.update();
            }),
            2);
}

// The time of a sum that a GPU leaves out is no part of a prediction either.
TEST(ServerUpdate, OnlyPushesThatAreSummedCount) {
  cuda_on_host::reset();
  const Job job = job_of("asp");
  CudaDevice device(0);
  Server there(job, device), here(job, host_device());
  for (Server* server : {&here, &there}) {
    server->push(0, Rng(1));
    EXPECT_EQ(server->summed(true), server == &there ? Bytes(0) : server->size());
    EXPECT_EQ(server->summed(false), server->size()) << "its buffer is needed before the update";
    server->fold(false);
    server->push(1, Rng(2));
    EXPECT_EQ(server->summed(true), server->size()) << "with what is summed already";
    server->fold(true);
    server->update();
    server->push(1, Rng(3), 2.0);
    EXPECT_EQ(server->summed(true), server->size()) << "weighted";
    server->push(0, Rng(4));
    EXPECT_EQ(server->summed(true), server->size() * 2);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
