#include "workloads/learner/torch_runner.hpp"

#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/learner/network_copies.hpp"
#include "workloads/learner/out_of_memory.hpp"
#include "workloads/vectors/no_memory.hpp"

namespace tandem {

bool lacks_memory(const std::exception& error) {
  if (const auto* lack = dynamic_cast<const NoMemoryError*>(&error)) return !lack->of_host();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || is_no_memory_message(error.what());
}

TorchRunner::TorchRunner(const LearnerSetting& setting, ComputeDevice& compute_device)
    : setting_(setting),
      compute_device_(compute_device),
      mode_{torch_device(setting), setting.precision, setting.deterministic} {
  TANDEM_CHECK(setting.precision != Precision::fp16, "fp16 needs a scaled loss");
  TANDEM_CHECK(!setting.gpu || !compute_device.is_host(), "gpu", *setting.gpu, "memory of",
               compute_device.name());
}

void TorchRunner::within_memory(std::int64_t images, const std::function<void()>& work) const {
  try {
    work();
  } catch (const std::exception& error) {
    if (!lacks_memory(error)) throw;
    throw WorldError(no_memory_message(error.what(), setting_, images, compute_device_.name()));
  }
}

void TorchRunner::compute(std::int64_t images, const std::function<void()>& work) const {
  mode_.apply();
  const StreamInUse stream(device(), compute_device_.libtorch_stream());
  wait_for_device();
  within_memory(images, work);
}

void TorchRunner::try_twice(const std::function<void()>& work, const std::function<void()>& undo) const {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!lacks_memory(error) && !may_be_no_memory_message(error.what())) throw;
    undo();
    if (!compute_device_.free_cache()) throw;
  }
  wait_for_device();
  work();
}

/// On a GPU, libtorch queues its work after the device's; the processor would overtake it.
void TorchRunner::wait_for_device() const {
  if (!setting_.gpu) compute_device_.finish();
}

void TorchRunner::copy_gradients(std::span<const at::Tensor> windows,
                                 std::span<const at::Tensor> gradients) const {
  const at::NoGradGuard without_gradients;
  // libtorch frees gradients when the caller is done with them. A GPU's queue has copied them before it does
  // anything else with their memory; another device's may not have.
  const bool in_order = compute_device_.is_host() || setting_.gpu;
  std::vector<FloatCopy> copies;
  for (std::size_t at = 0; at < windows.size(); ++at) {
    const auto copy = in_order ? copy_into_window(windows[at], gradients[at]) : std::nullopt;
    if (copy)
      copies.push_back(*copy);
    else
      windows[at].copy_(gradients[at]);
  }
  compute_device_.copy_all(copies);
}

}  // namespace tandem
