// The initial settings of an emulated program, which the environment may change.
#include <cstdlib>
#include <string>

#include "cuda_on_host.hpp"

namespace tandem::cuda_on_host {
namespace {

template <class Number>
void take_from_environment(const char* name, Number& number) {
  if (const char* const text = std::getenv(name)) number = static_cast<Number>(std::stoul(text));
}

}  // namespace

Settings settings_of_environment() {
  Settings own;
  take_from_environment("CUDA_ON_HOST_DEVICES", own.devices);
  take_from_environment("CUDA_ON_HOST_MEMORY", own.memory_bytes);
  take_from_environment("CUDA_ON_HOST_PINNED", own.pinned_bytes);
  take_from_environment("CUDA_ON_HOST_COUNT_ERROR", own.count_error);
  take_from_environment("CUDA_ON_HOST_DRIVER", own.driver_version);
  take_from_environment("CUDA_ON_HOST_SHARES", own.is_shareable);
  return own;
}

}  // namespace tandem::cuda_on_host
